//! Where the arbitration tables of a port are in their round robin.

use crate::document::LaneWeight;
use crate::model::lanes::Lanes;

/// A weight counts in this.
pub(crate) const WEIGHT_BYTES: i64 = 64;

/// Where a table's round robin is.
#[derive(Clone, Copy, Debug, Default)]
pub(crate) struct TableTurn {
    pub(crate) entry: usize,
    /// Bytes that the entry may still send; at 0 or below the next has its turn.
    pub(crate) left_bytes: i64,
}

/// The state of one port's arbitration.
#[derive(Clone, Copy, Debug)]
pub(crate) struct Arbiter {
    pub(crate) high: TableTurn,
    pub(crate) low: TableTurn,
    /// Bytes that the high table may still send before the low one.
    pub(crate) limit_bytes: i64,
}

/// How a lane was served.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) enum Served {
    /// A packet of so many bytes is in flight.
    Sent(u16),
    /// It lacks credit.
    Starved,
    /// It has nothing to send, or not yet.
    Nothing,
}

impl Arbiter {
    /// Arbiters of all ports; none where one lane leaves nothing to decide.
    pub(crate) fn of_ports(lanes: &Lanes, n_ports: usize) -> Vec<Arbiter> {
        let first = |table: &[LaneWeight]| TableTurn {
            entry: 0,
            left_bytes: table.first().map_or(0, |entry| i64::from(entry.weight) * WEIGHT_BYTES),
        };
        let limit_bytes = lanes.high_limit_bytes;
        let arbiter = Arbiter { high: first(&lanes.high), low: first(&lanes.low), limit_bytes };
        vec![arbiter; if lanes.count > 1 { n_ports } else { 0 }]
    }
}
