//! A port's egress: its link, its credits, the inputs waiting for it, its counters.

use crate::packet::NIL;
use std::collections::VecDeque;
use weft_fabric::{BitsPerSecond, Fabric, PortId, units::PS_PER_S};

/// Never.
pub(crate) const NEVER: u64 = u64::MAX;

/// Credits on their way back: usable from `time_ps` on.
#[derive(Clone, Copy, Debug)]
struct Refund {
    time_ps: u64,
    blocks: u32,
}

/// What a port has done, under InfiniBand's names for it.
#[derive(Clone, Copy, Debug, Default)]
pub(crate) struct Counters {
    pub(crate) xmit_bytes: u64,
    pub(crate) xmit_packets: u64,
    /// Time with something to send, a free link and no credit.
    pub(crate) xmit_wait_ps: u64,
}

/// Credits of one virtual lane. There is one lane today; a second is a second of these.
#[derive(Clone, Debug)]
pub(crate) struct Lane {
    /// Blocks free in the buffer at the other end, as far as this end knows.
    credits: i64,
    full: i64,
    /// Sorted by time.
    refunds: VecDeque<Refund>,
    /// Blocks that the packet whose turn it is lacks credit for; 0 if it lacks none.
    pub(crate) need: u32,
    /// The credit event that will wake it.
    pub(crate) wake_ps: u64,
    blocked_since_ps: u64,
    /// Inputs waiting for this egress, first to be served first: the round robin.
    pub(crate) ring: VecDeque<u32>,
    /// By input, the packets that wait; empty until the first does: most ports of a large switch
    /// never see one.
    slots: Vec<Slot>,
}

/// A queue of one input for one output: a list through the packets.
#[derive(Clone, Copy, Debug)]
pub(crate) struct Slot {
    pub(crate) head: u32,
    pub(crate) tail: u32,
}

const EMPTY: Slot = Slot { head: NIL, tail: NIL };

#[derive(Clone, Debug)]
pub(crate) struct Egress {
    pub(crate) vertex: u32,
    pub(crate) peer: u32,
    pub(crate) rate: BitsPerSecond,
    /// Picoseconds a bit where that is a whole number, else 0.
    ps_per_bit: u64,
    pub(crate) delay_ps: u64,
    /// Number of this port among those of its vertex.
    pub(crate) local: u32,
    /// How many ports its vertex has.
    n_ports: u32,
    busy_from_ps: u64,
    busy_bits: u64,
    pub(crate) busy_until_ps: u64,
    /// The kick that is due, so that there is only one.
    pub(crate) kick_ps: u64,
    pub(crate) lane: Lane,
    pub(crate) counters: Counters,
}

impl Egress {
    pub(crate) fn new(fabric: &Fabric, id: PortId, full: Option<u64>) -> Egress {
        let port = fabric.ports[id.index()];
        let rate = port.rate;
        let whole = rate.0 != 0 && PS_PER_S.is_multiple_of(rate.0);
        let full = full.map_or(i64::MAX / 2, |blocks| blocks as i64);
        Egress {
            vertex: port.vertex.0,
            peer: port.peer.map_or(NIL, |peer| peer.0),
            rate,
            ps_per_bit: if whole { PS_PER_S / rate.0 } else { 0 },
            delay_ps: port.delay.0,
            local: id.0 - fabric.vertices[port.vertex.index()].first_port.0,
            n_ports: fabric.vertices[port.vertex.index()].n_ports,
            busy_from_ps: 0,
            busy_bits: 0,
            busy_until_ps: 0,
            kick_ps: NEVER,
            lane: Lane {
                credits: full,
                full,
                refunds: VecDeque::new(),
                need: 0,
                wake_ps: NEVER,
                blocked_since_ps: NEVER,
                ring: VecDeque::new(),
                slots: Vec::new(),
            },
            counters: Counters::default(),
        }
    }

