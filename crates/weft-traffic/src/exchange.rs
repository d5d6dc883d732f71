//! One move of a rank: a receive and a send posted together, and whether it then waits.

/// The blocks of the buffer that a transfer carries; a simulation needs only the size, tests follow
/// the blocks.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Blocks {
    /// No user data (a barrier, an acknowledgement) or data that is not followed.
    None,
    /// The whole buffer.
    All,
    /// `count` blocks from `first` on, going round after the last.
    Range {
        /// First block.
        first: u32,
        /// How many.
        count: u32,
    },
    /// Alltoall: all the sender has for ranks `first`, `first + step`, ...
    Destinations {
        /// First destination.
        first: u32,
        /// From one to the next.
        step: u32,
    },
    /// Not followed: a message of this channel. Messages and receives of one channel meet in order,
    /// whatever other messages there are between the two ranks.
    Channel(u32),
    /// Bruck: the blocks whose place, counted from the rank's own, has this bit set.
    Bit(u32),
}

/// A message to or from one peer.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Transfer {
    /// The rank at the other end.
    pub peer: u32,
    /// Size of the message.
    pub size_bytes: u64,
    /// Its blocks.
    pub blocks: Blocks,
}

/// The wait of a rank after a move, before the next one.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub enum Wait {
    /// Nothing.
    #[default]
    No,
    /// Until all its sends and receives are complete.
    All,
    /// Until at most so many of its receives and sends are not.
    AtMost {
        /// Receives.
        receives: u32,
        /// Sends.
        sends: u32,
    },
    /// Until so many of its receives of this channel are complete.
    Received {
        /// The channel.
        channel: u32,
        /// Receives.
        n: u32,
    },
    /// `All`, and then until every rank of the tenant has come this far (an ideal barrier).
    Together,
}

/// The work of switches on the buffers of a collective.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum OffloadKind {
    /// Add them up, and give the sum to all members.
    Sum,
    /// Copy the one of the member that contributes to all others.
    Copy,
    /// Add them up slice by slice, one for each GPU of a node, which passes it on to the others.
    Slices(Between),
}

/// The use of a slice of a node's sum before it is passed on.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Between {
    /// Nothing: there is one node.
    Nothing,
    /// Switches add it to those of other nodes.
    Switches,
    /// GPUs add it to those of other nodes, along two binary trees ([`crate::neighbours`]), in
    /// segments that take them in turn.
    Trees {
        /// Largest segment.
        segment_bytes: u64,
    },
}

/// A part in a collective that switches carry out. All members of a group (a rank on each node of
/// the tenant) take part in the same ones in the same order.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Offload {
    /// The work of the switches.
    pub kind: OffloadKind,
    /// Size of the buffer.
    pub size_bytes: u64,
    /// Whether this rank has data of its own; the others add nothing to a sum.
    pub contributes: bool,
    /// Ranks of its node it speaks for.
    pub n_tasks: u32,
}

/// Compute, post the receive, start the send, then wait as `wait` says.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub struct Exchange {
    /// Processor time before anything else.
    pub compute_ps: u64,
    /// The receive to post.
    pub recv: Option<Transfer>,
    /// The send to start.
    pub send: Option<Transfer>,
    /// The collective of the switches to take part in.
    pub offload: Option<Offload>,
    /// The wait afterwards.
    pub wait: Wait,
    /// Do nothing before this time, counted from the start of the phase.
    pub not_before_ps: u64,
}

impl Exchange {
    /// Send, then wait.
    pub fn send(transfer: Transfer) -> Exchange {
        Exchange { send: Some(transfer), wait: Wait::All, ..Exchange::default() }
    }

    /// Receive, then wait.
    pub fn recv(transfer: Transfer) -> Exchange {
        Exchange { recv: Some(transfer), wait: Wait::All, ..Exchange::default() }
    }

    /// Send and receive at the same time, then wait.
    pub fn both(send: Transfer, recv: Transfer) -> Exchange {
        Exchange { send: Some(send), recv: Some(recv), wait: Wait::All, ..Exchange::default() }
    }

    /// Take part in a collective of the switches, then wait for its result.
    pub fn offload(offload: Offload) -> Exchange {
        Exchange { offload: Some(offload), wait: Wait::All, ..Exchange::default() }
    }

    /// The same with peers under other numbers.
    pub fn with_peers(self, number: impl Fn(u32) -> u32) -> Exchange {
        let renamed = |transfer: Transfer| Transfer { peer: number(transfer.peer), ..transfer };
        Exchange { recv: self.recv.map(&renamed), send: self.send.map(&renamed), ..self }
    }

    /// The same without the wait.
    pub fn without_wait(self) -> Exchange {
        Exchange { wait: Wait::No, ..self }
    }
}
