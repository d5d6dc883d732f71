//! Reliable connections where packets are numbered: what is sent and not acknowledged, what has
//! come, what is repeated. Where nothing can be lost there are none of these.
//!
//! SOURCE: InfiniBand Architecture Specification volume 1, section 9.7 (reliable service).
//! Go-back-N follows a negative acknowledgement, of which there is one until the missing packet has
//! come, or a timeout since the last progress.

use crate::limits::{MAX_CONNECTIONS, MOST_PACKETS_A_LOOK, NEVER};
use crate::state::calendar::Cold;
use crate::state::clock::Clock;
use crate::state::id_map::IdMap;
use crate::state::pool::indexed;
use crate::state::transport::message::{Message, Role};
use crate::state::transport::sender::key_of;
use std::collections::{BTreeSet, VecDeque};

/// A message some packet of which is not acknowledged.
#[derive(Clone, Copy, Debug)]
pub(crate) struct Flight {
    pub(crate) message: u32,
    /// Number of its first packet.
    first: u32,
    n_packets: u64,
    size_bytes: u64,
    /// The sender waits for its acknowledgement.
    pub(crate) agreed: bool,
}

impl Flight {
    fn end(&self) -> u64 {
        u64::from(self.first) + self.n_packets
    }

    /// Bytes of the message that a packet carries, and whether it is the first.
    pub(crate) fn piece(&self, number: u32, mtu_bytes: u64) -> (u32, bool) {
        let from = u64::from(number - self.first) * mtu_bytes;
        ((self.size_bytes - from).min(mtu_bytes) as u32, number == self.first)
    }
}

/// The verdict of a receiver on a packet.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) enum Verdict {
    /// It is taken, and may have been overtaken by another.
    Taken { late: bool },
    /// It has come before.
    Again,
    /// One before it is missing, and its sender has to be notified.
    Gap,
    /// One before it is missing, and its sender has been notified.
    Ignored,
}

/// A connection from a rank to another on one lane (and, inside nodes, one leg): both ends.
#[derive(Debug, Default)]
pub(crate) struct Connection {
    pub(crate) src: u32,
    pub(crate) dst: u32,
    pub(crate) lane: u8,
    /// Its queue pair among those that congestion control spaces.
    pub(crate) pace: u32,
    /// The sender's port and, where nodes have an inside, the receiver's endpoint.
    pub(crate) port: u32,
    pub(crate) dst_vertex: u32,
    pub(crate) dst_hca: u32,
    /// Sender: messages not acknowledged, in order.
    flights: VecDeque<Flight>,
    /// The next new packet; all below `acked` are acknowledged, some below `asked` ask for it.
    pub(crate) next: u32,
    pub(crate) acked: u32,
    asked: u32,
    /// When it gives up waiting, and the event that will look.
    pub(crate) deadline_ps: u64,
    pub(crate) timer_ps: u64,
    pub(crate) n_repeats: u8,
    /// Receiver: all below have come; these beyond have, too.
    pub(crate) expected: u32,
    early: BTreeSet<u32>,
    highest: u32,
    notified: bool,
    /// Receiver: since when a packet has been overtaken, NEVER where none is, and its number.
    overtaken_ps: u64,
    overtaken: u32,
    /// An event will look whether it has come, and report it by this port where it has not.
    looks: bool,
    pub(crate) came_by: u32,
}

impl Connection {
    fn new(message: &Message) -> Connection {
        Connection {
            src: message.src,
            dst: message.dst,
            lane: message.lane,
            pace: message.pace,
            port: message.port,
            dst_vertex: message.dst_vertex,
            dst_hca: message.dst_hca,
            deadline_ps: NEVER,
            timer_ps: NEVER,
            overtaken_ps: NEVER,
            ..Connection::default()
        }
    }

    // ---- sender ---------------------------------------------------------------------------

    /// Number a new packet; the first of a message brings the message.
    pub(crate) fn number(
        &mut self,
        id: u32,
        message: &Message,
        mtu_bytes: u64,
        first: bool,
    ) -> u32 {
        if first {
            let n_packets = message.size_bytes.div_ceil(mtu_bytes).max(1);
            self.flights.push_back(Flight {
                message: id,
                first: self.next,
                n_packets,
                size_bytes: message.size_bytes,
                agreed: message.role == Role::Agreed,
            });
        }
        let number = self.next;
        self.next = number.checked_add(1).expect("fewer than 2^32 packets a connection");
        number
    }

    /// The message of a packet that is not acknowledged.
    pub(crate) fn flight(&self, number: u32) -> Option<Flight> {
        let at = self.flights.partition_point(|flight| flight.end() <= number.into());
        self.flights.get(at).filter(|flight| flight.first <= number).copied()
    }

    /// Whether a packet asks to be acknowledged.
    pub(crate) fn asks(&self, number: u32, ack_every: u32) -> bool {
        self.flight(number).is_some_and(|flight| {
            u64::from(number) + 1 == flight.end()
                || (number - flight.first + 1).is_multiple_of(ack_every)
        })
    }

