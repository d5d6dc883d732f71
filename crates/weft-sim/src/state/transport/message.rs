//! Messages: what endpoints cut into packets.

use crate::limits::NIL;
use crate::model::framing::PacketKind;

/// Some pieces of a GPU's slice.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) struct Segment {
    /// The number of its first piece among those under way.
    pub(crate) first: u16,
    pub(crate) n_pieces: u16,
    /// It takes the second tree.
    pub(crate) second: bool,
    /// All nodes have added to it.
    pub(crate) down: bool,
}

/// The purpose of a message.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub(crate) enum Role {
    /// User data, sent at once.
    #[default]
    Eager,
    /// A request to send the message of that number.
    Request(u32),
    /// A go-ahead for the message of that number.
    GoAhead(u32),
    /// User data after its go-ahead.
    Agreed,
    /// A piece of a message on one leg of its path through nodes: the number of its transfer.
    Leg(u32),
    /// A packet of a tree of switches.
    Tree {
        kind: PacketKind,
        /// Its number among those under way, and above it the member it is summed for.
        operation: u32,
        /// Bytes on the wire.
        bytes: u16,
        /// It is part of a stream.
        streams: bool,
    },
    /// A segment of a node's sum, from GPU to GPU.
    Sum(Segment),
}

impl Role {
    /// Whether it only serves to agree on another message.
    pub(crate) fn is_agreement(self) -> bool {
        matches!(self, Role::Request(_) | Role::GoAhead(_))
    }

    /// Whether it goes to switches, and no rank matches it.
    pub(crate) fn is_of_tree(self) -> bool {
        matches!(self, Role::Tree { .. })
    }
}

#[derive(Clone, Copy, Debug, Default)]
pub(crate) struct Message {
    pub(crate) src: u32,
    pub(crate) dst: u32,
    pub(crate) dst_hca: u32,
    pub(crate) size_bytes: u64,
    pub(crate) role: Role,
    pub(crate) regime: u8,
    /// What its receive is found by: the sender, or a channel.
    pub(crate) key: u32,
    /// The outcome's row it completes, or NIL.
    pub(crate) row: u32,
    /// Its row among the flows, or NIL.
    pub(crate) flow: u32,
    pub(crate) start_ps: u64,
    /// Its first packet leaves no earlier.
    pub(crate) ready_ps: u64,
    pub(crate) begun: bool,
    pub(crate) sent_bytes: u64,
    pub(crate) received_bytes: u64,
    /// Packets that were overtaken, where they are numbered.
    pub(crate) n_late: u32,
    /// The endpoint it goes to, where nodes have an inside.
    pub(crate) dst_vertex: u32,
    /// Its leg and stripe among its pair's messages: each is a queue pair of its own.
    pub(crate) part: u16,
    /// The endpoint's port it is injected at.
    pub(crate) port: u32,
    pub(crate) service_level: u8,
    /// The virtual lane of its service level.
    pub(crate) lane: u8,
    /// Its queue pair among those that congestion control spaces.
    pub(crate) pace: u32,
    /// The key of its queue pair among others of its rank: where it goes, or its initiator.
    pub(crate) queue: u32,
    /// The next message of its queue pair.
    pub(crate) next: u32,
    /// The next queue pair whose turn it is, by its first message.
    pub(crate) ring: u32,
}

impl Message {
    /// A message that has not been sent; its port and lane are for the sender to say.
    pub(crate) fn new(src: u32, dst: u32, dst_hca: u32, size_bytes: u64, role: Role) -> Message {
        Message {
            src,
            dst,
            dst_hca,
            size_bytes,
            role,
            key: src,
            row: NIL,
            flow: NIL,
            dst_vertex: NIL,
            port: NIL,
            pace: NIL,
            queue: dst,
            next: NIL,
            ring: NIL,
            ..Message::default()
        }
    }
}

/// A packet without payload that a transport sends to its peer.
#[derive(Clone, Copy, Debug)]
pub(crate) struct Control {
    pub(crate) dst: u32,
    pub(crate) lane: u8,
    pub(crate) kind: PacketKind,
    /// Its meaning is that of the kind; given back on arrival.
    pub(crate) message: u32,
    /// The same; [`PacketPool::argument`].
    pub(crate) argument: u32,
    /// It also notifies the queue pair of its argument.
    pub(crate) becn: bool,
}

/// Where messages are flows, they have no packets to count and take no turns: the places of these
/// hold other things.
impl Message {
    /// Until then something without payload leaves before it.
    pub(crate) fn clear_ps(&self) -> u64 {
        self.sent_bytes
    }

    pub(crate) fn set_clear_ps(&mut self, time_ps: u64) {
        self.sent_bytes = time_ps;
    }

    /// Once it has begun: when all of it will have come, as far as is known.
    pub(crate) fn come_ps(&self) -> u64 {
        self.sent_bytes
    }

    pub(crate) fn set_come_ps(&mut self, time_ps: u64) {
        self.sent_bytes = time_ps;
    }

    /// Its number among those its rank has sent.
    pub(crate) fn turn(&self) -> u32 {
        self.n_late
    }

    pub(crate) fn set_turn(&mut self, turn: u32) {
        self.n_late = turn;
    }

    /// Its flow, while that is under way.
    pub(crate) fn transit(&self) -> u32 {
        self.ring
    }

    pub(crate) fn set_transit(&mut self, flow: u32) {
        self.ring = flow;
    }
}
