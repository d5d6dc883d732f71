//! Limits and units that documents, laws, models and the engine share.

use crate::error::SimError;

/// The word for things of which there are more than events can number.
pub(crate) const PACKETS: &str = "packets in flight";
/// Most packets that are injected between two looks: an event serves few ports.
pub(crate) const MOST_PACKETS_A_LOOK: u64 = 4 * EVENTS_A_LOOK;
/// A credit stands for this much buffer (InfiniBand flow control blocks).
pub(crate) const BLOCK_BYTES: u64 = 64;
/// Largest payload of a packet: with every header its length is 16 bits.
pub(crate) const MAX_MTU_BYTES: u32 = 65_024;
/// No packet, port or message.
pub(crate) const NIL: u32 = u32::MAX;
/// Credit blocks of a packet.
pub(crate) fn blocks_of(wire_bytes: u32) -> u32 {
    wire_bytes.div_ceil(BLOCK_BYTES as u32)
}
/// The clock ends after 2^62 ps, 53 days of simulated time. INVARIANT: whatever one event adds to
/// its time keeps clear of the end of the integers.
pub(crate) const CLOCK_END_PS: u64 = 1 << 62;
/// Most ports, and most packets in flight, that an event can name.
pub(crate) const MAX_NUMBER: u32 = 1 << 24;
/// Never.
pub(crate) const NEVER: u64 = u64::MAX;
/// At most so many events pass between two looks at the stop flag.
pub(crate) const EVENTS_A_LOOK: u64 = 1 << 14;
/// Speed-ups are kept in thousandths.
pub(crate) const THOUSANDTHS: u64 = 1000;
/// Most initiators of a rank: an acknowledgement names its own in eight bits.
pub(crate) const MAX_INITIATORS: u32 = 255;
/// Most initiators of a scenario, a few dozen bytes each.
pub(crate) const MAX_INITIATORS_IN_ALL: u64 = 1 << 24;
/// Most ranks of a scenario.
pub const MAX_RANKS: usize = 1 << 22;
/// Slowest cable that is simulated, 1 Mb/s: what is slower would outlast the clock.
pub(crate) const MIN_BITS_PER_S: u64 = 1_000_000;
/// Most connections: they are never forgotten.
pub(crate) const MAX_CONNECTIONS: u32 = 1 << 24;
/// Service levels of InfiniBand.
pub(crate) const N_LEVELS: usize = 16;

/// Refuse the number of a key that is not from `least` to `most`.
pub(crate) fn within(
    place: &str,
    key: &str,
    value: u64,
    least: u64,
    most: u64,
) -> Result<(), SimError> {
    if (least..=most).contains(&value) {
        return Ok(());
    }
    let place = format!("{place}.{key}");
    Err(SimError::document(place, format!("it is {value}"), format!("{least} to {most}")))
}

/// Whole picoseconds of nanoseconds with at most three decimals.
pub(crate) fn ps(place: &str, ns: f64) -> Result<u64, SimError> {
    let scaled = ns * 1000.0;
    let whole = scaled.round();
    let good = (0.0..=1e12).contains(&ns) && (scaled - whole).abs() <= 1e-6 * whole.max(1.0);
    if !good {
        let expected = "nanoseconds from 0 to 1e12, with at most 3 decimals";
        return Err(SimError::document(place, format!("{ns} is no such time"), expected));
    }
    Ok(whole as u64)
}
