//! The calendar: a wheel of buckets with an overflow level.
//!
//! INVARIANT: events come out in the total order (time, kind, port, packet), never in the order
//! they went in; that order is what makes runs with and without elided events the same.

use crate::limits::MAX_NUMBER;
use std::cmp::Reverse;
use std::collections::BinaryHeap;

/// The kind of an event; the order of the variants is the order at one instant.
#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord)]
#[repr(u8)]
pub(crate) enum Kind {
    /// Credits come back to a port; the packet's place holds the virtual lane.
    Credit,
    /// A packet comes into an input buffer.
    Arrive,
    /// A port may have something to send.
    Kick,
    /// Something rare, see [`Cold`].
    Cold,
}

/// Events too rare for a kind of their own; the order of the variants is the order at one
/// instant, after all other kinds.
#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord)]
pub(crate) enum Cold {
    /// The flow of a message may be over.
    Drained(u32),
    /// A message that was a flow comes to its endpoint.
    Come(u32),
    /// A message comes to a rank of the same node.
    Local(u32),
    /// The last packet of a rank's message has left.
    Sent(u32),
    /// A rank's processor goes on.
    Rank(u32),
    /// A message may leave its endpoint.
    Ready(u32),
    /// Messages of a rank that were agreed on may leave it.
    Agreed(u32),
    /// The read port of an input buffer is free again.
    Read(u32),
    /// A timer of the transport.
    Timer(u32),
    /// A fault begins or ends.
    Fault(u32),
    /// A tenant begins.
    Start(u32),
    /// An aggregation node has done its work on an operation.
    Reduced(u32),
    /// Rates of flows are solved.
    Solve,
    /// A receiver looks for an overtaken packet of a connection.
    Missing(u32),
    /// The watchdog looks.
    Watch,
}

impl Cold {
    fn code(self) -> u64 {
        let (number, value) = match self {
            Cold::Drained(message) => (0, message),
            Cold::Come(message) => (1, message),
            Cold::Local(message) => (2, message),
            Cold::Sent(rank) => (3, rank),
            Cold::Rank(rank) => (4, rank),
            Cold::Ready(message) => (5, message),
            Cold::Agreed(rank) => (6, rank),
            Cold::Read(port) => (7, port),
            Cold::Timer(timer) => (8, timer),
            Cold::Fault(fault) => (9, fault),
            Cold::Start(tenant) => (10, tenant),
            Cold::Reduced(junction) => (11, junction),
            Cold::Solve => (12, 0),
            Cold::Missing(connection) => (13, connection),
            Cold::Watch => (14, 0),
        };
        number << 32 | u64::from(value)
    }

    fn of(code: u64) -> Cold {
        let value = code as u32;
        match (code >> 32) & 0xffff {
            0 => Cold::Drained(value),
            1 => Cold::Come(value),
            2 => Cold::Local(value),
            3 => Cold::Sent(value),
            4 => Cold::Rank(value),
            5 => Cold::Ready(value),
            6 => Cold::Agreed(value),
            7 => Cold::Read(value),
            8 => Cold::Timer(value),
            9 => Cold::Fault(value),
            10 => Cold::Start(value),
            11 => Cold::Reduced(value),
            12 => Cold::Solve,
            13 => Cold::Missing(value),
            _ => Cold::Watch,
        }
    }
}

/// Something that happens at an instant, at a port, to a packet (or a [`Cold`] event).
#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord)]
pub(crate) struct Event {
    pub(crate) time_ps: u64,
    /// 2 bits of kind, 24 of port, 24 of packet.
    key: u64,
}

impl Event {
    #[inline]
    pub(crate) fn new(time_ps: u64, kind: Kind, port: u32, packet: u32) -> Event {
        debug_assert!(port < MAX_NUMBER && packet < MAX_NUMBER);
        Event { time_ps, key: (kind as u64) << 48 | u64::from(port) << 24 | u64::from(packet) }
    }

    pub(crate) fn cold(time_ps: u64, cold: Cold) -> Event {
        Event { time_ps, key: (Kind::Cold as u64) << 48 | cold.code() }
    }

    #[inline]
    pub(crate) fn kind(self) -> Kind {
        match self.key >> 48 & 3 {
            0 => Kind::Credit,
            1 => Kind::Arrive,
            2 => Kind::Kick,
            _ => Kind::Cold,
        }
    }

    #[inline]
    pub(crate) fn port(self) -> u32 {
        (self.key >> 24) as u32 & (MAX_NUMBER - 1)
    }

    #[inline]
    pub(crate) fn packet(self) -> u32 {
        self.key as u32 & (MAX_NUMBER - 1)
    }

    /// The kind of a cold event.
    pub(crate) fn what(self) -> Cold {
        Cold::of(self.key)
    }
}

