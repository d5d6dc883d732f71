//! Flowlets: packets of a queue pair that follow one another closely take the same path.

use std::collections::HashMap;

/// Entries below which old ones are kept.
const FEW: usize = 1 << 10;

/// Packets of a queue pair that follow one another closely.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) struct Flowlet {
    /// The port they take.
    pub(crate) number: u16,
    /// The group of their detour.
    pub(crate) via: u16,
    pub(crate) seen_ps: u64,
}

/// The flowlets that may go on, by queue pair, switch and detour (or that it is undecided).
///
/// Those that are over are swept out when there are twice as many as there were after the last
/// sweep: no packet would follow them. Which they are does not depend on the order of a hash.
#[derive(Debug, Default)]
pub(crate) struct Flowlets {
    known: HashMap<u64, Flowlet>,
    sweep_at: usize,
}

impl Flowlets {
    /// The flowlet that a packet seen now goes on with.
    pub(crate) fn live(&mut self, key: u64, now_ps: u64, gap_ps: u64) -> Option<&mut Flowlet> {
        self.known.get_mut(&key).filter(|flowlet| now_ps - flowlet.seen_ps <= gap_ps)
    }

    /// A new flowlet begins.
    pub(crate) fn begin(&mut self, key: u64, flowlet: Flowlet, gap_ps: u64) {
        if self.known.len() >= self.sweep_at {
            self.known.retain(|_, old| flowlet.seen_ps - old.seen_ps <= gap_ps);
            self.sweep_at = FEW.max(2 * self.known.len());
        }
        self.known.insert(key, flowlet);
    }

    /// No packet follows another any more.
    pub(crate) fn forget(&mut self) {
        self.known.clear();
    }
}

#[cfg(test)]
mod tests {
    use super::{FEW, Flowlet, Flowlets};

    #[test]
    fn those_that_are_over_are_forgotten_and_no_others() {
        let gap_ps = 10_000;
        let mut flowlets = Flowlets::default();
        let flowlet = |seen_ps: u64| Flowlet { number: (seen_ps % 7) as u16, via: 0, seen_ps };
        // One new queue pair a picosecond, so `gap_ps` of them and one are live at a time.
        for now_ps in 0..40 * gap_ps {
            flowlets.begin(now_ps, flowlet(now_ps), gap_ps);
            let oldest_ps = now_ps.saturating_sub(gap_ps);
            assert_eq!(flowlets.live(oldest_ps, now_ps, gap_ps), Some(&mut flowlet(oldest_ps)));
            assert!(flowlets.known.len() <= 2 * (gap_ps as usize + 1), "at {now_ps} ps");
        }
        assert_eq!(flowlets.live(39 * gap_ps - 2, 40 * gap_ps - 1, gap_ps), None, "it is over");
        assert!(FEW < gap_ps as usize, "the sweeps were called for");
    }
}
