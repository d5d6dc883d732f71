//! Where a packet goes next.
//!
//! The load of a port for a packet is what waits for it on the packet's lane there, and the credit
//! spent on that lane and not yet back (settled first), in blocks of 64 bytes. Adaptive switches
//! compare it in grades and take the least; of equals the first from a turn on that goes round.

use crate::document::NonMinimal;
use crate::model::framing::PacketKind;
use crate::model::steering::{Choice, Steering};
use crate::packet::network::Network;
use crate::packet::routing::node_routing::route_inside;
use crate::state::buffer::buffers::Buffers;
use crate::state::buffer::credits::LanePool;
use crate::state::flowlet::Flowlet;
use crate::state::links::Links;
use crate::state::notices::Notices;
use crate::state::packet::Packet;
use crate::state::port::{DOWN, FROM_HCA, INSIDE, Input};
use crate::state::route_choice::{DIRECT, Steers};
use crate::state::routes_in_force::RoutesInForce;
use crate::state::transport::endpoints::Endpoints;
use weft_fabric::{Candidates, HcaId, SwitchId};
use weft_traffic::mixed as mix;

/// Keeps answers apart from data: beyond the ranks of any pair.
const ANSWERS: u64 = 1 << 63;
/// A packet's detour is not decided yet.
const UNDECIDED: u16 = u16::MAX - 1;

/// The hash value that answers to an HCA have in common.
pub(crate) fn flow_of_answers(dst: u32) -> u64 {
    mix(ANSWERS | u64::from(dst))
}

/// The port that a hash of the flow chooses at a switch.
pub(crate) fn hashed(group: &[u16], switch: SwitchId, seed: u64, flow: u64) -> u16 {
    let flow = flow ^ mix(seed ^ u64::from(switch.0));
    group[(mix(flow) % group.len() as u64) as usize]
}

/// The one of `n` ports whose load is of the lowest grade, of equals the first from a turn on. A
/// load of `u32::MAX` is no port's: it is taken where no other port is.
#[inline(always)]
fn least_of(
    n: usize,
    turn: &mut u32,
    steering: &Steering,
    mut load: impl FnMut(usize) -> u32,
) -> usize {
    let from = if (*turn as usize) < n { *turn as usize } else { *turn as usize % n };
    let (mut best, mut least) = (from, u32::MAX);
    'all: for places in [from..n, 0..from] {
        for place in places {
            let load = load(place);
            let grade = (load >> steering.grade_shift).min(steering.highest_grade);
            if grade < least && load != u32::MAX {
                (best, least) = (place, grade);
                if grade == 0 {
                    break 'all;
                }
            }
        }
    }
    *turn = best as u32 + 1;
    best
}

impl<const PLAIN: bool> Network<'_, PLAIN> {
    /// The egress port and the virtual lane of a packet that is seen at the switch of port `q`.
    #[inline(always)]
    pub(crate) fn route(&mut self, q: u32, input: &Input, id: u32, packet: &Packet) -> (u32, u8) {
        let rules = self.rules();
        let Network { scenario, clock, links, buffers, routing, endpoints, congestion, .. } = self;
        if rules.inside && input.has(INSIDE) {
            return route_inside(scenario, links, endpoints, congestion, q, packet);
        }
        let (steering, switch) = (&scenario.steering, links.switch_of(input));
        let (first, lane, dst) = (q - u32::from(input.local), packet.lane(), HcaId(packet.dst));
        if PLAIN {
            let (lanes, now_ps) = (&mut buffers.lanes, clock.now_ps);
            return (
                first + route_plainly(steering, routing, lanes, now_ps, first, switch, dst),
                0,
            );
        }
        let chooses = steering.choice != Choice::Tables && steering.choosing >> lane & 1 == 1;
        let mut number = None;
        if chooses && let Some(candidates) = &routing.candidates {
            let group = candidates.group(switch, dst);
            // A destination behind a dead cable has no candidates, only its old table.
            if !group.is_empty() {
                let by_flow = steering.choice == Choice::Hash || steering.flowlet_gap_ps.is_some();
                let numbered = scenario.transport.numbered;
                let flow = if by_flow { flow_of(endpoints, packet, numbered) } else { 0 };
                let mut chooser = Chooser {
                    steering,
                    candidates,
                    links,
                    buffers,
                    steers: &mut routing.steers,
                    notices: &routing.notices,
                    now_ps: clock.now_ps,
                    switch,
                    first,
                    group,
                    id,
                    dst,
                    lane,
                    entering: input.has(FROM_HCA),
                    flow,
                };
                number = Some(chooser.pick(scenario.seed));
            }
        }
        let o = first + number.unwrap_or_else(|| routing.written(switch, dst));
        if let Some(paths) = steering.paths.as_ref().filter(|paths| !paths.is_constant()) {
            let packets = &mut buffers.packets;
            if input.has(FROM_HCA) {
                packets.set_level(id, paths.level(switch, dst));
            }
            return (o, paths.lane(q, o - first, packets.level(id)));
        }
        (o, steering.lane_after(o, lane))
    }
}

