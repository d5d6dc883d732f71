//! Messages, and the send queues of an HCA.

use crate::packet::NIL;
use std::collections::{HashMap, VecDeque};

/// What a message is for.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) enum Role {
    /// User data, sent at once.
    Eager,
    /// A request to send the message of that number.
    Request(u32),
    /// A go-ahead for the message of that number.
    GoAhead(u32),
    /// User data after its go-ahead.
    Agreed,
}

#[derive(Clone, Copy, Debug)]
pub(crate) struct Message {
    pub(crate) src: u32,
    pub(crate) dst: u32,
    pub(crate) dst_hca: u32,
    pub(crate) size_bytes: u64,
    pub(crate) role: Role,
    pub(crate) regime: u8,
    /// The outcome's row it completes, or NIL.
    pub(crate) row: u32,
    pub(crate) start_ps: u64,
    /// Its first packet leaves no earlier.
    pub(crate) ready_ps: u64,
    pub(crate) begun: bool,
    pub(crate) sent_bytes: u64,
    pub(crate) received_bytes: u64,
}

impl Message {
    /// A message that has not been sent.
    pub(crate) fn new(src: u32, dst: u32, dst_hca: u32, size_bytes: u64, role: Role) -> Message {
        Message {
            src,
            dst,
            dst_hca,
            size_bytes,
            role,
            regime: 0,
            row: NIL,
            start_ps: 0,
            ready_ps: 0,
            begun: false,
            sent_bytes: 0,
            received_bytes: 0,
        }
    }
}

/// Messages not yet received, their numbers used again.
#[derive(Debug, Default)]
pub(crate) struct MessagePool {
    messages: Vec<Message>,
    free: Vec<u32>,
}

impl MessagePool {
    pub(crate) fn add(&mut self, message: Message) -> u32 {
        if let Some(id) = self.free.pop() {
            self.messages[id as usize] = message;
            return id;
        }
        self.messages.push(message);
        self.messages.len() as u32 - 1
    }

    pub(crate) fn remove(&mut self, id: u32) -> Message {
        self.free.push(id);
        self.messages[id as usize]
    }
}

impl std::ops::Index<u32> for MessagePool {
    type Output = Message;

    fn index(&self, id: u32) -> &Message {
        &self.messages[id as usize]
    }
}

impl std::ops::IndexMut<u32> for MessagePool {
    fn index_mut(&mut self, id: u32) -> &mut Message {
        &mut self.messages[id as usize]
    }
}

/// The send side of an HCA: a queue pair for every two ranks that talk, served round robin packet
/// by packet; messages of one queue pair stay in order.
#[derive(Debug, Default)]
pub(crate) struct SendQueues {
    queue_pairs: Vec<VecDeque<u32>>,
    numbers: HashMap<(u32, u32), u32>,
    /// Queue pairs with something to send, next to be served first.
    ring: VecDeque<u32>,
    /// No message may begin before.
    gap_until_ps: u64,
}

/// What an HCA can send now.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) enum Next {
    /// Nothing.
    Idle,
    /// Nothing before that time.
    NotBefore(u64),
    /// A packet of that message, whose queue pair is at that place of the ring.
    Message(u32, usize),
}

impl SendQueues {
    pub(crate) fn is_idle(&self) -> bool {
        self.ring.is_empty()
    }

    pub(crate) fn add(&mut self, id: u32, message: &Message) {
        let fresh = self.queue_pairs.len() as u32;
        let number = *self.numbers.entry((message.src, message.dst)).or_insert(fresh);
        if number == fresh {
            self.queue_pairs.push(VecDeque::new());
        }
        let queue = &mut self.queue_pairs[number as usize];
        if queue.is_empty() {
            self.ring.push_back(number);
        }
        queue.push_back(id);
    }

    /// The next message to send a packet of. Changes nothing: it may be asked more than once.
    pub(crate) fn next(&self, now_ps: u64, messages: &MessagePool) -> Next {
        if self.ring.is_empty() {
            return Next::Idle;
        }
        let mut first_ps = u64::MAX;
        for (place, number) in self.ring.iter().enumerate() {
            let id = self.queue_pairs[*number as usize][0];
            let message = &messages[id];
            let from_ps = self.gap_until_ps.max(message.ready_ps);
            if message.begun || from_ps <= now_ps {
                return Next::Message(id, place);
            }
            first_ps = first_ps.min(from_ps);
        }
        Next::NotBefore(first_ps)
    }

    /// A packet of the message at `place` of the ring has been sent.
    pub(crate) fn served(&mut self, place: usize, finished: bool) {
        let number = self.ring.remove(place).expect("the place that `next` gave");
        let queue = &mut self.queue_pairs[number as usize];
        if finished {
            queue.pop_front();
        }
        if !queue.is_empty() {
            self.ring.push_back(number);
        }
    }

    /// A message has begun: the next begins a gap later.
    pub(crate) fn begun(&mut self, now_ps: u64, gap_ps: u64) {
        self.gap_until_ps = now_ps + gap_ps;
    }
}