    /// A packet that asks has left: wait for the answer from now on, unless it does already.
    pub(crate) fn await_answer(&mut self, number: u32, deadline_ps: u64) {
        self.asked = self.asked.max(number + 1);
        if self.deadline_ps == NEVER {
            self.deadline_ps = deadline_ps;
        }
    }

    /// Everything is sent again: wait anew, if anything asked.
    pub(crate) fn await_again(&mut self, deadline_ps: u64) {
        if self.acked < self.asked {
            self.deadline_ps = deadline_ps;
        }
    }

    /// All packets below `number` are acknowledged; whether that is news.
    pub(crate) fn acknowledge(&mut self, number: u32, deadline_ps: u64) -> bool {
        if number <= self.acked {
            return false;
        }
        assert!(number <= self.next, "only what was sent is acknowledged");
        (self.acked, self.n_repeats) = (number, 0);
        self.deadline_ps = if number < self.asked { deadline_ps } else { NEVER };
        true
    }

    /// The next message of which every packet is acknowledged.
    pub(crate) fn pop_acknowledged(&mut self) -> Option<Flight> {
        let acked = self.acked.into();
        self.flights.pop_front_if(|flight| flight.end() <= acked)
    }

    // ---- receiver -------------------------------------------------------------------------

    /// A packet has come.
    pub(crate) fn judge(&mut self, number: u32, any_order: bool) -> Verdict {
        if number < self.expected || self.early.contains(&number) {
            return Verdict::Again;
        }
        if number > self.expected && !any_order {
            let notified = std::mem::replace(&mut self.notified, true);
            return if notified { Verdict::Ignored } else { Verdict::Gap };
        }
        let late = number < self.highest;
        self.highest = self.highest.max(number);
        self.early.insert(number);
        Verdict::Taken { late }
    }

    /// A packet came by `port` and was taken: when to look whether one is missing, if no event
    /// will do so already.
    pub(crate) fn watch_order(&mut self, port: u32, now_ps: u64, reorder_ps: u64) -> Option<u64> {
        if self.early.is_empty() {
            self.overtaken_ps = NEVER;
        } else if self.overtaken_ps == NEVER || self.overtaken != self.expected {
            (self.overtaken_ps, self.overtaken) = (now_ps, self.expected);
        }
        if self.overtaken_ps == NEVER || self.notified || self.looks {
            return None;
        }
        (self.looks, self.came_by) = (true, port);
        Some(self.overtaken_ps + reorder_ps)
    }

    /// The event that looks has come: whether the sender has to be notified of a missing packet;
    /// else when to look again, if at all.
    pub(crate) fn look_for_missing(&mut self, now_ps: u64, reorder_ps: u64) -> (bool, Option<u64>) {
        self.looks = false;
        if self.overtaken_ps == NEVER || self.notified {
            return (false, None);
        }
        let due_ps = self.overtaken_ps + reorder_ps;
        if due_ps > now_ps {
            self.looks = true;
            return (false, Some(due_ps));
        }
        self.notified = true;
        (true, None)
    }

    /// Step over the next packet if it has come: the message it completes, and whether it asks to
    /// be acknowledged.
    pub(crate) fn step(&mut self, ack_every: u32) -> Option<(Option<u32>, bool)> {
        let number = self.expected;
        if !self.early.remove(&number) {
            return None;
        }
        self.notified = false;
        let asks = self.asks(number, ack_every);
        let flight = self.flight(number).expect("not acknowledged yet");
        self.expected += 1;
        let whole = u64::from(number) + 1 == flight.end();
        Some((whole.then_some(flight.message), asks))
    }
}

/// All connections.
#[derive(Debug, Default)]
pub(crate) struct Connections {
    list: Vec<Connection>,
    /// By queue pair.
    numbers: IdMap<u64, u32>,
    /// The highest number of a packet of any.
    highest: u32,
}

impl Connections {
    /// Let an event look at a connection's deadline, if none does yet.
    pub(crate) fn set_timer(&mut self, clock: &mut Clock, number: u32) {
        let here = &mut self[number];
        if here.deadline_ps != NEVER && here.timer_ps == NEVER {
            here.timer_ps = here.deadline_ps;
            clock.schedule_cold(here.deadline_ps, Cold::Timer(number));
        }
    }

    /// Note a number that a packet has got.
    pub(crate) fn note(&mut self, number: u32) {
        self.highest = self.highest.max(number);
    }

    /// Whether all have numbers left for what is injected until the next look.
    pub(crate) fn have_numbers(&self) -> bool {
        u64::from(self.highest) + MOST_PACKETS_A_LOOK < u64::from(u32::MAX)
    }

    /// Whether there are not more than there may be.
    pub(crate) fn have_room(&self) -> bool {
        self.list.len() <= MAX_CONNECTIONS as usize
    }

    /// The number of a message's connection.
    pub(crate) fn of(&mut self, message: &Message) -> u32 {
        let key = key_of(message);
        let fresh = self.list.len() as u32;
        let number = *self.numbers.entry(key).or_insert(fresh);
        if number == fresh {
            self.list.push(Connection::new(message));
        }
        number
    }
}

indexed!(Connections, list by u32 => Connection);

