//! The send side of an endpoint: a queue pair for every two ranks that talk, served round robin
//! packet by packet; messages of one queue pair stay in order. What transport says to its peer (an
//! acknowledgement) goes before data.
//!
//! Queue pairs are chains through the messages, and the ring of those that may send is a chain
//! through their first messages: memory is bounded by what is outstanding.

use crate::limits::NIL;
use crate::state::id_map::IdMap;
use crate::state::packet::PacketPool;
use crate::state::pool::Pool;
use crate::state::transport::message::Message;
use prefetch_index::prefetch_index;

/// One virtual lane of an endpoint's port.
#[derive(Clone, Copy, Debug)]
pub(crate) struct Sender {
    /// The last message of the ring; its `ring` is the first.
    tail: u32,
    /// Packets without payload, first and last.
    control: [u32; 2],
    /// No message may begin before.
    begin_ps: u64,
    /// No packet with payload may leave before.
    pause_ps: u64,
}

const IDLE: Sender = Sender { tail: NIL, control: [NIL; 2], begin_ps: 0, pause_ps: 0 };

/// The change of a queue pair's turns when a packet of a message has been sent.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) enum Turn {
    /// It has its next one last.
    Comes,
    /// It has none until it enters the ring again.
    Pauses,
    /// The packet was the message's last.
    Ends,
}

/// The next packet that a lane of an endpoint can send.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) enum Next {
    /// Nothing.
    Idle,
    /// Nothing before that time.
    NotBefore(u64),
    /// A packet without payload.
    Control(u32),
    /// A packet of the message that follows this one in the ring.
    After(u32),
}

/// Every endpoint's send side.
#[derive(Debug, Default)]
pub(crate) struct Senders {
    lanes: Vec<Sender>,
    /// Congestion control slows lanes down, not queue pairs.
    pub(crate) by_lane: bool,
    /// The last message of each queue pair that has one. Only looked up by key, never gone through.
    last: IdMap<u64, u32>,
}

/// The key of a queue pair: two ranks (22 bits each; or a rank and its initiator), a lane, and the
/// part of the path.
pub(crate) fn key_of(message: &Message) -> u64 {
    u64::from(message.part) << 48 | key_of_pair(message.src, message.queue, message.lane)
}

/// The key of the queue pair of two ranks (or a rank and its initiator) whose paths have one part.
pub(crate) fn key_of_pair(src: u32, dst: u32, lane: u8) -> u64 {
    u64::from(src) << 26 | u64::from(dst) << 4 | u64::from(lane)
}

impl Senders {
    /// None yet; `by_lane`: see there.
    pub(crate) fn new(by_lane: bool) -> Senders {
        Senders { by_lane, ..Senders::default() }
    }

    /// Room for the lanes of one more endpoint; the number of the first.
    pub(crate) fn add_endpoint(&mut self, n_lanes: usize) -> u32 {
        let first = self.lanes.len();
        self.lanes.resize(first + n_lanes, IDLE);
        first as u32
    }

    /// Have a lane in the cache soon.
    #[inline(always)]
    pub(crate) fn fetch(&self, lane: u32) {
        prefetch_index(&self.lanes, lane as usize);
    }

    /// Have the message before the one whose turn it is in the cache soon.
    #[inline(always)]
    pub(crate) fn fetch_message(&self, lane: u32, messages: &Pool<Message>) {
        messages.fetch(self.lanes[lane as usize].tail);
    }

    pub(crate) fn is_idle(&self, lane: u32) -> bool {
        let lane = &self.lanes[lane as usize];
        lane.tail == NIL && lane.control[0] == NIL
    }

    /// Put a message behind those of its queue pair; the one before it, if it is not the first.
    pub(crate) fn queue(&mut self, id: u32, messages: &mut Pool<Message>) -> Option<u32> {
        messages[id].next = NIL;
        let before = self.last.insert(key_of(&messages[id]), id);
        if let Some(before) = before {
            messages[before].next = id;
        }
        before
    }

    /// Whether a queue pair has messages.
    pub(crate) fn has(&self, key: u64) -> bool {
        self.last.contains_key(&key)
    }

