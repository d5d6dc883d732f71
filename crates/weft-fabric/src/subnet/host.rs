//! The host of a channel adapter, by the adapter's description.

use super::{Kind, SubnetNode};
use std::collections::BTreeMap;

/// The host and the device that a description names: 'c101-001 HCA-1', 'host mlx5_0',
/// 'n001/hca0'. A description of one word is a host's, and so is any other.
pub fn host_and_device(description: &str) -> (&str, Option<&str>) {
    let description = description.trim();
    let cut = description.rsplit_once([' ', '/']).filter(|(host, device)| {
        !host.trim().is_empty() && !host.contains(' ') && is_device(device)
    });
    match cut {
        Some((host, device)) => (host, Some(device)),
        None => (description, None),
    }
}

/// The host of an adapter and the device, by its description; the GUID is the host's name where the
/// description is the factory's.
pub fn named_host(node: &SubnetNode) -> (String, Option<&str>) {
    match host_and_device(&node.description) {
        _ if is_factory_description(&node.description) => (format!("0x{:016x}", node.guid), None),
        (host, device) => (host.to_owned(), device),
    }
}

/// Whether a description is the factory's, and names no host: 'MT25408 ConnectX Mellanox
/// Technologies', 'MT4115 ConnectX-4', 'localhost HCA-1', or none. A host's name has no blank.
///
/// SOURCE: linux-rdma/rdma-core, rdma-ndd: it writes 'host device' in its place at start.
pub fn is_factory_description(description: &str) -> bool {
    let (host, _) = host_and_device(description);
    let digits = host.strip_prefix("MT").unwrap_or_default();
    let is_chip = digits.len() >= 4 && digits.bytes().all(|letter| letter.is_ascii_digit());
    let is_unsaid = matches!(host, "" | "localhost" | "(none)");
    host.contains(' ') || is_chip || is_unsaid
}

/// One sentence for each factory description of adapters: how many have it.
pub fn factory_sentences(nodes: &[SubnetNode]) -> Vec<String> {
    let mut alike: BTreeMap<&str, u32> = BTreeMap::new();
    for node in nodes.iter().filter(|node| node.kind == Kind::Ca) {
        if is_factory_description(&node.description) && !is_aggregation_node(&node.description) {
            *alike.entry(node.description.trim()).or_default() += 1;
        }
    }
    let sentence = |(name, n): (&str, u32)| {
        let has = if n == 1 { "adapter has" } else { "adapters have" };
        format!("{n} {has} the description '{name}', which names no host: named by GUID")
    };
    alike.into_iter().map(sentence).collect()
}

/// 'HCA-1', 'mlx5_0', 'ibp12s0', 'hfi1_0': letters first, and a number at the end.
fn is_device(word: &str) -> bool {
    let begins = word.starts_with(|letter: char| letter.is_ascii_alphabetic());
    let ends = word.ends_with(|letter: char| letter.is_ascii_digit());
    begins && ends && word.chars().all(|c| c.is_ascii_alphanumeric() || "_-.".contains(c))
}

/// Whether a channel adapter is the end of a switch's aggregation engine (SHARP), not a host.
///
/// SOURCE: NVIDIA, Quantum switches name it 'Mellanox Technologies Aggregation Node'.
pub fn is_aggregation_node(description: &str) -> bool {
    description.contains("Aggregation Node")
}