    /// The queue of packets from an input.
    pub(crate) fn slot(&mut self, input: u32) -> &mut Slot {
        if self.lane.slots.is_empty() {
            self.lane.slots = vec![EMPTY; self.n_ports as usize];
        }
        &mut self.lane.slots[input as usize]
    }

    /// Time to send `n_bits` on this link.
    pub(crate) fn duration_ps(&self, n_bits: u64) -> u64 {
        if self.ps_per_bit != 0 {
            return self.ps_per_bit * n_bits;
        }
        self.rate.duration_of_bits(n_bits).0
    }

    /// Put a packet on the link now, against its credit; the time its tail has left.
    pub(crate) fn transmit(&mut self, now_ps: u64, wire_bytes: u32, blocks: u32) -> u64 {
        assert!(self.busy_until_ps <= now_ps, "one packet at a time on a link");
        let lane = &mut self.lane;
        lane.credits -= i64::from(blocks);
        assert!(lane.credits >= 0, "lossless: no packet moves without credit");
        lane.need = 0;
        if lane.blocked_since_ps != NEVER {
            self.counters.xmit_wait_ps += now_ps - lane.blocked_since_ps;
            lane.blocked_since_ps = NEVER;
        }
        if self.busy_until_ps < now_ps {
            (self.busy_from_ps, self.busy_bits) = (now_ps, 0);
        }
        // INVARIANT: the end is rounded once from all bits since the link became busy, so a rate
        // that is no whole number of picoseconds a bit accumulates no error.
        self.busy_bits += u64::from(wire_bytes) * 8;
        self.busy_until_ps = self.busy_from_ps + self.duration_ps(self.busy_bits);
        self.counters.xmit_bytes += u64::from(wire_bytes);
        self.counters.xmit_packets += 1;
        self.busy_until_ps
    }
}

impl Lane {
    /// Take in the credits that are back by now.
    pub(crate) fn settle(&mut self, now_ps: u64) {
        while self.refunds.front().is_some_and(|refund| refund.time_ps <= now_ps) {
            let refund = self.refunds.pop_front().expect("just seen");
            self.credits += i64::from(refund.blocks);
        }
        assert!(self.credits <= self.full, "no credit is made from nothing");
    }

    /// Whether there is credit for `blocks`. Where there is not, the grant sticks: the packet whose
    /// turn it is keeps it, so that small packets do not pass a large one for ever.
    pub(crate) fn grant(&mut self, now_ps: u64, blocks: u32) -> bool {
        self.settle(now_ps);
        if self.credits >= i64::from(blocks) {
            return true;
        }
        self.need = blocks;
        if self.blocked_since_ps == NEVER {
            self.blocked_since_ps = now_ps;
        }
        false
    }

    /// Still short of credit for the packet whose turn it is?
    pub(crate) fn starved(&mut self, now_ps: u64) -> bool {
        if self.need == 0 {
            return false;
        }
        self.settle(now_ps);
        self.credits < i64::from(self.need)
    }

    /// Credits come back at `time_ps`. Mixed rates may let a later packet finish first, so the
    /// list is kept sorted.
    pub(crate) fn refund(&mut self, now_ps: u64, time_ps: u64, blocks: u32) {
        self.settle(now_ps);
        let at = self.refunds.partition_point(|refund| refund.time_ps <= time_ps);
        self.refunds.insert(at, Refund { time_ps, blocks });
    }

    /// Credits are back at once: how a buffer without limit behaves.
    pub(crate) fn give_back(&mut self, blocks: u32) {
        self.credits += i64::from(blocks);
    }

    /// When enough of the credits on their way will be there; none if they are not on their way.
    pub(crate) fn enough_at(&self) -> Option<u64> {
        let mut credits = self.credits;
        self.refunds.iter().find_map(|refund| {
            credits += i64::from(refund.blocks);
            (credits >= i64::from(self.need)).then_some(refund.time_ps)
        })
    }

    /// Whether every credit is back, once all that is under way has arrived.
    pub(crate) fn is_whole(&mut self) -> bool {
        self.settle(NEVER);
        self.credits == self.full
    }
}