/// A bucket is 2^12 ps = 4 ns wide.
const SHIFT: u32 = 12;
const WIDTH_PS: u64 = 1 << SHIFT;
const N_BUCKETS: u64 = 1 << 14;
/// Of a bucket's words: above the key, the time within the bucket.
const KEY_BITS: u32 = u64::BITS - SHIFT;
const KEY_MASK: u64 = (1 << KEY_BITS) - 1;
/// Buckets whose bits are in one word.
const A_WORD: u64 = 64;

/// INVARIANT: within a bucket an event is one word: 12 bits of time, then its key.
#[derive(Debug, Default)]
pub(crate) struct Calendar {
    buckets: Vec<Vec<u64>>,
    /// By bucket, a bit: it holds something. So an empty stretch costs nothing.
    held: Vec<u64>,
    n_held: usize,
    /// Empty buffers: a bucket that keeps its own would cost more than the whole simulation.
    pool: Vec<Vec<u64>>,
    /// The bucket being read, sorted, and how far.
    current: Vec<u64>,
    next: usize,
    slot: u64,
    /// Events beyond the wheel.
    overflow: BinaryHeap<Reverse<Event>>,
}

impl Calendar {
    pub(crate) fn new() -> Calendar {
        Calendar {
            buckets: vec![Vec::new(); N_BUCKETS as usize],
            held: vec![0; (N_BUCKETS / A_WORD) as usize],
            ..Calendar::default()
        }
    }

    #[inline(always)]
    pub(crate) fn push(&mut self, event: Event) {
        let slot = event.time_ps >> SHIFT;
        if slot.wrapping_sub(self.slot + 1) < N_BUCKETS - 1 {
            self.put_in_bucket(slot, event);
        } else {
            self.push_elsewhere(slot, event);
        }
    }

    /// Into the bucket that is being read, or beyond the wheel.
    #[cold]
    fn push_elsewhere(&mut self, slot: u64, event: Event) {
        assert!(slot >= self.slot, "an event in the past");
        if slot == self.slot {
            let word = word_of(event);
            let at = self.next + self.current[self.next..].partition_point(|e| *e < word);
            self.current.insert(at, word);
        } else {
            self.overflow.push(Reverse(event));
        }
    }

    #[inline(always)]
    fn put_in_bucket(&mut self, slot: u64, event: Event) {
        if self.buckets[(slot % N_BUCKETS) as usize].is_empty() {
            self.begin_bucket(slot);
        }
        self.buckets[(slot % N_BUCKETS) as usize].push(word_of(event));
    }

    /// A bucket will hold something from now on.
    #[inline(never)]
    fn begin_bucket(&mut self, slot: u64) {
        self.held[(slot % N_BUCKETS / A_WORD) as usize] |= 1 << (slot % A_WORD);
        self.n_held += 1;
        let buffer = self.pool.pop().unwrap_or_default();
        self.buckets[(slot % N_BUCKETS) as usize] = buffer;
    }

    /// Whether nothing is to come.
    pub(crate) fn is_empty(&self) -> bool {
        self.next == self.current.len() && self.n_held == 0 && self.overflow.is_empty()
    }

    #[inline(always)]
    pub(crate) fn pop(&mut self) -> Option<Event> {
        if self.next == self.current.len() {
            self.turn()?;
        }
        let word = self.current[self.next];
        self.next += 1;
        Some(self.event_of(word))
    }

    /// The event that comes so many places after the next one, as far as is known.
    #[inline]
    pub(crate) fn ahead(&self, places: usize) -> Option<Event> {
        let word = *self.current.get(self.next + places)?;
        Some(self.event_of(word))
    }

    #[inline(always)]
    fn event_of(&self, word: u64) -> Event {
        Event { time_ps: self.slot << SHIFT | word >> KEY_BITS, key: word & KEY_MASK }
    }

    /// Go to the next bucket that holds something, or none where nothing is left.
    #[inline(never)]
    fn turn(&mut self) -> Option<()> {
        let first_beyond = self.overflow.peek().map(|Reverse(first)| first.time_ps >> SHIFT);
        self.slot = match (self.next_held(), first_beyond) {
            (Some(held), Some(beyond)) => held.min(beyond),
            (held, beyond) => held.or(beyond)?,
        };
        while let Some(Reverse(first)) = self.overflow.peek() {
            let slot = first.time_ps >> SHIFT;
            if slot - self.slot >= N_BUCKETS {
                break;
            }
            let event = self.overflow.pop().expect("just seen").0;
            self.put_in_bucket(slot, event);
        }
        let bucket = std::mem::take(&mut self.buckets[(self.slot % N_BUCKETS) as usize]);
        self.held[(self.slot % N_BUCKETS / A_WORD) as usize] &= !(1 << (self.slot % A_WORD));
        self.n_held -= 1;
        let mut old = std::mem::replace(&mut self.current, bucket);
        old.clear();
        self.pool.push(old);
        self.current.sort_unstable();
        self.next = 0;
        Some(())
    }

