//! A map by id, quick and the same in every run.

use std::collections::HashMap;
use std::hash::{BuildHasherDefault, Hasher};

/// 2^64 divided by the golden ratio.
///
/// SOURCE: Knuth, "The Art of Computer Programming" volume 3 (1998), section 6.4.
pub(crate) const SPREAD: u64 = 0x9e37_79b9_7f4a_7c15;

/// A hasher for ids: quick, and the same in every run.
#[derive(Clone, Copy, Debug, Default)]
pub(crate) struct IdHasher(u64);

impl Hasher for IdHasher {
    fn write(&mut self, bytes: &[u8]) {
        bytes.iter().for_each(|byte| self.write_u64(u64::from(*byte)));
    }

    fn write_u32(&mut self, number: u32) {
        self.write_u64(u64::from(number));
    }

    fn write_u64(&mut self, number: u64) {
        // The product's upper bits are the mixed ones, and a table looks at both ends of a hash.
        self.0 = (self.0 ^ number).wrapping_mul(SPREAD).rotate_left(26);
    }

    fn finish(&self) -> u64 {
        self.0
    }
}

/// A map by id; looked up by key only.
pub(crate) type IdMap<K, V> = HashMap<K, V, BuildHasherDefault<IdHasher>>;
