//! Channels: their transports, algorithms, and patterns.
//!
//! `Ring 00 : 3 -> 4 [send] via NET/Socket/0` is 2.2 to 2.6, `Channel` from 2.7 on (NVIDIA/nccl
//! issues 226, 300 and 302). SOURCE: formats of NVIDIA/nccl, tags v2.14.3-1 to v2.30.7-1
//! (transport/net.cc, p2p.cc, shm.cc and coll_net.cc, enqueue.cc, init.cc); those of 2.18.3 and
//! 2.32.3 are in the libraries' read-only data.

use crate::facts::{Kind, Statement, Understood};
use crate::line::{BYTES_TO_ALGORITHM, OP_COUNT, VIA, number_after};

/// SOURCE: NCCL_ALGO_* and NCCL_PROTO_* of nccl_common.h: 2.20 to 2.23 print the numbers.
const ALGORITHMS: [&str; 7] =
    ["TREE", "RING", "COLLNET_DIRECT", "COLLNET_CHAIN", "NVLS", "NVLS_TREE", "PAT"];
const PROTOCOLS: [&str; 3] = ["LL", "LL128", "SIMPLE"];

/// A message about channels.
pub(crate) fn read(text: &str, statement: &mut Statement<'_>) -> Understood {
    if ["Channel ", "CollNet ", "Ring "].iter().any(|beginning| text.starts_with(beginning)) {
        return connection(text, statement);
    }
    if let Some((collective, _)) = OP_COUNT.split(text) {
        let is_name = collective.bytes().all(|byte| byte.is_ascii_alphanumeric());
        return is_name.then(|| statement.note(Kind::Collective, &[collective]))?;
    }
    if let Some(what) = text.strip_prefix("Connected ") {
        let what = what.split(',').next().unwrap_or(what);
        return statement.note(Kind::Connected, &[what]);
    }
    if text.starts_with("rank ") && text.contains(" Connected CollNet") {
        return statement.note(Kind::Connected, &["CollNet"]);
    }
    // NVLS multicast support is not available on dev 0
    if let Some(support) = text.strip_prefix("NVLS multicast support is ") {
        let is_on = if support.starts_with("not ") { "off" } else { "on" };
        return statement.note(Kind::Nvls, &[is_on]);
    }
    numbers(text, statement).or_else(|| algorithm(text, statement))
}

/// `Channel 00/0 : 0[0] -> 8[0] [send] via NET/IB/0(4)/GDRDMA`.
fn connection(text: &str, statement: &mut Statement<'_>) -> Understood {
    let (ends, transport) = VIA.split(text)?;
    let direction = match ends {
        _ if ends.ends_with("[send]") => "send",
        _ if ends.ends_with("[receive]") => "receive",
        _ => "",
    };
    if !(transport.starts_with("NET/") || transport.starts_with("COLLNET/")) {
        return statement.note(Kind::Channel, &[local(transport)?, "", "", "", direction]);
    }
    let (start, number, end) = device(transport.as_bytes())?;
    let proxy = if transport[end..].starts_with('(') { "PXN" } else { "" };
    let path = transport[end..].find('/').map_or("", |at| &transport[end + at..]);
    let direct = if path.starts_with("/GDRDMA") { "GDRDMA" } else { "" };
    statement.note(Kind::Channel, &[&transport[..start], number, direct, proxy, direction])
}

/// Between GPUs of one node: `P2P/CUMEM/read` is P2P/CUMEM, `SHM/direct/direct` is SHM.
fn local(transport: &str) -> Option<&str> {
    if transport.starts_with("SHM") || transport.starts_with("direct shared memory") {
        return Some("SHM");
    }
    let how = transport.strip_prefix("P2P/")?;
    let end = how.bytes().position(|byte| byte == b'/').unwrap_or(how.len());
    // Later versions name the communicator behind it.
    let end = if how[..end].contains(' ') { how[..end].find(" comm ").unwrap_or(end) } else { end };
    Some(&transport[..4 + end])
}

/// The number of a network's device, `/0` or `/0(4)`: where the name before it ends, the number,
/// where that ends. In brackets is the rank whose GPU stands between (PXN).
fn device(transport: &[u8]) -> Option<(usize, &str, usize)> {
    for start in memchr::memchr_iter(b'/', transport).filter(|start| *start > 4) {
        let name = &transport[start + 1..];
        let n = name.iter().take_while(|byte| byte.is_ascii_digit()).count();
        let is_end = matches!(name.get(n), None | Some(b'/' | b'(' | b' '));
        if (1..6).contains(&n) && is_end {
            let number = std::str::from_utf8(&name[..n]).ok()?;
            return Some((start, number, start + 1 + n));
        }
    }
    None
}

/// `16 coll channels, 16 collnet channels, 16 nvls channels, 16 p2p channels, ...`.
fn numbers(text: &str, statement: &mut Statement<'_>) -> Understood {
    if text.starts_with("comm:") {
        return numbers_of_rccl(text, statement);
    }
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
    statement.note(Kind::Channels, &found)
}

/// `comm:0x1, nRanks:2, nNodes:1, coll channels:2 collnet channels:2, nvls channels:0, p2p ...`.
fn numbers_of_rccl(text: &str, statement: &mut Statement<'_>) -> Understood {
    let kinds = [" coll channels:", " collnet channels:", " nvls channels:", " p2p channels:"];
    let found = kinds.map(|kind| number_after(text, kind).map_or(String::new(), |n| n.to_string()));
    let words: Vec<&str> = found.iter().map(String::as_str).collect();
    statement.note(Kind::Channels, &words);
    let place = ["nRanks:", "nNodes:"].map(|name| number_after(text, name));
    if let [Some(n_ranks), Some(n_nodes)] = place {
        statement.note(Kind::Place, &[&n_ranks.to_string(), &n_nodes.to_string(), ""]);
    }
    Some(())
}

/// `AllReduce: 1048576 Bytes -> Algo RING proto SIMPLE channel{Lo..Hi}={0..15}`.
fn algorithm(text: &str, statement: &mut Statement<'_>) -> Understood {
    let (what, how) = BYTES_TO_ALGORITHM.split(text)?;
    let (collective, size) = what.rsplit_once(": ").unwrap_or(("", what));
    let size: u64 = size.trim().parse().ok()?;
    let mut words = how.split_ascii_whitespace();
    let algorithm = words.next()?;
    let algorithm = named(algorithm, &ALGORITHMS);
    let protocol = words.nth(1).map_or("", |word| named(word, &PROTOCOLS));
    statement.note_sized(Kind::Algorithm, &[collective, algorithm, protocol], Some(size))
}

fn named<'a>(word: &'a str, names: &[&'a str]) -> &'a str {
    word.parse::<usize>().ok().and_then(|number| names.get(number).copied()).unwrap_or(word)
}
