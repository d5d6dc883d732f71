//! Networks: the chosen one, its devices, and GPUDirect.
//!
//! SOURCE: NVIDIA/nccl, tags v2.14.3-1 to v2.30.7-1 (net.cc, transport/net_ib*, net_socket.cc,
//! graph/paths.cc); aws-ofi-nccl up to v1.21.1; Mellanox/nccl-rdma-sharp-plugins, sharp_plugin.c.

use crate::facts::{Facts, Kind, Said};
use crate::line::{DISABLING_COLLNET, FALLING_BACK, IGNORING, between, number_after, word_after};

/// Whether the message was about a network.
pub(crate) fn read(text: &str, said: Said<'_>, facts: &mut Facts) -> bool {
    if let Some(name) = text.strip_prefix("Using network ") {
        facts.note(said, Kind::Network, &[name]);
        return true;
    }
    if is_collnet_off(text) {
        facts.note(said, Kind::CollnetOff, &[text]);
        return true;
    }
    if text.starts_with("NET/") {
        return of_adapter(text, said, facts).or_else(|| of_transport(text, said, facts)).is_some();
    }
    if text.starts_with("GPU Direct RDMA ") {
        return of_pair(text, said, facts).is_some();
    }
    if text.starts_with("Failed to open libibverbs.so") {
        facts.note(said, Kind::NoDevice, &["libibverbs"]);
        return true;
    }
    if let Some(rest) = text.strip_prefix("Could not open XML topology file ") {
        let (file, reason) = rest.rsplit_once(" : ").unwrap_or((rest, ""));
        facts.note(said, Kind::TopologyMissing, &[file, reason]);
        return true;
    }
    let is_fallback = FALLING_BACK.find(text).is_some() || IGNORING.find(text).is_some();
    // What is warned of is noted as a warning.
    if is_fallback && said.from.is_empty() {
        facts.note(said, Kind::Fallback, &[text]);
    }
    is_fallback
}

/// Why switches do not reduce: in NCCL's words, or in those of its plug-in for SHARP.
fn is_collnet_off(text: &str) -> bool {
    const BEGINNINGS: [&str; 5] = [
        "Cannot initialize CollNet",
        "SHARP: Group size:",
        "SHARP: Set to disable",
        "SHARP group create: ",
        "NET/IB : SHARP coll init error: ",
    ];
    DISABLING_COLLNET.find(text).is_some() || BEGINNINGS.iter().any(|it| text.starts_with(it))
}

fn of_transport(text: &str, said: Said<'_>, facts: &mut Facts) -> Option<()> {
    let (transport, rest) = text.split_once([' ', ':'])?;
    let rest = rest.trim_start_matches([' ', ':']);
    if let Some(devices) = rest.strip_prefix("Using ") {
        if devices.starts_with('[') {
            return devices_of(transport, devices, said, facts);
        }
        return None;
    }
    if rest.starts_with("No device found") {
        facts.note(said, Kind::NoDevice, &[transport]);
        return Some(());
    }
    if let Some(provider) = rest
        .strip_prefix("Selected Provider is ")
        .or_else(|| rest.strip_prefix("Selected provider is "))
    {
        let name = provider.split([' ', ',']).next()?;
        let n = number_after(provider, "(found ").map_or(String::new(), |n| n.to_string());
        facts.note(said, Kind::Provider, &[name, &n]);
        return Some(());
    }
    if let Some(version) = rest.strip_prefix("Initializing aws-ofi-nccl ") {
        facts.note(said, Kind::Version, &["aws-ofi-nccl", version]);
        return Some(());
    }
    if let Some(version) = rest.strip_prefix("Using Libfabric version ") {
        facts.note(said, Kind::Version, &["libfabric", version]);
        return Some(());
    }
    if rest.contains("disabling GDR") {
        facts.note(said, Kind::GpuDirect, &[transport, "", "", "off", rest]);
        return Some(());
    }
    if rest.starts_with("No eligible providers") {
        facts.note(said, Kind::NoDevice, &[transport]);
        return Some(());
    }
    None
}

/// `NET/AWS Libfabric : GPU Direct RDMA Enabled for HCA 0 'rdmap0'`.
fn of_adapter(text: &str, said: Said<'_>, facts: &mut Facts) -> Option<()> {
    let (transport, direct) = text.split_once(" : GPU Direct RDMA ")?;
    let is_on = if direct.starts_with("Enabled") { "on" } else { "off" };
    let index = number_after(direct, " HCA ")?.to_string();
    let device = between(direct, "'", "'").unwrap_or_default();
    facts.note(said, Kind::GpuDirect, &[transport, &index, device, is_on, ""]);
    Some(())
}

/// `[0]mlx5_0:1/IB/SHARP [1]mlx5_1:1/IB [RO]; OOB eth0:10.0.0.1<0>`, or interfaces of sockets.
fn devices_of(transport: &str, devices: &str, said: Said<'_>, facts: &mut Facts) -> Option<()> {
    let devices = devices.split("; OOB").next()?;
    for word in devices.split_ascii_whitespace() {
        let Some((index, device)) = word.strip_prefix('[').and_then(|word| word.split_once(']'))
        else {
            continue;
        };
        if !(1..6).contains(&index.len()) || !index.bytes().all(|byte| byte.is_ascii_digit()) {
            continue;
        }
        if transport == "NET/Socket" {
            let (name, address) = device.split_once(':').unwrap_or((device, ""));
            let address = if address.is_empty() { "" } else { "TCP" };
            facts.note(said, Kind::Nic, &[transport, index, name, address, ""]);
            continue;
        }
        let (name, layer) = device.split_once('/').unwrap_or((device, ""));
        let (layer, rest) = layer.split_once('/').unwrap_or((layer, ""));
        let sharp = if rest.contains("SHARP") { "sharp" } else { "" };
        facts.note(said, Kind::Nic, &[transport, index, name, layer, sharp]);
    }
    Some(())
}

/// `GPU Direct RDMA Disabled for GPU 7000 / HCA 0 (distance 4 > 3)`.
fn of_pair(text: &str, said: Said<'_>, facts: &mut Facts) -> Option<()> {
    let is_on = if text.contains("Enabled") { "on" } else { "off" };
    let index = word_after(text, " / HCA ")?;
    let reason = if is_on == "on" { "" } else { between(text, "(", ")").unwrap_or_default() };
    facts.note(said, Kind::GpuDirect, &["", index, "", is_on, reason]);
    Some(())
}
