//! Leaders of nodes take part in what switches carry out.
//!
//! Operation by operation, and datagram by datagram, a leader's processor posts each piece and
//! takes each result at the costs of a message of that size. Of a stream it sees beginning and end:
//! the HCA sends another packet when the result of an earlier one has come.

use super::claims::Claims;
use super::{CarriedOut, InNetwork, OffloadColumns};
use crate::document::SatLock;
use crate::hosts::Hosts;
use crate::message::{Message, Role};
use crate::packet::{NIL, Packet, STREAM};
use weft_fabric::PortId;
use weft_traffic::{Offload, Phase};

/// How far a member is.
#[derive(Clone, Copy, Debug)]
struct Part {
    way: CarriedOut,
    size_bytes: u64,
    /// It has data of its own.
    contributes: bool,
    /// Pieces its buffer is cut into, those posted, and those whose result was taken.
    n_pieces: u64,
    n_posted: u64,
    n_taken: u64,
    /// Results that await the processor.
    n_come: u64,
    /// Pieces of all its buffers before this one.
    n_before: u64,
}

const IDLE: Part = Part {
    way: CarriedOut::Hosts,
    size_bytes: 0,
    contributes: false,
    n_pieces: 0,
    n_posted: 0,
    n_taken: 0,
    n_come: 0,
    n_before: 0,
};

/// Leaders that take part, by member.
#[derive(Debug, Default)]
pub(crate) struct Members {
    parts: Vec<Part>,
    claims: Claims,
    /// Who carried out what.
    pub(crate) offloads: OffloadColumns,
}

impl Members {
    pub(crate) fn new(plan: Option<&InNetwork>) -> Members {
        let n = plan.map_or(0, |plan| plan.forest.members.len());
        Members { parts: vec![IDLE; n], ..Members::default() }
    }

    /// A tenant's step is over.
    pub(crate) fn step_is_over(&mut self, tenant: u32) {
        self.claims.give_back(tenant);
    }
}

