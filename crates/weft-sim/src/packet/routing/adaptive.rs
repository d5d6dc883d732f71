//! Where a packet goes next.
//!
//! The load of a port for a packet is what waits for it on the packet's lane there, and the credit
//! spent on that lane and not yet back (settled first), in blocks of 64 bytes. Adaptive switches
//! compare it in grades and take the least; of equals the first from a turn on that goes round.

use crate::document::NonMinimal;
use crate::model::framing::PacketKind;
use crate::model::steering::{Choice, Steering};
use crate::packet::network::Network;
use crate::state::flowlet::Flowlet;
use crate::state::packet::Packet;
use crate::state::port::{DOWN, FROM_HCA, INSIDE, Input};
use crate::state::route_choice::DIRECT;
use weft_fabric::{Candidates, HcaId, SwitchId};
use weft_traffic::mixed as mix;

/// Keeps answers apart from data: beyond the ranks of any pair.
const ANSWERS: u64 = 1 << 63;
/// A packet's detour is not decided yet.
const UNDECIDED: u16 = u16::MAX - 1;

/// A packet where it is to be routed.
#[derive(Clone, Copy)]
struct Here<'a> {
    candidates: &'a Candidates,
    /// The ports that lead to its destination.
    group: &'a [u16],
    id: u32,
    dst: HcaId,
    lane: u8,
    switch: SwitchId,
    /// The first port of the switch.
    first: u32,
    /// Whether it comes from an HCA.
    entering: bool,
}

/// What answers to an HCA have in common.
pub(crate) fn flow_of_answers(dst: u32) -> u64 {
    mix(ANSWERS | u64::from(dst))
}

/// The port that a hash of the flow chooses at a switch.
pub(crate) fn hashed(group: &[u16], switch: SwitchId, seed: u64, flow: u64) -> u16 {
    let flow = flow ^ mix(seed ^ u64::from(switch.0));
    group[(mix(flow) % group.len() as u64) as usize]
}

