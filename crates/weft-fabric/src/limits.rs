//! How large a fabric may be: any document beyond is refused before memory is taken.

use crate::units::PS_PER_S;

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
/// Fastest cable, 8 Tb/s: a byte still takes a whole picosecond.
pub const MAX_BITS_PER_S: u64 = 8 * PS_PER_S;
/// Longest time of flight: a second.
pub const MAX_DELAY_PS: u64 = PS_PER_S;