    /// Let the queue pair whose first message this is have its turns.
    pub(crate) fn enter(&mut self, lane: u32, id: u32, messages: &mut Pool<Message>) {
        let lane = &mut self.lanes[lane as usize];
        if lane.tail == NIL {
            messages[id].ring = id;
        } else {
            messages[id].ring = messages[lane.tail].ring;
            messages[lane.tail].ring = id;
        }
        lane.tail = id;
    }

    /// A message has begun on lane `vl` of an endpoint: no other begins there before `begin_ps`.
    pub(crate) fn begun(&mut self, lane: u32, vl: u8, n_lanes: usize, begin_ps: u64) {
        let first = lane as usize - usize::from(vl);
        for lane in &mut self.lanes[first..first + n_lanes] {
            lane.begin_ps = begin_ps;
        }
    }

    /// The next packet to send. Changes nothing: it may be asked more than once.
    #[inline]
    pub(crate) fn next(&self, lane: u32, now_ps: u64, messages: &Pool<Message>) -> Next {
        let lane = &self.lanes[lane as usize];
        if lane.control[0] != NIL {
            return Next::Control(lane.control[0]);
        }
        if lane.tail == NIL {
            return Next::Idle;
        }
        if lane.pause_ps > now_ps {
            return Next::NotBefore(lane.pause_ps);
        }
        if lane.begin_ps <= now_ps {
            return Next::After(lane.tail);
        }
        let mut before = lane.tail;
        loop {
            if messages[messages[before].ring].begun {
                return Next::After(before);
            }
            before = messages[before].ring;
            if before == lane.tail {
                return Next::NotBefore(lane.begin_ps);
            }
        }
    }

    /// A packet of the message after `before` has been sent. Where that was its last, the next one
    /// of its queue pair, which has yet to [`Senders::enter`] the ring.
    #[inline]
    pub(crate) fn served(
        &mut self,
        lane: u32,
        before: u32,
        turn: Turn,
        messages: &mut Pool<Message>,
    ) -> Option<u32> {
        let lane = &mut self.lanes[lane as usize];
        let id = messages[before].ring;
        if turn == Turn::Comes && before == lane.tail {
            lane.tail = id;
            return None;
        }
        // Out of its place, and either to the end or out of the ring.
        let after = messages[id].ring;
        if after == id {
            lane.tail = NIL;
        } else {
            messages[before].ring = after;
            if lane.tail == id {
                lane.tail = before;
            }
        }
        if turn == Turn::Pauses {
            return None;
        }
        if turn == Turn::Comes {
            let first = messages[lane.tail].ring;
            messages[id].ring = first;
            messages[lane.tail].ring = id;
            lane.tail = id;
            return None;
        }
        let next = messages[id].next;
        if next == NIL {
            self.last.remove(&key_of(&messages[id]));
        }
        (next != NIL).then_some(next)
    }

    /// A message that was first of its queue pair and never [`Senders::enter`]ed the ring is over;
    /// the next one.
    pub(crate) fn over(&mut self, id: u32, messages: &Pool<Message>) -> Option<u32> {
        let next = messages[id].next;
        if next == NIL {
            self.last.remove(&key_of(&messages[id]));
        }
        (next != NIL).then_some(next)
    }

    /// No packet with payload leaves a lane before `pause_ps`.
    pub(crate) fn pause(&mut self, lane: u32, pause_ps: u64) {
        self.lanes[lane as usize].pause_ps = pause_ps;
    }

    /// Queue a packet without payload.
    pub(crate) fn queue_control(&mut self, lane: u32, id: u32, packets: &mut PacketPool) {
        let [head, tail] = &mut self.lanes[lane as usize].control;
        packets[id].next = NIL;
        if *head == NIL {
            *head = id;
        } else {
            packets[*tail].next = id;
        }
        *tail = id;
    }

    /// The first packet without payload has been sent.
    pub(crate) fn control_served(&mut self, lane: u32, packets: &PacketPool) {
        let head = &mut self.lanes[lane as usize].control[0];
        *head = packets[*head].next;
    }
}