/// The one of `n` ports whose load is of the lowest grade, of equals the first from a turn on. A
/// load of `u32::MAX` is no port's: it is taken where nothing else is.
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
    pub(crate) fn route(&mut self, q: u32, port: &Input, id: u32, packet: &Packet) -> (u32, u8) {
        let scenario = self.scenario;
        if self.rules().inside && port.has(INSIDE) {
            return self.route_inside(q, id);
        }
        let switch = SwitchId(port.vertex - scenario.fabric.n_hcas());
        let (first, lane, dst) = (q - u32::from(port.local), packet.lane(), HcaId(packet.dst));
        let steering = &scenario.steering;
        if PLAIN {
            return (first + self.route_plainly(switch, dst, first), 0);
        }
        let chooses = steering.choice != Choice::Tables && steering.choosing >> lane & 1 == 1;
        let entering = port.has(FROM_HCA);
        let mut number = None;
        if chooses && let Some(candidates) = self.routing.candidates.take() {
            let group = candidates.group(switch, dst);
            // What a dead cable cuts off has no candidates, only its old table.
            if !group.is_empty() {
                let candidates = &*candidates;
                let here = Here { candidates, group, id, dst, lane, switch, first, entering };
                number = Some(self.pick(here));
            }
            self.routing.candidates = Some(candidates);
        }
        let o = first + number.unwrap_or_else(|| self.written(switch, dst));
        (o, steering.lane_after(o, lane))
    }

    /// The number of the port by which a packet leaves a switch whose first port is `first`, where
    /// all that anybody chooses is the least load.
    #[inline(always)]
    fn route_plainly(&mut self, switch: SwitchId, dst: HcaId, first: u32) -> u32 {
        let Some(candidates) = &self.routing.candidates else {
            return self.written(switch, dst);
        };
        let group = candidates.group(switch, dst);
        match group.len() {
            0 => self.written(switch, dst),
            1 => u32::from(group[0]),
            n => {
                let turn = &mut self.routing.steers.turns[switch.index()];
                let (steering, now_ps) = (&self.scenario.steering, self.clock.now_ps);
                let (lanes, first_of) = (&mut self.buffers.lanes, u32::from(group[0]));
                // Ports in a row, which most are, need not be looked up one by one.
                if usize::from(group[n - 1] - group[0]) == n - 1 {
                    let begin = (first + first_of) as usize;
                    let load = |place| lanes.load_of(begin + place, now_ps);
                    return first_of + least_of(n, turn, steering, load) as u32;
                }
                let load =
                    |place| lanes.load_of(first as usize + usize::from(group[place]), now_ps);
                u32::from(group[least_of(n, turn, steering, load)])
            }
        }
    }

    /// The egress port that the tables say for `dst` at the switch of port `q`.
    #[inline]
    pub(crate) fn static_route(&self, q: u32, dst: u32) -> u32 {
        let port = &self.links.inputs[q as usize];
        let switch = SwitchId(port.vertex - self.scenario.fabric.n_hcas());
        q - u32::from(port.local) + self.written(switch, HcaId(dst))
    }

    /// The number (from 0) of the port that the tables say.
    #[inline(always)]
    fn written(&self, switch: SwitchId, dst: HcaId) -> u32 {
        let mut number = self.routing.routes.number(switch, dst);
        if number == 0 {
            // The subnet manager found no way round a dead cable: the old one ends there.
            number = self.scenario.routes.number(switch, dst);
            assert!(number > 0, "routes were checked before the run");
        }
        number - 1
    }

    fn pick(&mut self, here: Here<'_>) -> u32 {
        let steering = &self.scenario.steering;
        if steering.choice == Choice::Hash {
            let flow = self.flow_of(here.id);
            return u32::from(hashed(here.group, here.switch, self.scenario.seed, flow));
        }
        if let Some(gap_ps) = steering.flowlet_gap_ps {
            return self.follow_flowlet(here, gap_ps);
        }
        let via = self.detour(here);
        self.least(here, via)
    }

    /// What the packets of a queue pair have in common, of others those of a destination.
    fn flow_of(&self, id: u32) -> u64 {
        let packet: &Packet = &self.buffers.packets[id];
        if packet.kind() != PacketKind::Data {
            return flow_of_answers(packet.dst);
        }
        let (src, dst) = if self.scenario.transport.numbered {
            let connection = &self.endpoints.connections[packet.message];
            (connection.src, connection.dst)
        } else {
            let message = &self.endpoints.messages[packet.message];
            (message.src, message.dst)
        };
        mix(u64::from(src) << 32 | u64::from(dst))
    }

    /// As the packet before it, if that is not long ago.
    fn follow_flowlet(&mut self, here: Here<'_>, gap_ps: u64) -> u32 {
        let via = if here.entering { UNDECIDED } else { self.detour(here) };
        let key = self.flow_of(here.id) ^ mix(u64::from(here.switch.0) << 32 | u64::from(via));
        let now_ps = self.clock.now_ps;
        if let Some(flowlet) = self.routing.steers.flowlets.live(key, now_ps, gap_ps)
            && !self.links.ports[(here.first + u32::from(flowlet.number)) as usize].has(DOWN)
        {
            flowlet.seen_ps = now_ps;
            let Flowlet { number, via, .. } = *flowlet;
            if here.entering && self.scenario.steering.non_minimal != NonMinimal::None {
                self.routing.steers.set_via(here.id, via);
            }
            return u32::from(number);
        }
        let via = if here.entering { self.detour(here) } else { via };
        let number = self.least(here, via);
        let flowlet = Flowlet { number: number as u16, via, seen_ps: now_ps };
        self.routing.steers.flowlets.begin(key, flowlet, gap_ps);
        number
    }

    /// The least loaded of the ports that lead to a packet's destination, or its detour's group.
    fn least(&mut self, here: Here<'_>, via: u16) -> u32 {
        let group = self.group(here, via);
        if group.len() == 1 {
            return u32::from(group[0]);
        }
        let steering = &self.scenario.steering;
        let mut turn = self.routing.steers.turns[here.switch.index()];
        let load = |place: usize| {
            let o = here.first + u32::from(group[place]);
            // Of all that are down the first will do: it is seen to be down.
            let is_down = self.links.ports[o as usize].has(DOWN);
            if is_down { u32::MAX } else { self.load(o, steering.lane_after(o, here.lane)) }
        };
        let place = least_of(group.len(), &mut turn, steering, load);
        self.routing.steers.turns[here.switch.index()] = turn;
        u32::from(group[place])
    }

    fn group<'b>(&self, here: Here<'b>, via: u16) -> &'b [u16] {
        let group = match via {
            DIRECT => here.group,
            _ => here.candidates.towards_group(here.switch, u32::from(via)),
        };
        // A group that is cut off is no place for a detour.
        if group.is_empty() { here.group } else { group }
    }

    /// The group that a packet goes to first, decided where it enters; none once it is there.
    fn detour(&mut self, here: Here<'_>) -> u16 {
        let steering = &self.scenario.steering;
        if steering.non_minimal == NonMinimal::None {
            return DIRECT;
        }
        if !here.entering {
            let via = self.routing.steers.via.get(here.id as usize).copied().unwrap_or(DIRECT);
            if via == steering.groups[here.switch.index()] {
                self.routing.steers.set_via(here.id, DIRECT);
                return DIRECT;
            }
            return via;
        }
        let via = self.weigh_detour(here);
        self.routing.steers.set_via(here.id, via);
        via
    }

    /// A group drawn from those that are neither its own nor its destination's; UGAL takes it where
    /// the shortest path's load x hops exceeds the detour's by the bias.
    ///
    /// SOURCE: UGAL with local information after Kim, Dally, Scott & Abts (2008).
    fn weigh_detour(&mut self, here: Here<'_>) -> u16 {
        let steering = &self.scenario.steering;
        let attached = here.candidates.attachments();
        let leaf = attached.switch_of(attached.leaf_of(here.dst)).expect("a checked destination");
        let (own, its) = (steering.groups[here.switch.index()], steering.groups[leaf.index()]);
        if own == its {
            return DIRECT;
        }
        let drawn = self.routing.steers.draw(here.candidates.n_groups() - 2) as u16;
        let drawn = drawn + u16::from(drawn >= own.min(its));
        let drawn = drawn + u16::from(drawn >= own.max(its));
        let Some(over) = self.lightest(here, drawn) else {
            return DIRECT;
        };
        let direct = self.lightest(here, DIRECT);
        let Some(direct) = direct.filter(|_| steering.non_minimal == NonMinimal::Ugal) else {
            return drawn;
        };
        let (hops, hops_over) = here.candidates.hops(here.switch, here.dst, u32::from(drawn));
        let shorter =
            direct * u64::from(hops) <= over * u64::from(hops_over) + steering.bias_blocks;
        if shorter { DIRECT } else { drawn }
    }

    /// The least load of the ports that are up; none where all are down.
    fn lightest(&mut self, here: Here<'_>, via: u16) -> Option<u64> {
        let steering = &self.scenario.steering;
        let group = self.group(here, via);
        let ports = group.iter().map(|number| here.first + u32::from(*number));
        let up = ports.filter(|o| !self.links.ports[*o as usize].has(DOWN)).collect::<Vec<u32>>();
        let loads = up.into_iter().map(|o| self.load(o, steering.lane_after(o, here.lane)));
        loads.min().map(u64::from)
    }

    /// Blocks that wait for the egress `o` and those it has spent and not got back.
    #[inline(always)]
    pub(crate) fn load(&mut self, o: u32, vl: u8) -> u32 {
        let lane = self.lane_index(o, vl);
        self.buffers.lanes.load_of(lane, self.clock.now_ps)
    }
}
