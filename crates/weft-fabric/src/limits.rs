//! How large a fabric may be: any document beyond is refused before memory is taken.

use crate::error::FabricError;
use crate::units::{BitsPerSecond, PS_PER_S, Picoseconds};

/// Largest number of ports of a switch: table entries are 16 bits.
pub const MAX_SWITCH_PORTS: u32 = u16::MAX as u32;
/// Highest level of a switch.
pub const MAX_LEVEL: u32 = 255;
/// Highest number of a group of switches.
pub const MAX_GROUP: u32 = 0xfffe;
/// Most ports of a fabric: an event of the packet engine names one in 24 bits.
pub const MAX_PORTS: u64 = 1 << 24;
/// Most entries of all forwarding tables together.
pub const MAX_TABLE_ENTRIES: u64 = 1 << 32;
/// Most entries from a switch to a leaf, by which routes are kept; each takes two bytes or more.
pub const MAX_LEAF_ENTRIES: u64 = 1 << 27;
/// Fastest cable, 8 Tb/s: a byte still takes a whole picosecond.
pub const MAX_BITS_PER_S: u64 = 8 * PS_PER_S;
/// Longest time of flight: a second.
pub const MAX_DELAY_PS: u64 = PS_PER_S;

/// Refuse a cable without a rate, or beyond the fastest or the longest one.
pub(crate) fn check_link(
    place: &str,
    rate: BitsPerSecond,
    delay: Picoseconds,
) -> Result<(), FabricError> {
    if rate.0 == 0 {
        let expected = "bits_per_s of 1 or more";
        return Err(FabricError::document(place, "the rate is zero", expected));
    }
    if rate.0 > MAX_BITS_PER_S || delay.0 > MAX_DELAY_PS {
        let what = format!("{} bits a second, {} ps", rate.0, delay.0);
        let expected = "at most 8 Tb/s and a second of delay";
        return Err(FabricError::document(place, what, expected));
    }
    Ok(())
}