impl<const PLAIN: bool> Hosts<'_, PLAIN> {
    /// The member that a rank is; NIL for none.
    fn member_of(&self, rank: u32) -> u32 {
        let plan = self.network.scenario.in_network.as_ref();
        plan.map_or(NIL, |plan| plan.member_of[rank as usize])
    }

    /// A number that changes whenever a rank takes a result from switches.
    pub(crate) fn progress_of(&self, rank: u32) -> u64 {
        let part = self.members.parts.get(self.member_of(rank) as usize);
        part.map_or(0, |part| part.n_before + part.n_posted + part.n_taken)
    }

    /// A phase of a tenant as it will be carried out: by ranks alone where switches do not.
    pub(crate) fn with_switches(&mut self, tenant: u32, phase: Phase) -> Phase {
        let Some(plan) = &self.network.scenario.in_network else { return phase };
        let Some(offload) = phase.offload() else { return phase };
        let way = plan.way_of(tenant, &offload).and_then(|way| self.claim(tenant, way));
        let carried_out = way.is_ok();
        self.members.offloads.push(tenant, phase.step, way);
        if carried_out { phase } else { phase.on_hosts() }
    }

    /// Take what a way needs for itself, or say who has it.
    fn claim(&mut self, tenant: u32, way: CarriedOut) -> Result<CarriedOut, String> {
        let plan = self.network.in_network();
        let Some(sat) = plan.model.sat.filter(|_| way == CarriedOut::Stream) else {
            return Ok(way);
        };
        let taken = self.members.claims.take(plan, sat.lock, tenant);
        let refused = taken.err().map(|(part, other)| {
            let fabric = self.network.fabric();
            let name = match sat.lock {
                SatLock::Switch => &fabric.vertices[part as usize].name,
                SatLock::Port => &fabric.port_name(PortId(part)),
            };
            let other = &self.network.scenario.tenants[other as usize].name;
            format!("'{name}' streams for tenant '{other}' and for nobody else")
        });
        refused.map_or(Ok(way), Err)
    }

    /// A rank takes part in a collective of the switches; its processor sees to its node first.
    #[cold]
    pub(crate) fn begin_part(&mut self, number: u32, offload: Offload) {
        let (member, model) = (self.member_of(number), self.network.in_network().model);
        let way = model.way_of(&offload).expect("the phase was looked at when it began");
        let part = &mut self.members.parts[member as usize];
        *part = Part {
            way,
            size_bytes: offload.size_bytes,
            contributes: offload.contributes,
            n_pieces: model.cut(way).n_pieces(offload.size_bytes),
            n_before: part.n_before + part.n_pieces,
            // Who copies waits for nobody: some of it may have come.
            n_come: part.n_come,
            ..IDLE
        };
        let mut cost_ps = model.task_ps.saturating_mul(u64::from(offload.n_tasks - 1));
        if way == CarriedOut::Stream {
            let hosts = &self.network.scenario.hosts;
            let regime = hosts.regime(hosts.regime_of(offload.size_bytes));
            cost_ps = cost_ps.saturating_add(regime.send_ps(offload.size_bytes));
        }
        let cost_ps = self.processor_time(number, cost_ps);
        let rank = &mut self.ranks[number as usize];
        rank.outstanding += 1;
        rank.free_ps = self.network.now_ps + cost_ps;
    }

    /// Let a rank's processor post a piece or take a result; whether there was one.
    #[cold]
    pub(crate) fn goes_on_with_part(&mut self, number: u32) -> bool {
        let member = self.member_of(number);
        let Some(part) = self.members.parts.get(member as usize).copied() else { return false };
        let outstanding = u64::from(self.network.in_network().model.cut(part.way).outstanding);
        let to_post = part.n_posted < part.n_pieces;
        let to_take = part.n_come > 0 && part.n_taken < part.n_pieces;
        match part.way {
            CarriedOut::Operations if to_post && part.n_posted - part.n_taken < outstanding => {
                self.post_piece(number, member);
            }
            CarriedOut::Multicast if to_post && part.contributes => {
                self.post_piece(number, member);
                self.ranks[number as usize].outstanding -=
                    u32::from(part.n_posted + 1 == part.n_pieces);
            }
            CarriedOut::Operations | CarriedOut::Multicast
                if to_take && !self.only_gives(&part) =>
            {
                self.take_piece(number, member);
            }
            CarriedOut::Stream if part.n_posted == 0 && to_post => {
                self.begin_stream(number, member);
            }
            CarriedOut::Stream if part.n_come > 0 => self.end_stream(number, member),
            _ => return false,
        }
        true
    }

    fn only_gives(&self, part: &Part) -> bool {
        part.way == CarriedOut::Multicast && part.contributes
    }

    /// A message for the next piece of a member's buffer.
    fn next_piece(&mut self, number: u32, member: u32) -> Message {
        let plan = self.network.in_network();
        let part = &mut self.members.parts[member as usize];
        let size_bytes = plan.model.cut(part.way).piece_bytes(part.size_bytes, part.n_posted);
        let operation = (part.n_before + part.n_posted) % u64::from(plan.model.window());
        let role = match part.way {
            CarriedOut::Multicast => Role::Datagram,
            _ => Role::Segment {
                operation: operation as u32,
                streams: part.way == CarriedOut::Stream,
            },
        };
        part.n_posted += 1;
        let junction = plan.forest.members[member as usize].junction;
        let mut message = Message::new(number, number, junction, size_bytes, role);
        message.regime = self.network.scenario.hosts.regime_of(size_bytes);
        self.address(&mut message);
        message
    }

    /// Spend the processor time of a piece; then it is handed over like any message.
    fn post_piece(&mut self, number: u32, member: u32) {
        let message = self.next_piece(number, member);
        let costs = self.network.scenario.hosts.regime(message.regime);
        let cost_ps = self.processor_time(number, costs.send_ps(message.size_bytes));
        let id = self.network.messages.add(message);
        let rank = &mut self.ranks[number as usize];
        rank.free_ps = self.network.now_ps + cost_ps;
        rank.preparing = id;
    }

    /// The processor turns to the result of a piece.
    fn take_piece(&mut self, number: u32, member: u32) {
        let cut = self.network.in_network().model.cut(self.members.parts[member as usize].way);
        let part = &mut self.members.parts[member as usize];
        let size_bytes = cut.piece_bytes(part.size_bytes, part.n_taken);
        part.n_come -= 1;
        part.n_taken += 1;
        let done = part.n_taken == part.n_pieces;
        self.receive_part(number, size_bytes, done);
    }

    /// The processor spends the time of a receive of so many bytes.
    fn receive_part(&mut self, number: u32, size_bytes: u64, done: bool) {
        let hosts = &self.network.scenario.hosts;
        let recv_ps = hosts.regime(hosts.regime_of(size_bytes)).recv_ps(size_bytes);
        let cost_ps = self.processor_time(number, recv_ps);
        let rank = &mut self.ranks[number as usize];
        rank.free_ps = self.network.now_ps + cost_ps;
        rank.outstanding -= u32::from(done);
    }

    /// The HCA has a buffer to stream, a gap after the rank's message before and a latency later.
    fn begin_stream(&mut self, number: u32, member: u32) {
        let part = self.members.parts[member as usize];
        let regime = self.network.scenario.hosts.regime_of(part.size_bytes);
        let ready_ps = self.ready_ps(number, regime, part.size_bytes);
        let outstanding = self.network.in_network().model.cut(part.way).outstanding;
        for _ in 0..part.n_pieces.min(outstanding.into()) {
            self.stream_on(number, member, ready_ps);
        }
    }

    /// Another packet of a stream; only the first is a message to the HCA's gap.
    fn stream_on(&mut self, number: u32, member: u32, ready_ps: u64) {
        let mut message = self.next_piece(number, member);
        message.ready_ps = ready_ps;
        message.begun = self.members.parts[member as usize].n_posted > 1;
        let id = self.network.messages.add(message);
        self.network.send(id);
    }

    /// The processor learns that all of a stream has come.
    fn end_stream(&mut self, number: u32, member: u32) {
        let part = &mut self.members.parts[member as usize];
        part.n_come = 0;
        let size_bytes = part.size_bytes;
        self.receive_part(number, size_bytes, true);
    }

    /// A packet of a tree has come to the endpoint of a member.
    #[cold]
    pub(crate) fn result_arrived(&mut self, packet: Packet) {
        let member = packet.dst;
        let rank = self.network.in_network().forest.members[member as usize].rank;
        let now_ps = self.network.now_ps;
        let part = &mut self.members.parts[member as usize];
        if packet.has(STREAM) {
            part.n_taken += 1;
            let (more, whole) = (part.n_posted < part.n_pieces, part.n_taken == part.n_pieces);
            part.n_come += u64::from(whole);
            if more {
                return self.stream_on(rank, member, now_ps);
            }
            if !whole {
                return;
            }
        } else {
            part.n_come += 1;
        }
        self.wake(rank, now_ps);
    }
}
