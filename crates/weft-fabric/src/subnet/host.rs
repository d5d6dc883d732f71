//! The host of a channel adapter, by the adapter's description.

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