/// The number of the port by which a packet leaves a switch whose first port is `first`, where
/// every switch that chooses takes the least load, and there is one lane.
#[inline(always)]
fn route_plainly(
    steering: &Steering,
    routing: &mut RoutesInForce,
    lanes: &mut LanePool,
    now_ps: u64,
    first: u32,
    switch: SwitchId,
    dst: HcaId,
) -> u32 {
    let Some(candidates) = &routing.candidates else {
        return routing.written(switch, dst);
    };
    let group = candidates.group(switch, dst);
    match group.len() {
        0 => routing.written(switch, dst),
        1 => u32::from(group[0]),
        n => {
            let turn = &mut routing.steers.turns[switch.index()];
            let first_of = u32::from(group[0]);
            // Ports in a row, which most are, need not be looked up one by one.
            if usize::from(group[n - 1] - group[0]) == n - 1 {
                let begin = (first + first_of) as usize;
                let load = |place| lanes.load_of(begin + place, now_ps);
                return first_of + least_of(n, turn, steering, load) as u32;
            }
            let load = |place| lanes.load_of(first as usize + usize::from(group[place]), now_ps);
            u32::from(group[least_of(n, turn, steering, load)])
        }
    }
}

/// The egress port that the tables say for `dst` at the switch of port `q`.
#[inline]
pub(crate) fn static_route(links: &Links, routing: &RoutesInForce, q: u32, dst: u32) -> u32 {
    let input = &links.inputs[q as usize];
    q - u32::from(input.local) + routing.written(links.switch_of(input), HcaId(dst))
}

/// The value that packets of a queue pair share, of others those of a destination. A `numbered`
/// packet carries its connection instead of its message.
fn flow_of(endpoints: &Endpoints, packet: &Packet, numbered: bool) -> u64 {
    if packet.kind() != PacketKind::Data {
        return flow_of_answers(packet.dst);
    }
    let (src, dst) = if numbered {
        let connection = &endpoints.connections[packet.message];
        (connection.src, connection.dst)
    } else {
        let message = &endpoints.messages[packet.message];
        (message.src, message.dst)
    };
    mix(u64::from(src) << 32 | u64::from(dst))
}

/// A switch that chooses where a packet goes, and all it looks at.
struct Chooser<'a, const PLAIN: bool> {
    steering: &'a Steering,
    candidates: &'a Candidates,
    links: &'a Links,
    buffers: &'a mut Buffers<PLAIN>,
    steers: &'a mut Steers,
    notices: &'a Notices,
    now_ps: u64,
    switch: SwitchId,
    /// The first port of the switch.
    first: u32,
    /// The ports that lead to the packet's destination.
    group: &'a [u16],
    id: u32,
    dst: HcaId,
    lane: u8,
    /// Whether the packet comes from an HCA.
    entering: bool,
    /// Where flows matter: [`flow_of`].
    flow: u64,
}

impl<'a, const PLAIN: bool> Chooser<'a, PLAIN> {
    fn pick(&mut self, seed: u64) -> u32 {
        if self.steering.choice == Choice::Hash {
            return u32::from(hashed(self.group, self.switch, seed, self.flow));
        }
        if let Some(gap_ps) = self.steering.flowlet_gap_ps {
            return self.follow_flowlet(gap_ps);
        }
        let via = self.detour();
        self.least(via)
    }

