//! Networks: the chosen one, its devices, and GPUDirect.
//!
//! SOURCE: NVIDIA/nccl, tags v2.14.3-1 to v2.30.7-1 (net.cc, transport/net_ib*, net_socket.cc,
//! graph/paths.cc); aws-ofi-nccl up to v1.21.1; Mellanox/nccl-rdma-sharp-plugins, sharp_plugin.c.

use crate::facts::{Kind, Statement, Understood};
use crate::line::{DISABLING_COLLNET, FALLING_BACK, IGNORING, between, number_after, word_after};

/// A message about a network.
pub(crate) fn read(text: &str, statement: &mut Statement<'_>) -> Understood {
    // 2.2 and 2.3 have an internal network.
    let chosen = ["Using network ", "Using internal Network "];
    if let Some(name) = chosen.iter().find_map(|beginning| text.strip_prefix(beginning)) {
        return statement.note(Kind::Network, &[name]);
    }
    let starts = ["Bootstrap : Using ", "Bootstrap: Using ", "NET : Using interface "];
    if let Some(device) = starts.iter().find_map(|beginning| text.strip_prefix(beginning)) {
        return bootstrap(device, statement);
    }
    if let Some(index) = path_to_network(text) {
        return statement.note(Kind::NetworkPath, &[index]);
    }
    if is_collnet_off(text) {
        return statement.note(Kind::CollnetOff, &[text]);
    }
    if text.starts_with("NET/") {
        return of_adapter(text, statement).or_else(|| of_transport(text, statement));
    }
    if text.starts_with("GPU Direct RDMA ") {
        return of_pair(text, statement);
    }
    if text.starts_with("Failed to open libibverbs.so") {
        return statement.note(Kind::NoDevice, &["libibverbs"]);
    }
    if let Some(text) = text.strip_prefix("Could not open XML topology file ") {
        let (file, reason) = text.rsplit_once(" : ").unwrap_or((text, ""));
        return statement.note(Kind::TopologyMissing, &[file, reason]);
    }
    let is_fallback = FALLING_BACK.find(text).is_some() || IGNORING.find(text).is_some();
    // A warning of the library is noted as a warning.
    match is_fallback && statement.from.is_empty() {
        true => statement.note(Kind::Fallback, &[text]),
        false => is_fallback.then_some(()),
    }
}

/// `eth0:10.0.0.1<0>`, before 2.7 `[0]eth0:10.0.0.1<0> [1]...`.
fn bootstrap(device: &str, statement: &mut Statement<'_>) -> Understood {
    let first = device.split_ascii_whitespace().next()?;
    let first = first.strip_prefix("[0]").unwrap_or(first);
    let (interface, address) = first.split_once(':')?;
    let address = address.split_once('<').map_or(address, |(address, _)| address);
    statement.note(Kind::Bootstrap, &[interface, address])
}

/// Of `GPU/3020 :GPU/3020 (0/5000/LOC) CPU/0 (1/12/PHB) NET/0 (3/12/PHB)` the network's number.
/// NCCL takes networks out of the topology of a communicator that stays on one node.
///
/// SOURCE: NVIDIA/nccl, graph/topo.cc (ncclTopoPrintPaths) and graph/paths.cc (ncclTopoTrimSystem).
fn path_to_network(text: &str) -> Option<&str> {
    if !text.starts_with("GPU/") {
        return None;
    }
    let (_, tail) = text.split_once(" NET/")?;
    let (index, _) = tail.split_once(" (")?;
    let is_index = |byte: u8| byte.is_ascii_digit() || byte == b'-';
    (!index.is_empty() && index.bytes().all(is_index)).then_some(index)
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

fn of_transport(text: &str, statement: &mut Statement<'_>) -> Understood {
    let (transport, text) = text.split_once([' ', ':'])?;
    let text = text.trim_start_matches([' ', ':']);
    if let Some(devices) = text.strip_prefix("Using ") {
        let is_list = devices.starts_with('[');
        return is_list.then(|| devices_of(transport, devices, statement));
    }
    if text.starts_with("No device found") || text.starts_with("No eligible providers") {
        return statement.note(Kind::NoDevice, &[transport]);
    }
    let selected = ["Selected Provider is ", "Selected provider is "];
    if let Some(provider) = selected.iter().find_map(|beginning| text.strip_prefix(beginning)) {
        let name = provider.split([' ', ',']).next()?;
        let n = number_after(provider, "(found ").map_or(String::new(), |n| n.to_string());
        return statement.note(Kind::Provider, &[name, &n]);
    }
    if let Some(version) = text.strip_prefix("Initializing aws-ofi-nccl ") {
        return statement.note(Kind::Version, &["aws-ofi-nccl", version]);
    }
    let is_off = text.contains("disabling GDR");
    is_off.then(|| statement.note(Kind::GpuDirect, &[transport, "", "", "off", text]))?
}

/// `NET/AWS Libfabric : GPU Direct RDMA Enabled for HCA 0 'rdmap0'`.
fn of_adapter(text: &str, statement: &mut Statement<'_>) -> Understood {
    let (transport, direct) = text.split_once(" : GPU Direct RDMA ")?;
    let is_on = if direct.starts_with("Enabled") { "on" } else { "off" };
    let index = number_after(direct, " HCA ")?.to_string();
    let device = between(direct, "'", "'").unwrap_or_default();
    statement.note(Kind::GpuDirect, &[transport, &index, device, is_on, ""])
}

/// `[0]mlx5_0:1/IB/SHARP [1]mlx5_1:1/IB [RO]; OOB eth0:10.0.0.1<0>`, or interfaces of sockets.
fn devices_of(transport: &str, devices: &str, statement: &mut Statement<'_>) {
    let devices = devices.split("; OOB").next().unwrap_or(devices).split_ascii_whitespace();
    let is_index = |index: &str| {
        (1..6).contains(&index.len()) && index.bytes().all(|byte| byte.is_ascii_digit())
    };
    let numbered = devices.filter_map(|word| word.strip_prefix('[')?.split_once(']'));
    for (index, device) in numbered.filter(|(index, _)| is_index(index)) {
        if transport == "NET/Socket" {
            let (name, address) = device.split_once(':').unwrap_or((device, ""));
            if index == "0" && !address.is_empty() {
                bootstrap(device, statement);
            }
            let address = if address.is_empty() { "" } else { "TCP" };
            statement.note(Kind::Nic, &[transport, index, name, address, ""]);
            continue;
        }
        let (name, layer) = device.split_once('/').unwrap_or((device, ""));
        let (layer, more) = layer.split_once('/').unwrap_or((layer, ""));
        let sharp = if more.contains("SHARP") { "sharp" } else { "" };
        statement.note(Kind::Nic, &[transport, index, name, layer, sharp]);
    }
}

/// `GPU Direct RDMA Disabled for GPU 7000 / HCA 0 (distance 4 > 3)`.
fn of_pair(text: &str, statement: &mut Statement<'_>) -> Understood {
    let is_on = if text.contains("Enabled") { "on" } else { "off" };
    let index = word_after(text, " / HCA ")?;
    let reason = if is_on == "on" { "" } else { between(text, "(", ")").unwrap_or_default() };
    statement.note(Kind::GpuDirect, &["", index, "", is_on, reason])
}
