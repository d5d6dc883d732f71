//! Notifications of switches that have no port left towards a leaf, and what their receivers avoid.

use std::collections::{BTreeMap, BTreeSet};

/// Notifications under way, and ports that lead nowhere until the subnet manager has new tables.
#[derive(Clone, Debug, Default)]
pub(crate) struct Notices {
    /// Ports, each with a leaf that the switch at its other end does not reach.
    avoided: BTreeSet<(u32, u32)>,
    /// By the time they come and the port they come to: leaves.
    under_way: BTreeMap<(u64, u32), Vec<u32>>,
}

impl Notices {
    /// Whether the switch at the other end of a port has said that it does not reach a leaf.
    #[inline]
    pub(crate) fn avoid(&self, port: u32, leaf: usize) -> bool {
        !self.avoided.is_empty() && self.avoided.contains(&(port, leaf as u32))
    }

    /// Avoid a port for a leaf.
    pub(crate) fn heed(&mut self, port: u32, leaf: u32) {
        self.avoided.insert((port, leaf));
    }

    /// A notification about a leaf leaves for a port, where it comes at `time_ps`.
    pub(crate) fn send(&mut self, time_ps: u64, port: u32, leaf: u32) {
        self.under_way.entry((time_ps, port)).or_default().push(leaf);
    }

    /// The next notification that has come: its port, and its leaves.
    pub(crate) fn receive(&mut self, now_ps: u64) -> Option<(u32, Vec<u32>)> {
        let first = self.under_way.first_entry().filter(|first| first.key().0 <= now_ps)?;
        let ((_, port), leaves) = first.remove_entry();
        Some((port, leaves))
    }

    /// New tables know better.
    pub(crate) fn forget(&mut self) {
        self.avoided.clear();
        self.under_way.clear();
    }
}

#[cfg(test)]
mod tests {
    use super::Notices;

    #[test]
    fn a_notification_is_heeded_when_it_has_come_and_until_there_are_new_tables() {
        let mut notices = Notices::default();
        notices.send(20, 4, 1);
        notices.send(10, 7, 2);
        notices.send(10, 7, 3);
        assert_eq!(notices.receive(9), None);
        assert_eq!(notices.receive(10), Some((7, vec![2, 3])));
        assert_eq!(notices.receive(10), None, "the other is under way");
        notices.heed(7, 2);
        assert!(notices.avoid(7, 2) && !notices.avoid(7, 1) && !notices.avoid(4, 2));
        notices.forget();
        assert!(!notices.avoid(7, 2));
        assert_eq!(notices.receive(20), None, "what is under way is out of date");
    }
}
