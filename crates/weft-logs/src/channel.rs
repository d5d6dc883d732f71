//! Channels: over what ranks send, algorithms, and what channels are connected as.
//!
//! SOURCE: formats of NVIDIA/nccl, tags v2.14.3-1 to v2.30.7-1 (transport/net.cc, p2p.cc, shm.cc
//! and coll_net.cc, enqueue.cc, init.cc); those of 2.18.3 and 2.32.3 are in the libraries'
//! read-only data.

use crate::facts::{Facts, Kind, Said};

/// SOURCE: NCCL_ALGO_* and NCCL_PROTO_* of nccl_common.h: 2.20 to 2.23 print the numbers.
const ALGORITHMS: [&str; 7] =
    ["TREE", "RING", "COLLNET_DIRECT", "COLLNET_CHAIN", "NVLS", "NVLS_TREE", "PAT"];
const PROTOCOLS: [&str; 3] = ["LL", "LL128", "SIMPLE"];

/// Whether the message was about channels.
pub(crate) fn read(text: &str, said: Said<'_>, facts: &mut Facts) -> bool {
    if text.starts_with("Channel ") || text.starts_with("CollNet ") {
        return way(text, said, facts).is_some();
    }
    if let Some(what) = text.strip_prefix("Connected ") {
        let what = what.split(',').next().unwrap_or(what);
        facts.note(said, Kind::Connected, &[what]);
        return true;
    }
    numbers(text, said, facts).or_else(|| algorithm(text, said, facts)).is_some()
}

/// `Channel 00/0 : 0[0] -> 8[0] [send] via NET/IB/0(4)/GDRDMA`.
fn way(text: &str, said: Said<'_>, facts: &mut Facts) -> Option<()> {
    let (ends, way) = text.split_once(" via ")?;
    let direction = match ends {
        _ if ends.ends_with("[send]") => "send",
        _ if ends.ends_with("[receive]") => "receive",
        _ => "",
    };
    let is_network = way.starts_with("NET/") || way.starts_with("COLLNET/");
    if !is_network {
        let mut parts = way.split('/');
        let kind = parts.next()?;
        let how = parts.next().unwrap_or_default();
        // Later versions name the communicator behind it.
        let how = how.split(" comm ").next().unwrap_or_default().trim_end();
        let whole = match kind {
            "P2P" => &way[..kind.len() + 1 + how.len()],
            "SHM" => "SHM",
            _ => return None,
        };
        facts.note(said, Kind::Channel, &[whole, "", "", "", direction]);
        return Some(());
    }
    let (at, device, proxy) = device(way)?;
    let rest = &way[at..];
    let direct = if rest.contains("/GDRDMA") { "GDRDMA" } else { "" };
    let transport = way[..at].rsplit_once('/')?.0;
    facts.note(said, Kind::Channel, &[transport, device, direct, proxy, direction]);
    Some(())
}

/// The part of a way that is the device's number, `0` or `0(4)`: where it ends, the number, and
/// whether another rank's GPU stands between (PXN).
fn device(way: &str) -> Option<(usize, &str, &'static str)> {
    let mut end = 0;
    for part in way.split('/') {
        let start = end;
        end += part.len() + 1;
        let word = part.split(' ').next().unwrap_or(part);
        let (number, proxy) = word.split_once('(').unwrap_or((word, ""));
        let is_number =
            (1..6).contains(&number.len()) && number.bytes().all(|byte| byte.is_ascii_digit());
        if start > 4 && is_number {
            let proxy = if proxy.ends_with(')') { "PXN" } else { "" };
            return Some((start + part.len().min(word.len()), number, proxy));
        }
    }
    None
}

/// `16 coll channels, 16 collnet channels, 16 nvls channels, 16 p2p channels, ...`.
fn numbers(text: &str, said: Said<'_>, facts: &mut Facts) -> Option<()> {
    if !text.as_bytes().first()?.is_ascii_digit() {
        return None;
    }
    let mut found = [""; 4];
    for part in text.split(", ") {
        let (number, what) = part.split_once(' ')?;
        let at = match what {
            "coll channels" => 0,
            "collnet channels" => 1,
            "nvls channels" => 2,
            "p2p channels" => 3,
            _ => continue,
        };
        found[at] = number;
    }
    if found[0].is_empty() {
        return None;
    }
    facts.note(said, Kind::Channels, &found);
    Some(())
}

/// `AllReduce: 1048576 Bytes -> Algo RING proto SIMPLE channel{Lo..Hi}={0..15}`.
fn algorithm(text: &str, said: Said<'_>, facts: &mut Facts) -> Option<()> {
    let (what, how) = text.split_once(" Bytes -> Algo ")?;
    let (collective, size) = what.rsplit_once(": ").unwrap_or(("", what));
    let size: u64 = size.trim().parse().ok()?;
    let mut words = how.split_ascii_whitespace();
    let algorithm = words.next()?;
    let algorithm = named(algorithm, &ALGORITHMS);
    let protocol = words.nth(1).map_or("", |word| named(word, &PROTOCOLS));
    facts.note_sized(said, Kind::Algorithm, &[collective, algorithm, protocol], Some(size));
    Some(())
}

fn named<'a>(word: &'a str, names: &[&'a str]) -> &'a str {
    word.parse::<usize>().ok().and_then(|number| names.get(number).copied()).unwrap_or(word)
}

/// What is said of multicast between GPUs: `NVLS multicast support is not available on dev 0`.
pub(crate) fn multicast(text: &str, said: Said<'_>, facts: &mut Facts) -> bool {
    let Some(rest) = text.strip_prefix("NVLS multicast support is ") else {
        return false;
    };
    let is_on = if rest.starts_with("not ") { "off" } else { "on" };
    facts.note(said, Kind::Nvls, &[is_on]);
    true
}