    /// As the packet before it, if that is not long ago.
    fn follow_flowlet(&mut self, gap_ps: u64) -> u32 {
        let via = if self.entering { UNDECIDED } else { self.detour() };
        let leaf = self.leaf();
        let key = self.flow ^ mix(u64::from(self.switch.0) << 32 | u64::from(via));
        if let Some(flowlet) = self.steers.flowlets.live(key, self.now_ps, gap_ps)
            && !is_closed(self.links, self.notices, self.first + u32::from(flowlet.number), leaf)
        {
            flowlet.seen_ps = self.now_ps;
            let Flowlet { number, via, .. } = *flowlet;
            if self.entering && self.steering.non_minimal != NonMinimal::None {
                self.steers.set_via(self.id, via);
            }
            return u32::from(number);
        }
        let via = if self.entering { self.detour() } else { via };
        let number = self.least(via);
        let flowlet = Flowlet { number: number as u16, via, seen_ps: self.now_ps };
        self.steers.flowlets.begin(key, flowlet, gap_ps);
        number
    }

    /// The least loaded of the ports that lead to a packet's destination, or its detour's group.
    fn least(&mut self, via: u16) -> u32 {
        let group = self.group_towards(via);
        if group.len() == 1 {
            return u32::from(group[0]);
        }
        let leaf = self.leaf();
        let turn = &mut self.steers.turns[self.switch.index()];
        let load = |place: usize| {
            let o = self.first + u32::from(group[place]);
            // Of all that are closed the first will do: it is seen to be closed.
            let is_closed = is_closed(self.links, self.notices, o, leaf);
            let vl = self.steering.lane_after(o, self.lane);
            if is_closed { u32::MAX } else { self.buffers.load_of(o, vl, self.now_ps) }
        };
        u32::from(group[least_of(group.len(), turn, self.steering, load)])
    }

    fn leaf(&self) -> usize {
        self.candidates.attachments().leaf_of(self.dst)
    }

    fn group_towards(&self, via: u16) -> &'a [u16] {
        let group = match via {
            DIRECT => self.group,
            _ => self.candidates.towards_group(self.switch, u32::from(via)),
        };
        // A group that is cut off is no place for a detour.
        if group.is_empty() { self.group } else { group }
    }

    /// The group that a packet goes to first, decided where it enters; none once it is there.
    fn detour(&mut self) -> u16 {
        if self.steering.non_minimal == NonMinimal::None {
            return DIRECT;
        }
        if !self.entering {
            let via = self.steers.via.get(self.id as usize).copied().unwrap_or(DIRECT);
            if via == self.steering.groups[self.switch.index()] {
                self.steers.set_via(self.id, DIRECT);
                return DIRECT;
            }
            return via;
        }
        let via = self.weigh_detour();
        self.steers.set_via(self.id, via);
        via
    }

    /// A group drawn from those that are neither its own nor its destination's; UGAL takes it where
    /// the shortest path's load x hops exceeds the detour's by the bias.
    ///
    /// SOURCE: UGAL with local information after Kim, Dally, Scott & Abts (2008).
    fn weigh_detour(&mut self) -> u16 {
        let (steering, candidates) = (self.steering, self.candidates);
        let attached = candidates.attachments();
        let leaf = attached.switch_of(attached.leaf_of(self.dst)).expect("a checked destination");
        let (own, its) = (steering.groups[self.switch.index()], steering.groups[leaf.index()]);
        if own == its {
            return DIRECT;
        }
        let drawn = self.steers.draw(candidates.n_groups() - 2) as u16;
        let drawn = drawn + u16::from(drawn >= own.min(its));
        let drawn = drawn + u16::from(drawn >= own.max(its));
        let Some(over) = self.lightest(drawn) else {
            return DIRECT;
        };
        let direct = self.lightest(DIRECT);
        let Some(direct) = direct.filter(|_| steering.non_minimal == NonMinimal::Ugal) else {
            return drawn;
        };
        let (hops, hops_over) = candidates.hops(self.switch, self.dst, u32::from(drawn));
        let shorter =
            direct * u64::from(hops) <= over * u64::from(hops_over) + steering.bias_blocks;
        if shorter { DIRECT } else { drawn }
    }

    /// The least load of the ports that are up; none where all are down.
    fn lightest(&mut self, via: u16) -> Option<u64> {
        let ports = self.group_towards(via).iter().map(|number| self.first + u32::from(*number));
        let up = ports.filter(|o| !self.links.ports[*o as usize].has(DOWN));
        let loads = up.map(|o| {
            let vl = self.steering.lane_after(o, self.lane);
            self.buffers.load_of(o, vl, self.now_ps)
        });
        loads.min().map(u64::from)
    }
}

/// Whether a port is down, or leads nowhere for a leaf.
fn is_closed(links: &Links, notices: &Notices, o: u32, leaf: usize) -> bool {
    links.ports[o as usize].has(DOWN) || notices.avoid(o, leaf)
}
