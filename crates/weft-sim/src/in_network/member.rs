//! Leaders of nodes take part in what switches carry out.
//!
//! Operation by operation, and datagram by datagram, a leader's processor posts each piece and
//! takes each result at the costs of a message of that size. Of a stream it sees beginning and end:
//! the HCA sends another packet when the result of an earlier one has come.

use crate::document::SatLock;
use crate::host::hosts::Hosts;
use crate::in_network::members::{IDLE, MemberProgress};
use crate::in_network::switches::Switches;
use crate::model::framing::PacketKind;
use crate::model::in_network::collective_method::CollectiveMethod;
use crate::model::in_network::forest::{NUMBER, Part};
use crate::state::packet::{Packet, STREAM};
use crate::state::transport::message::{Message, Role};
use weft_fabric::PortId;
use weft_traffic::{Between, Offload, OffloadKind, Phase};

impl Hosts<'_, Switches, false> {
    /// A number that changes whenever a rank takes a result from switches.
    pub(crate) fn progress_of(&self, rank: u32) -> u64 {
        let Some(plan) = &self.network.scenario.in_network else { return 0 };
        let part = self.mode.members.parts.get(plan.member_of[rank as usize] as usize);
        part.map_or(0, |part| part.n_before + part.n_posted + part.n_taken)
    }

    /// A phase of a tenant as it will be carried out: by ranks alone where switches do not.
    pub(crate) fn with_switches(&mut self, tenant: u32, phase: Phase) -> Phase {
        let Some(plan) = &self.network.scenario.in_network else { return phase };
        let Some(offload) = phase.offload() else { return phase };
        let method = plan.method_of(tenant, &offload).and_then(|method| self.claim(tenant, method));
        let carried_out = method.is_ok();
        self.mode.members.offloads.push(tenant, phase.step, method);
        if carried_out { phase } else { phase.on_hosts() }
    }

    /// Take what a method needs for itself, or report which tenant has it.
    fn claim(&mut self, tenant: u32, method: CollectiveMethod) -> Result<CollectiveMethod, String> {
        let plan = self.network.in_network();
        let Some(sat) = plan.model.sat.filter(|_| method.locks()) else {
            return Ok(method);
        };
        let taken = self.mode.members.claims.take(plan, sat.lock, tenant);
        let refused = taken.err().map(|(part, other)| {
            let fabric = self.network.fabric();
            let name = match sat.lock {
                SatLock::Switch => &fabric.vertices[part as usize].name,
                SatLock::Port => &fabric.port_name(PortId(part)),
            };
            let other = &self.network.scenario.tenants[other as usize].name;
            format!("'{name}' streams for tenant '{other}' only")
        });
        refused.map_or(Ok(method), Err)
    }

    /// A rank takes part in a collective of the switches; its processor sees to its node first.
    #[cold]
    pub(crate) fn begin_part(&mut self, number: u32, offload: Offload) {
        let plan = self.network.in_network();
        let (member, model) = (plan.member_of[number as usize], plan.model);
        let method = model.method_of(&offload).expect("the phase was looked at when it began");
        let group = match offload.kind {
            OffloadKind::Slices(Between::Trees { segment_bytes }) => model
                .cut(method)
                .group(segment_bytes, plan.forest.members[member as usize].n_members),
            _ => 1,
        };
        let part = &mut self.mode.members.parts[member as usize];
        *part = MemberProgress {
            method,
            group,
            size_bytes: offload.size_bytes,
            contributes: offload.contributes,
            n_pieces: model.cut(method).n_pieces(offload.size_bytes),
            n_before: part.n_before + part.n_pieces,
            // A member that copies does not wait: some of it may have come.
            n_come: part.n_come,
            ..IDLE
        };
        let mut cost_ps = model.task_ps.saturating_mul(u64::from(offload.n_tasks - 1));
        if method.streams() {
            let hosts = &self.network.scenario.hosts;
            let regime = hosts.regime(hosts.regime_of(offload.size_bytes));
            cost_ps = cost_ps.saturating_add(regime.send.ps(offload.size_bytes));
        }
        let cost_ps = self.processor_time(number, cost_ps);
        let rank = &mut self.ranks[number as usize];
        rank.outstanding += 1;
        rank.free_ps = self.network.clock.now_ps + cost_ps;
    }

    /// Let a rank's processor post a piece or take a result; whether there was one.
    #[cold]
    pub(crate) fn goes_on_with_part(&mut self, number: u32) -> bool {
        let member = self.network.in_network().member_of[number as usize];
        let Some(part) = self.mode.members.parts.get(member as usize).copied() else {
            return false;
        };
        let outstanding = u64::from(self.network.in_network().model.cut(part.method).outstanding);
        let to_post = part.n_posted < part.n_pieces;
        let to_take = part.n_come > 0 && part.n_taken < part.n_pieces;
        match part.method {
            CollectiveMethod::Operations
                if to_post && part.n_posted - part.n_taken < outstanding =>
            {
                self.post_piece(number, member);
            }
            CollectiveMethod::Multicast if to_post && part.contributes => {
                self.post_piece(number, member);
                self.ranks[number as usize].outstanding -=
                    u32::from(part.n_posted + 1 == part.n_pieces);
            }
            CollectiveMethod::Operations | CollectiveMethod::Multicast
                if to_take && !self.only_gives(&part) =>
            {
                self.take_piece(number, member);
            }
            method if method.streams() && part.n_posted == 0 && to_post => {
                self.begin_stream(number, member);
            }
            method if method.streams() && part.n_come > 0 => self.end_stream(number, member),
            _ => return false,
        }
        true
    }

    fn only_gives(&self, part: &MemberProgress) -> bool {
        part.method == CollectiveMethod::Multicast && part.contributes
    }

    /// A message for the next piece of a member's buffer.
    fn next_piece(&mut self, number: u32, member: u32) -> Message {
        let plan = self.network.in_network();
        let part = &mut self.mode.members.parts[member as usize];
        let size_bytes = plan.model.cut(part.method).piece_bytes(part.size_bytes, part.n_posted);
        let number_of = u64::from(part.number_of(part.n_posted, plan.model.window().into()));
        let n_members = u64::from(plan.forest.members[member as usize].n_members);
        let slice = match part.method {
            method if method.slices() => part.n_posted % n_members,
            _ => 0,
        };
        let floods = part.method == CollectiveMethod::Multicast;
        let role = Role::Tree {
            kind: if floods { PacketKind::Flood } else { PacketKind::Up },
            operation: (slice << NUMBER.count_ones() | number_of) as u32,
            bytes: plan.model.piece_bytes(part.method, size_bytes) as u16,
            streams: part.method.streams(),
        };
        part.n_posted += 1;
        let plane = plan.forest.plane_of(member, number_of as u32);
        let mut message = Message::new(number, number, plane.junction, size_bytes, role);
        message.regime = self.network.scenario.hosts.regime_of(size_bytes);
        self.address(&mut message);
        let first = plan.forest.members[member as usize].first_plane as usize;
        message.part = (plane.junction - plan.forest.planes[first].junction) as u16;
        message.port = plane.port;
        message
    }

    /// Spend the processor time of a piece; then it is handed over like any message.
    fn post_piece(&mut self, number: u32, member: u32) {
        let message = self.next_piece(number, member);
        let costs = self.network.scenario.hosts.regime(message.regime);
        let cost_ps = self.processor_time(number, costs.send.ps(message.size_bytes));
        let id = self.network.endpoints.messages.add(message);
        let rank = &mut self.ranks[number as usize];
        rank.free_ps = self.network.clock.now_ps + cost_ps;
        rank.preparing = id;
    }

    /// The processor turns to the result of a piece.
    fn take_piece(&mut self, number: u32, member: u32) {
        let cut =
            self.network.in_network().model.cut(self.mode.members.parts[member as usize].method);
        let part = &mut self.mode.members.parts[member as usize];
        let size_bytes = cut.piece_bytes(part.size_bytes, part.n_taken);
        part.n_come -= 1;
        part.n_taken += 1;
        let done = part.n_taken == part.n_pieces;
        self.receive_part(number, size_bytes, done);
    }

    /// The processor spends the time of a receive of so many bytes.
    fn receive_part(&mut self, number: u32, size_bytes: u64, done: bool) {
        let hosts = &self.network.scenario.hosts;
        let recv_ps = hosts.regime(hosts.regime_of(size_bytes)).recv.ps(size_bytes);
        let cost_ps = self.processor_time(number, recv_ps);
        let rank = &mut self.ranks[number as usize];
        rank.free_ps = self.network.clock.now_ps + cost_ps;
        rank.outstanding -= u32::from(done);
    }

    /// The HCA has a buffer to stream, a gap after the rank's message before and a latency later.
    fn begin_stream(&mut self, number: u32, member: u32) {
        let part = self.mode.members.parts[member as usize];
        let regime = self.network.scenario.hosts.regime_of(part.size_bytes);
        let ready_ps = self.ready_ps(number, regime, part.size_bytes);
        let outstanding = self.network.in_network().model.cut(part.method).outstanding;
        for _ in 0..part.n_pieces.min(outstanding.into()) {
            self.stream_on(number, member, ready_ps);
        }
    }

    /// Another packet of a stream; only the first is a message to the HCA's gap.
    fn stream_on(&mut self, number: u32, member: u32, ready_ps: u64) {
        let mut message = self.next_piece(number, member);
        message.ready_ps = ready_ps;
        message.begun = self.mode.members.parts[member as usize].n_posted > 1;
        let id = self.network.endpoints.messages.add(message);
        self.network.send(id);
    }

    /// The processor learns that all of a stream has come.
    fn end_stream(&mut self, number: u32, member: u32) {
        let part = &mut self.mode.members.parts[member as usize];
        part.n_come = 0;
        let size_bytes = part.size_bytes;
        self.receive_part(number, size_bytes, true);
    }

    /// A packet of a tree has come to the endpoint of a member.
    #[cold]
    pub(crate) fn result_arrived(&mut self, packet: Packet) {
        let member = self.network.in_network().forest.members[packet.dst as usize];
        if member.part != Part::Own {
            return self.slice_arrived(member.part, packet);
        }
        if packet.has(STREAM) {
            return self.piece_is_complete(packet.dst, packet.message);
        }
        self.mode.members.parts[packet.dst as usize].n_come += 1;
        let now_ps = self.network.clock.now_ps;
        self.wake(member.rank, now_ps);
    }

    /// A piece of a member's stream is complete: others follow, as far as none before it is open.
    pub(crate) fn piece_is_complete(&mut self, member: u32, operation: u32) {
        let plan = self.network.in_network();
        let (window, now_ps) = (u64::from(plan.model.window()), self.network.clock.now_ps);
        let rank = plan.forest.members[member as usize].rank;
        let early = &mut self.mode.members.early[member as usize];
        let part = &mut self.mode.members.parts[member as usize];
        let bit = |number: u64| ((number / 64) as usize, 1u64 << (number % 64));
        let (word, mask) = bit(u64::from(operation & NUMBER));
        assert!(early[word] & mask == 0, "every piece comes once");
        early[word] |= mask;
        loop {
            let (word, mask) = bit((part.n_before + part.n_taken) % window);
            if early[word] & mask == 0 {
                break;
            }
            early[word] &= !mask;
            part.n_taken += 1;
        }
        let outstanding = u64::from(plan.model.cut(part.method).outstanding);
        let (until, whole) =
            (part.n_pieces.min(part.n_taken + outstanding), part.n_taken == part.n_pieces);
        part.n_come += u64::from(whole);
        for _ in part.n_posted..until {
            self.stream_on(rank, member, now_ps);
        }
        if whole {
            self.wake(rank, now_ps);
        }
    }
}
