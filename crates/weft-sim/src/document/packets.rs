//! How messages are cut into packets and which lanes those take, as written.

use crate::settings::settings;
use serde::Deserialize;

/// Headers around each packet's payload.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq, Deserialize)]
#[serde(rename_all = "snake_case")]
pub enum Headers {
    /// LRH, BTH, RETH on the first packet of a message, ICRC, VCRC.
    #[default]
    Infiniband,
    /// None at all.
    None,
}

settings! {
    /// How messages are cut into packets.
    #[derive(Copy)]
    pub struct Packets {
        /// Largest payload.
        pub mtu_bytes: u32 = 4096,
        /// The bytes added to it.
        pub headers: Headers = Headers::Infiniband,
        /// Whether packets cross a router and carry a GRH of 40 bytes.
        pub routed: bool = false,
    }
}

/// One entry of an arbitration table: a virtual lane and how much it may send in its turn.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Deserialize)]
#[serde(deny_unknown_fields)]
pub struct LaneWeight {
    /// The virtual lane.
    pub vl: u8,
    /// Units of 64 bytes, 0 to 255; 0 skips the entry.
    pub weight: u8,
}

settings! {
    /// Virtual lanes and who of them sends first.
    ///
    /// SOURCE: InfiniBand Architecture Specification volume 1, section 7.6.9 (VL arbitration).
    pub struct LanesDocument {
        /// How many data lanes there are, 1 to 15.
        pub count: u8 = 1,
        /// The lane of each of the 16 service levels; without it, level modulo `count`.
        pub sl2vl: Option<Vec<u8>> = None,
        /// Entries served first.
        pub high: Vec<LaneWeight> = Vec::new(),
        /// Entries served when no high one may; without it, every lane with weight 64.
        pub low: Option<Vec<LaneWeight>> = None,
        /// How much the high table may send before the low one has a turn, in units of 4096 bytes;
        /// 255 is without limit, 0 one packet.
        pub high_limit: u8 = 255,
    }
}
