//! The clock: what time it is, what is due, and the hash of all that has happened.

use crate::state::calendar::{Calendar, Cold, Event, Kind};
use crate::state::id_map::SPREAD;
use weft_traffic::mixed as mix;

/// The time of the event that is handled, and the events to come.
#[derive(Debug)]
pub(crate) struct Clock {
    pub(crate) now_ps: u64,
    pub(crate) calendar: Calendar,
    /// Cold events that are due but for the watchdog's, and how many of them are faults.
    pub(crate) n_cold: u32,
    pub(crate) n_faults_due: u32,
    /// Of all facts in their order: the same run gives the same hash.
    pub(crate) trace_hash: u64,
}

impl Clock {
    pub(crate) fn new() -> Clock {
        Clock {
            now_ps: 0,
            calendar: Calendar::new(),
            n_cold: 0,
            n_faults_due: 0,
            trace_hash: 0xcbf2_9ce4_8422_2325,
        }
    }

    #[inline]
    pub(crate) fn schedule(&mut self, time_ps: u64, kind: Kind, port: u32, packet: u32) {
        self.calendar.push(Event::new(time_ps, kind, port, packet));
    }

    /// Let the watchdog look at `time_ps`. It is nothing that is due: who asks whether anything is
    /// still to come does not count it.
    pub(crate) fn schedule_watch(&mut self, time_ps: u64) {
        self.calendar.push(Event::cold(time_ps, Cold::Watch));
    }

    pub(crate) fn schedule_cold(&mut self, time_ps: u64, cold: Cold) {
        self.n_cold += 1;
        self.calendar.push(Event::cold(time_ps, cold));
    }

    /// Let a fault of that number begin or end at `time_ps`.
    pub(crate) fn schedule_fault(&mut self, time_ps: u64, number: u32) {
        self.n_faults_due += 1;
        self.schedule_cold(time_ps, Cold::Fault(number));
    }

    /// Mix a fact of now into the trace hash: where, and how many bytes or which rank.
    #[inline]
    pub(crate) fn trace(&mut self, place: u64, number: u64) {
        let fact = self.fact(place, number);
        self.trace_hash = (self.trace_hash.rotate_left(29) ^ fact).wrapping_mul(SPREAD);
    }

    /// The same where messages are flows: facts of one instant have no order.
    pub(crate) fn trace_unordered(&mut self, place: u64, number: u64) {
        self.trace_hash = self.trace_hash.wrapping_add(mix(self.fact(place, number)));
    }

    #[inline]
    fn fact(&self, place: u64, number: u64) -> u64 {
        self.now_ps ^ place.rotate_left(40) ^ number.rotate_left(20)
    }
}

#[cfg(test)]
mod tests {
    use super::Clock;

    const FACTS: [(u64, u64); 3] = [(7, 4096), (7, 64), (1 << 32, 3)];

    fn hashes(facts: impl Iterator<Item = (u64, u64)> + Clone) -> (u64, u64) {
        let (mut ordered, mut unordered) = (Clock::new(), Clock::new());
        facts.clone().for_each(|(place, number)| ordered.trace(place, number));
        facts.for_each(|(place, number)| unordered.trace_unordered(place, number));
        (ordered.trace_hash, unordered.trace_hash)
    }

    #[test]
    fn the_trace_depends_on_the_order_of_packets_and_not_of_flows() {
        let (there, back) = (hashes(FACTS.into_iter()), hashes(FACTS.into_iter().rev()));
        assert_ne!(there.0, back.0, "packets");
        assert_eq!(there.1, back.1, "flows");
    }

    #[test]
    fn the_trace_depends_on_every_fact_and_its_time() {
        let (all, fewer) = (hashes(FACTS.into_iter()), hashes(FACTS.into_iter().skip(1)));
        assert!(all.0 != fewer.0 && all.1 != fewer.1);
        let mut later = Clock::new();
        later.now_ps = 1;
        later.trace(7, 4096);
        assert_ne!(later.trace_hash, hashes(FACTS.into_iter().take(1)).0);
    }
}
