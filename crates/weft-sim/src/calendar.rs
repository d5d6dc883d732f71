//! The calendar: a wheel of buckets with an overflow level.
//!
//! INVARIANT: events come out in the total order (time, kind, port, argument), never in the order
//! they went in; that order is what makes runs with and without elided events the same.

use std::cmp::Reverse;
use std::collections::BinaryHeap;

/// The clock ends after 2^62 ps, 53 days of simulated time. INVARIANT: whatever one event adds to
/// its time keeps clear of the end of the integers.
pub(crate) const CLOCK_END_PS: u64 = 1 << 62;

/// What an event is; the order of the variants is the order at one instant.
#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord)]
#[repr(u8)]
pub(crate) enum Kind {
    /// Credits come back to a port.
    Credit,
    /// A packet comes into an input buffer.
    Arrive,
    /// A port may have something to send.
    Kick,
    /// A message comes to a rank of the same node.
    Local,
    /// The last packet of a rank's message has left.
    Sent,
    /// A rank's processor goes on.
    Rank,
}

const KINDS: [Kind; 6] =
    [Kind::Credit, Kind::Arrive, Kind::Kick, Kind::Local, Kind::Sent, Kind::Rank];

/// Something that happens at an instant, at a port (or rank), with an argument.
#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord)]
pub(crate) struct Event {
    pub(crate) time_ps: u64,
    key: u64,
}

impl Event {
    pub(crate) fn new(time_ps: u64, kind: Kind, port: u32, argument: u32) -> Event {
        debug_assert!(port < 1 << 29);
        let key = (kind as u64) << 61 | u64::from(port) << 32 | u64::from(argument);
        Event { time_ps, key }
    }

    pub(crate) fn kind(self) -> Kind {
        KINDS[(self.key >> 61) as usize]
    }

    pub(crate) fn port(self) -> u32 {
        (self.key >> 32) as u32 & ((1 << 29) - 1)
    }

    pub(crate) fn argument(self) -> u32 {
        self.key as u32
    }
}

/// A bucket is 2^14 ps = 16 ns wide.
const SHIFT: u32 = 14;
const N_BUCKETS: u64 = 1 << 12;

#[derive(Debug)]
pub(crate) struct Calendar {
    buckets: Vec<Vec<Event>>,
    /// Empty buffers: a bucket that keeps its own would cost more than the whole simulation.
    pool: Vec<Vec<Event>>,
    /// The bucket being read, sorted, and how far.
    current: Vec<Event>,
    next: usize,
    slot: u64,
    in_wheel: usize,
    /// What lies beyond the wheel.
    overflow: BinaryHeap<Reverse<Event>>,
}

impl Calendar {
    pub(crate) fn new() -> Calendar {
        Calendar {
            buckets: vec![Vec::new(); N_BUCKETS as usize],
            pool: Vec::new(),
            current: Vec::new(),
            next: 0,
            slot: 0,
            in_wheel: 0,
            overflow: BinaryHeap::new(),
        }
    }

    pub(crate) fn push(&mut self, event: Event) {
        let slot = event.time_ps >> SHIFT;
        assert!(slot >= self.slot, "an event in the past");
        if slot == self.slot {
            let at = self.next + self.current[self.next..].partition_point(|e| *e < event);
            self.current.insert(at, event);
        } else if slot - self.slot < N_BUCKETS {
            self.put_in_bucket(slot, event);
        } else {
            self.overflow.push(Reverse(event));
        }
    }

    fn put_in_bucket(&mut self, slot: u64, event: Event) {
        let bucket = &mut self.buckets[(slot % N_BUCKETS) as usize];
        if bucket.capacity() == 0
            && let Some(buffer) = self.pool.pop()
        {
            *bucket = buffer;
        }
        bucket.push(event);
        self.in_wheel += 1;
    }

    pub(crate) fn pop(&mut self) -> Option<Event> {
        while self.next == self.current.len() {
            self.turn()?;
        }
        self.next += 1;
        Some(self.current[self.next - 1])
    }

    /// Go to the next bucket, or none where nothing is left.
    fn turn(&mut self) -> Option<()> {
        self.slot = match self.overflow.peek() {
            Some(Reverse(first)) if self.in_wheel == 0 => first.time_ps >> SHIFT,
            None if self.in_wheel == 0 => return None,
            _ => self.slot + 1,
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
        let mut old = std::mem::replace(&mut self.current, bucket);
        if old.capacity() > 0 {
            old.clear();
            self.pool.push(old);
        }
        self.in_wheel -= self.current.len();
        self.current.sort_unstable();
        self.next = 0;
        Some(())
    }
}

#[cfg(test)]
mod tests {
    use super::{Calendar, Event, Kind};

    #[test]
    fn events_leave_in_order_of_time_kind_port_whatever_order_they_came_in() {
        let mut expected = Vec::new();
        for time_ps in [0, 5, 16_384, 70_000_000, 70_000_000_000, 70_000_000_001] {
            for kind in [Kind::Credit, Kind::Arrive, Kind::Kick, Kind::Rank] {
                for port in 0..3 {
                    expected.push(Event::new(time_ps, kind, port, 7));
                }
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
        calendar.push(Event::new(20, Kind::Rank, 3, 4));
        let event = calendar.pop().expect("the event just pushed");
        assert_eq!((event.time_ps, event.kind()), (20, Kind::Rank));
        assert_eq!((event.port(), event.argument()), (3, 4));
    }
}
