//! Leaders of nodes take part in what switches carry out.
//!
//! A leader's processor posts the packet of an operation and takes its result at the costs of a
//! message of that size, and has as many operations under way as the model says.

use super::{InNetwork, OffloadColumns};
use crate::hosts::Hosts;
use crate::message::{Message, Role};
use crate::packet::{NIL, Packet};
use weft_traffic::{Offload, Phase};

/// How far a member is.
#[derive(Clone, Copy, Debug, Default)]
struct Part {
    size_bytes: u64,
    /// Operations its buffer is cut into, those posted, and those whose result was taken.
    n_segments: u64,
    n_posted: u64,
    n_taken: u64,
    /// Results that await the processor.
    n_come: u64,
    /// Operations of all its buffers before this one.
    n_before: u64,
}

/// Leaders that take part, by member.
#[derive(Debug, Default)]
pub(crate) struct Members {
    parts: Vec<Part>,
    /// Who carried out what.
    pub(crate) offloads: OffloadColumns,
}

impl Members {
    pub(crate) fn new(plan: Option<&InNetwork>) -> Members {
        let n = plan.map_or(0, |plan| plan.forest.members.len());
        Members { parts: vec![Part::default(); n], ..Members::default() }
    }
}

impl<const PLAIN: bool> Hosts<'_, PLAIN> {
    /// The member that a rank is; NIL for none.
    pub(crate) fn member_of(&self, rank: u32) -> u32 {
        let plan = self.network.scenario.in_network.as_ref();
        plan.map_or(NIL, |plan| plan.member_of[rank as usize])
    }

    /// A number that changes whenever a rank takes a result from switches.
    pub(crate) fn progress_of(&self, rank: u32) -> u64 {
        let part = self.members.parts.get(self.member_of(rank) as usize);
        part.map_or(0, |part| part.n_before + part.n_taken)
    }

    /// A phase of a tenant as it will be carried out: by ranks alone where switches do not.
    pub(crate) fn with_switches(&mut self, tenant: u32, phase: Phase) -> Phase {
        let Some(plan) = &self.network.scenario.in_network else { return phase };
        let Some(offload) = phase.offload() else { return phase };
        let how = plan.mode_of(tenant, &offload);
        let carried_out = how.is_ok();
        self.members.offloads.push(tenant, phase.step, how);
        if carried_out { phase } else { phase.on_hosts() }
    }

    /// A rank takes part in a collective of the switches; its processor sees to its node first.
    #[cold]
    pub(crate) fn begin_part(&mut self, number: u32, offload: Offload) {
        let model = self.network.in_network().model;
        let member = self.member_of(number);
        let part = &mut self.members.parts[member as usize];
        *part = Part {
            size_bytes: offload.size_bytes,
            n_segments: model.n_segments(offload.size_bytes),
            n_before: part.n_before + part.n_taken,
            ..Part::default()
        };
        let tasks_ps = model.task_ps.saturating_mul(u64::from(offload.n_tasks - 1));
        let cost_ps = self.processor_time(number, tasks_ps);
        let rank = &mut self.ranks[number as usize];
        rank.outstanding += 1;
        rank.free_ps = self.network.now_ps + cost_ps;
    }

    /// Let a rank's processor post an operation or take a result; whether there was one.
    #[cold]
    pub(crate) fn goes_on_with_part(&mut self, number: u32) -> bool {
        let member = self.member_of(number);
        let Some(part) = self.members.parts.get(member as usize).copied() else { return false };
        let window = u64::from(self.network.in_network().model.outstanding);
        if part.n_posted < part.n_segments && part.n_posted - part.n_taken < window {
            self.post_segment(number, member);
            return true;
        }
        if part.n_come > 0 {
            self.take_segment(number, member);
        }
        part.n_come > 0
    }

    /// Spend the processor time of a segment; then it is handed over like any message.
    fn post_segment(&mut self, number: u32, member: u32) {
        let scenario = self.network.scenario;
        let plan = self.network.in_network();
        let part = &mut self.members.parts[member as usize];
        let size_bytes = plan.model.segment_bytes(part.size_bytes, part.n_posted);
        let operation = (part.n_before + part.n_posted) % u64::from(plan.model.outstanding);
        part.n_posted += 1;
        let junction = plan.forest.members[member as usize].junction;
        let role = Role::Segment(operation as u32);
        let mut message = Message::new(number, number, junction, size_bytes, role);
        message.regime = scenario.hosts.regime_of(size_bytes);
        self.address(&mut message);
        let send_ps = scenario.hosts.regime(message.regime).send_ps(size_bytes);
        let cost_ps = self.processor_time(number, send_ps);
        let id = self.network.messages.add(message);
        let rank = &mut self.ranks[number as usize];
        rank.free_ps = self.network.now_ps + cost_ps;
        rank.preparing = id;
    }

    /// The processor turns to the result of an operation.
    fn take_segment(&mut self, number: u32, member: u32) {
        let scenario = self.network.scenario;
        let part = &mut self.members.parts[member as usize];
        let size_bytes =
            self.network.in_network().model.segment_bytes(part.size_bytes, part.n_taken);
        part.n_come -= 1;
        part.n_taken += 1;
        let done = part.n_taken == part.n_segments;
        let regime = scenario.hosts.regime_of(size_bytes);
        let recv_ps = scenario.hosts.regime(regime).recv_ps(size_bytes);
        let cost_ps = self.processor_time(number, recv_ps);
        let rank = &mut self.ranks[number as usize];
        rank.free_ps = self.network.now_ps + cost_ps;
        rank.outstanding -= u32::from(done);
    }

    /// A result has come to the endpoint of a member.
    #[cold]
    pub(crate) fn result_arrived(&mut self, packet: Packet) {
        let rank = self.network.in_network().forest.members[packet.dst as usize].rank;
        self.members.parts[packet.dst as usize].n_come += 1;
        let now_ps = self.network.now_ps;
        self.wake(rank, now_ps);
    }
}
