//! When to give up, what to watch, and what need not be simulated again, as written.

use crate::settings::settings;

settings! {
    /// When to give up.
    #[derive(Copy)]
    pub struct Limits {
        /// Events to handle at most; then the outcome is `stopped`.
        pub max_events: u64 = 1_000_000_000_000,
        /// Messages that are posted and not received, at most; then the outcome is `stopped`.
        pub max_messages: u32 = 1 << 24,
        /// Simulated time without a byte delivered, while packets or unacknowledged messages wait,
        /// after which the watchdog ends the run as `stalled`.
        pub stall_ns: f64 = 60e9,
    }
}

settings! {
    /// Records in addition to rows and counters.
    #[derive(Copy)]
    pub struct ProbesDocument {
        /// Ports whose counters are reported: the busiest so many; all of a smaller fabric.
        pub top_ports: u32 = 1 << 17,
        /// Load of links over time: the width of a time bin; none without it.
        pub load_bin_ns: Option<f64> = None,
        /// The busiest so many links have their load over time reported.
        pub load_ports: u32 = 16,
        /// The first so many messages have their start and end reported.
        pub flows: u32 = 0,
    }
}

settings! {
    /// When what repeats itself is skipped.
    #[derive(Copy)]
    pub struct SteadyStateDocument {
        /// How far what should be alike may differ, as a share of it.
        pub tolerance: f64 = 0.01,
        /// Fewest moves that show a pace.
        pub least_moves: u32 = 64,
    }
}
