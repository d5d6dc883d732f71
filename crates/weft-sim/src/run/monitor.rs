//! The report of a run to others while it goes on.

use std::sync::atomic::{AtomicU64, Ordering};

/// Where a run stands; written by the run now and then, read by any thread.
#[derive(Debug, Default)]
pub struct Monitor {
    now_ps: AtomicU64,
    hops: AtomicU64,
    events: AtomicU64,
    looks: AtomicU64,
    done_millionths: AtomicU64,
}

/// Where a run stood when it was last written down.
#[derive(Clone, Copy, Debug, Default, PartialEq)]
pub struct Standing {
    /// Simulated time.
    pub now_ps: u64,
    /// Packets times links crossed.
    pub hops: u64,
    /// Events handled.
    pub events: u64,
    /// Where messages are flows: looks at a flow on a link to solve rates.
    pub looks: u64,
    /// Part of the work that is done, from 0 to 1.
    pub done: f64,
}

impl Monitor {
    pub(crate) fn write(&self, standing: Standing) {
        self.now_ps.store(standing.now_ps, Ordering::Relaxed);
        self.hops.store(standing.hops, Ordering::Relaxed);
        self.events.store(standing.events, Ordering::Relaxed);
        self.looks.store(standing.looks, Ordering::Relaxed);
        self.done_millionths.store((standing.done * 1e6) as u64, Ordering::Relaxed);
    }

    /// Where the run stands.
    pub fn read(&self) -> Standing {
        Standing {
            now_ps: self.now_ps.load(Ordering::Relaxed),
            hops: self.hops.load(Ordering::Relaxed),
            events: self.events.load(Ordering::Relaxed),
            looks: self.looks.load(Ordering::Relaxed),
            done: self.done_millionths.load(Ordering::Relaxed) as f64 / 1e6,
        }
    }
}
