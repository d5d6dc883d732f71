//! Where deterministic variety comes from: a hash, and shuffles.

/// A 64-bit number with its bits well mixed.
///
/// SOURCE: the finalizer of SplitMix64 (Steele, Lea, Flood, OOPSLA 2014).
#[inline]
pub fn mixed(key: u64) -> u64 {
    let key = key.wrapping_add(0x9e37_79b9_7f4a_7c15);
    let key = (key ^ (key >> 30)).wrapping_mul(0xbf58_476d_1ce4_e5b9);
    let key = (key ^ (key >> 27)).wrapping_mul(0x94d0_49bb_1331_11eb);
    key ^ (key >> 31)
}

/// 0 .. n in the order of a seed: Fisher and Yates with a linear congruential generator.
///
/// SOURCE: multiplier and increment are Knuth's MMIX (TAOCP vol. 2).
pub(crate) fn shuffled(n: u32, seed: u64) -> Vec<u32> {
    let mut order: Vec<u32> = (0..n).collect();
    let mut state = seed;
    for last in (1..n as usize).rev() {
        state = state.wrapping_mul(6_364_136_223_846_793_005);
        state = state.wrapping_add(1_442_695_040_888_963_407);
        let other = (state >> 33) as usize % (last + 1);
        order.swap(last, other);
    }
    order
}