    /// The next bucket of the wheel that holds something.
    fn next_held(&self) -> Option<u64> {
        if self.n_held == 0 {
            return None;
        }
        let after = self.slot + 1;
        let word = |at: u64| self.held[(at % (N_BUCKETS / A_WORD)) as usize];
        let mut at = after / A_WORD;
        let mut bits = word(at) & u64::MAX << (after % A_WORD);
        while bits == 0 {
            at += 1;
            bits = word(at);
        }
        Some(at * A_WORD + u64::from(bits.trailing_zeros()))
    }
}

/// The word of an event within its bucket.
#[inline]
fn word_of(event: Event) -> u64 {
    (event.time_ps % WIDTH_PS) << KEY_BITS | event.key
}

#[cfg(test)]
mod tests {
    use super::{Calendar, Cold, Event, Kind, N_BUCKETS, WIDTH_PS};
    use std::cmp::Reverse;
    use std::collections::BinaryHeap;

    #[test]
    fn events_leave_in_order_of_time_kind_port_whatever_order_they_came_in() {
        let mut expected = Vec::new();
        for time_ps in [0, 5, WIDTH_PS, 70_000_000, 70_000_000_000, 70_000_000_001] {
            for kind in [Kind::Credit, Kind::Arrive, Kind::Kick] {
                for port in 0..3 {
                    expected.push(Event::new(time_ps, kind, port, 7));
                }
            }
            for cold in
                [Cold::Local(3), Cold::Rank(u32::MAX), Cold::Timer(0), Cold::Start(2), Cold::Watch]
            {
                expected.push(Event::cold(time_ps, cold));
            }
        }
        let mut calendar = Calendar::new();
        for step in 0..expected.len() {
            calendar.push(expected[step * 5 % expected.len()]);
        }
        let popped: Vec<Event> = std::iter::from_fn(|| calendar.pop()).collect();
        assert_eq!(popped, expected);
    }

    #[test]
    fn an_event_of_the_bucket_being_read_joins_it() {
        let mut calendar = Calendar::new();
        calendar.push(Event::new(10, Kind::Arrive, 0, 0));
        calendar.push(Event::new(30, Kind::Arrive, 0, 0));
        assert_eq!(calendar.pop().map(|event| event.time_ps), Some(10));
        calendar.push(Event::new(20, Kind::Kick, 3, 4));
        let event = calendar.pop().expect("the event just pushed");
        assert_eq!((event.time_ps, event.kind()), (20, Kind::Kick));
        assert_eq!((event.port(), event.packet()), (3, 4));
    }

    /// Against a heap: steps within a bucket, to the next, over quiet stretches, to the last bucket
    /// of the wheel and the first beyond, and far away.
    #[test]
    fn the_wheel_is_a_heap_wherever_it_stands() {
        let wheel_ps = N_BUCKETS * WIDTH_PS;
        let steps = [0, 1, WIDTH_PS, 70 * WIDTH_PS, wheel_ps - WIDTH_PS, wheel_ps, 9 * wheel_ps];
        let (mut calendar, mut heap, mut now_ps) = (Calendar::new(), BinaryHeap::new(), 0);
        let mut seed = 7u64;
        for number in 0..60_000u32 {
            seed = seed.wrapping_mul(6_364_136_223_846_793_005).wrapping_add(1);
            let (draw, crowded) = ((seed >> 33) as usize, number / 3000 % 2 == 0);
            if heap.is_empty() || (draw % 3 > 0) == crowded {
                let step_ps = steps[draw / 3 % steps.len()] + (draw / 64) as u64 % 2048;
                let event = Event::new(now_ps + step_ps, Kind::Arrive, number % 9, number);
                calendar.push(event);
                heap.push(Reverse(event));
            } else {
                let event = heap.pop().map(|Reverse(event)| event);
                assert_eq!(calendar.pop(), event);
                now_ps = event.map_or(now_ps, |event| event.time_ps);
            }
        }
        let rest: Vec<Event> = std::iter::from_fn(|| calendar.pop()).collect();
        let expected = std::iter::from_fn(|| heap.pop().map(|Reverse(event)| event));
        assert_eq!(rest, expected.collect::<Vec<Event>>());
        assert!(calendar.is_empty());
    }

    #[test]
    fn a_cold_event_says_what_it_is() {
        let all =
            [Cold::Sent(1), Cold::Ready(9), Cold::Read(8), Cold::Fault(u32::MAX), Cold::Watch];
        for cold in all {
            let mut calendar = Calendar::new();
            calendar.push(Event::cold(1 << 40, cold));
            let event = calendar.pop().expect("the event just pushed");
            assert_eq!((event.kind(), event.what()), (Kind::Cold, cold));
        }
    }
}