#[cfg(test)]
mod tests {
    use super::{Connection, Connections, Verdict};
    use crate::state::transport::message::{Message, Role};

    const MTU: u64 = 4096;

    /// A connection that has sent messages of so many packets, numbered from 0 on.
    fn sent(n_packets: &[u64]) -> Connection {
        let message = |n: u64| Message::new(0, 1, 1, n * MTU, Role::Eager);
        let mut connection = Connection::new(&message(1));
        for (id, n) in (0..).zip(n_packets) {
            for k in 0..*n {
                connection.number(id, &message(*n), MTU, k == 0);
            }
        }
        connection
    }

    #[test]
    fn there_are_no_numbers_for_more_packets_than_are_counted() {
        let mut connections = Connections::default();
        connections.note(u32::MAX - (1 << 20));
        assert!(connections.have_numbers());
        connections.note(u32::MAX - 2);
        connections.note(7);
        assert!(!connections.have_numbers());
    }

    #[test]
    fn in_order_a_gap_is_notified_once_until_it_is_filled() {
        let mut connection = sent(&[9]);
        assert_eq!(connection.judge(0, false), Verdict::Taken { late: false });
        assert_eq!(connection.step(4), Some((None, false)));
        assert_eq!(connection.judge(2, false), Verdict::Gap);
        assert_eq!(connection.judge(3, false), Verdict::Ignored);
        assert_eq!(connection.judge(0, false), Verdict::Again);
        assert_eq!(connection.judge(1, false), Verdict::Taken { late: false });
        assert_eq!(connection.step(4), Some((None, false)));
        assert_eq!(connection.step(4), None);
        assert_eq!(connection.judge(4, false), Verdict::Gap, "another one");
    }

    #[test]
    fn in_any_order_messages_are_complete_in_theirs_and_what_was_overtaken_is_late() {
        let mut connection = sent(&[2, 1, 3]);
        for early in [1, 2, 5] {
            assert_eq!(connection.judge(early, true), Verdict::Taken { late: false });
            assert_eq!(connection.step(100), None, "the first is missing");
        }
        assert_eq!(connection.judge(2, true), Verdict::Again);
        assert_eq!(connection.judge(0, true), Verdict::Taken { late: true });
        let steps: Vec<_> = std::iter::from_fn(|| connection.step(100)).collect();
        assert_eq!(steps, [(None, false), (Some(0), true), (Some(1), true)]);
        assert_eq!(connection.judge(4, true), Verdict::Taken { late: true });
        assert_eq!(connection.judge(3, true), Verdict::Taken { late: true });
        assert_eq!(std::iter::from_fn(|| connection.step(100)).last(), Some((Some(2), true)));
        assert!(connection.acknowledge(connection.expected, 0));
        let done: Vec<_> = std::iter::from_fn(|| connection.pop_acknowledged()).collect();
        assert_eq!(done.iter().map(|flight| flight.message).collect::<Vec<_>>(), [0, 1, 2]);
        assert!(connection.flight(3).is_none(), "nothing is remembered of what has come");
    }

    #[test]
    fn it_waits_for_an_answer_only_where_it_asked() {
        let mut connection = sent(&[9]);
        let never = super::NEVER;
        assert!(!connection.asks(2, 4) && connection.asks(3, 4) && connection.asks(8, 4));
        connection.await_answer(3, 100);
        connection.await_answer(7, 200);
        assert_eq!(connection.deadline_ps, 100, "the first question counts");
        assert!(connection.acknowledge(4, 300));
        assert_eq!(connection.deadline_ps, 300, "the eighth is not answered");
        assert!(!connection.acknowledge(4, 400), "no news");
        assert!(connection.acknowledge(8, 500));
        assert_eq!(connection.deadline_ps, never);
        connection.await_again(600);
        assert_eq!(connection.deadline_ps, never, "nothing is asked that is not answered");
    }

    #[test]
    fn an_overtaken_packet_is_reported_when_it_has_not_come_in_time() {
        let mut connection = sent(&[9]);
        let mut take = |number: u32, now_ps: u64| {
            assert!(matches!(connection.judge(number, true), Verdict::Taken { .. }));
            while connection.step(100).is_some() {}
            connection.watch_order(7, now_ps, 50)
        };
        assert_eq!(take(0, 10), None, "nothing is missing");
        assert_eq!(take(2, 20), Some(70), "1 is");
        assert_eq!(take(3, 30), None, "an event looks");
        assert_eq!(take(1, 40), None);
        assert_eq!(take(5, 60), None, "the same event looks at 4");
        assert_eq!(connection.look_for_missing(70, 50), (false, Some(110)));
        assert_eq!(connection.look_for_missing(110, 50), (true, None));
        assert_eq!((connection.came_by, connection.expected), (7, 4));
        assert_eq!(connection.watch_order(7, 120, 50), None, "the sender has been notified");
        assert!(matches!(connection.judge(4, true), Verdict::Taken { .. }));
        while connection.step(100).is_some() {}
        assert_eq!(connection.watch_order(7, 130, 50), None, "nothing is missing");
        assert_eq!(connection.look_for_missing(140, 50), (false, None));
    }
}
