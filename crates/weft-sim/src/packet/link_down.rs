//! A cable goes down, and comes up again.
//!
//! Packets on the wire are lost, but for one whose head the other end has seen: that one goes
//! on. What waits for the dead port in a switch goes elsewhere or is discarded; what waits in an
//! HCA waits on. Credits stay exact throughout: whoever drops a packet gives its credit back.

use crate::limits::{NEVER, NIL};
use crate::model::scenario::ValidScenario;
use crate::model::steering::{Choice, Steering};
use crate::packet::link_errors::sweep_number;
use crate::packet::network::Network;
use crate::state::buffer::buffers::Buffers;
use crate::state::buffer::occupancy::Held;
use crate::state::clock::Clock;
use crate::state::links::Links;
use crate::state::port::{DOWN, ENDPOINT, INSIDE};
use crate::state::routes_in_force::RoutesInForce;
use std::sync::Arc;
use weft_fabric::HcaId;

impl<const PLAIN: bool> Network<'_, PLAIN> {
    /// Take a cable down or up, both ends; nothing happens where it is so already.
    pub(crate) fn set_cable_down(&mut self, ends: [u32; 2], down: bool) {
        if down == self.links.ports[ends[0] as usize].has(DOWN) {
            return;
        }
        for o in ends {
            if down {
                go_down(&mut self.links, self.clock.now_ps, o);
            } else {
                self.come_up(o);
            }
        }
        // The subnet manager sees what is up and down, and has tables for that a delay later.
        let link_death = &self.scenario.link_death;
        if link_death.engine.is_some() {
            let time_ps = self.clock.now_ps + link_death.delay_ps;
            self.clock.schedule_fault(time_ps, sweep_number(self.scenario));
        }
        if down {
            // Both ends are marked before anything looks for another path.
            for o in ends {
                self.clear(o);
            }
            for o in ends {
                self.report_death(o);
            }
        }
    }

    fn come_up(&mut self, o: u32) {
        let ailing = self.links.troubles.of(o).expect("only a cable in trouble comes up");
        self.links.ports[o as usize].busy_until_ps = ailing.busy_until_ps;
        self.links.ports[o as usize].set(DOWN, false);
        self.serve(o);
    }

    /// Empty the queues of a dead port of a switch.
    fn clear(&mut self, o: u32) {
        let port = &self.links.ports[o as usize];
        let first = o - u32::from(port.local);
        if port.has(ENDPOINT) {
            return;
        }
        for vl in 0..self.buffers.n_lanes as u8 {
            let index = self.buffers.lane_index(o, vl);
            self.buffers.lanes.forget_grant(index);
            self.buffers.lanes.shares.set_short(index, false);
            while self.buffers.lanes[index].ring != NIL {
                let id = self.buffers.first_of(index);
                let packet = self.buffers.packets[id];
                self.buffers.lanes.unload(index, packet.blocks());
                self.buffers.turn_ring(&mut self.links, o, vl, id, packet);
                // Back to the lane whose buffer it holds.
                self.buffers.packets[id].set_lane(packet.input_lane());
                self.redirect(first + packet.input(), id, o);
            }
        }
    }

    /// Find another path for a packet that is in the buffer of `q` and waited for `dead`.
    fn redirect(&mut self, q: u32, id: u32, dead: u32) {
        let Network { scenario, clock, links, buffers, routing, .. } = self;
        let (steering, now_ps) = (&scenario.steering, clock.now_ps);
        let Some((o, vl)) = other_path(links, buffers, routing, steering, now_ps, dead, id) else {
            return discard(links, buffers, clock, q, id, dead, now_ps);
        };
        buffers.enqueue(links, o, vl, links.inputs[q as usize].local, id);
        self.serve(o);
    }
}

fn go_down(links: &mut Links, now_ps: u64, o: u32) {
    links.unblock(o, now_ps);
    let port = &mut links.ports[o as usize];
    port.set(DOWN, true);
    // INVARIANT: a port that is down is busy for ever, so that no path but this one asks.
    let busy_until_ps = std::mem::replace(&mut port.busy_until_ps, NEVER);
    let ailing = links.troubles.of(o).expect("only a cable in trouble goes down");
    ailing.busy_until_ps = busy_until_ps;
    ailing.errors.downs += 1;
    ailing.lose_the_wire();
}

/// Where the switch looks for another path itself: the least loaded port that leads as close to a
/// packet's destination as `dead` did, or should have, and its lane there. Packets that do not
/// choose all take the port of the first, so that they keep their order.
///
/// SOURCE: US patent 9,729,473 (a second egress is selected, and used until there is a path again).
#[cold]
pub(crate) fn other_path<const PLAIN: bool>(
    links: &Links,
    buffers: &mut Buffers<PLAIN>,
    routing: &mut RoutesInForce,
    steering: &Steering,
    now_ps: u64,
    dead: u32,
    id: u32,
) -> Option<(u32, u8)> {
    let instead = routing.instead.as_ref()?;
    // A detour ends here: those that the packet meets next might send it back.
    routing.steers.end_detour(id);
    let (dst, lane) = (buffers.packets[id].dst, buffers.packets[id].lane());
    let input = &links.inputs[dead as usize];
    if input.has(ENDPOINT | INSIDE) {
        return None;
    }
    let first = dead - u32::from(input.local);
    let group = instead.group(links.switch_of(input), HcaId(dst));
    let ports = group.iter().map(|number| first + u32::from(*number));
    let open = ports.filter(|o| !routing.is_closed(links, *o, HcaId(dst)));
    let exits = open.map(|o| (o, steering.lane_after(o, lane)));
    let follows = steering.choice != Choice::Least || steering.choosing >> lane & 1 == 0;
    let chosen = routing.substitutes.get(&(dead, dst)).filter(|_| follows);
    if let Some(exit) = chosen.and_then(|chosen| exits.clone().find(|(o, _)| o == chosen)) {
        return Some(exit);
    }
    let exit = exits.min_by_key(|(o, vl)| (buffers.load_of(*o, *vl, now_ps), *o))?;
    if follows {
        routing.substitutes.insert((dead, dst), exit.0);
    }
    Some(exit)
}

/// New tables for the cables that are up now. A destination that cannot be reached keeps its old
/// route, whose packets are discarded where it is broken.
pub(crate) fn sweep(scenario: &ValidScenario, links: &Links, routing: &mut RoutesInForce) {
    // Tables in force are those without the cables that are down, and so are the next.
    routing.notices.forget();
    routing.substitutes.clear();
    let ports = (0..).zip(&links.ports);
    let down: Vec<u32> =
        ports.filter(|(_, port)| port.has(DOWN)).map(|(number, _)| number).collect();
    if down == routing.known_down {
        return;
    }
    // The packets before them may have gone where no new table leads.
    routing.steers.flowlets.forget();
    if down.is_empty() {
        routing.routes = Arc::clone(&scenario.routes);
        routing.candidates = scenario.steering.candidates.clone();
        routing.instead = scenario.link_death.instead.clone();
    } else {
        let (faults, steering) = (&scenario.faults, &scenario.steering);
        let tables = scenario.link_death.tables_without(&down, &scenario.fabric, faults, steering);
        let (_, tables) = tables.expect("who sweeps computes tables");
        let fresh = Arc::new(tables.candidates);
        routing.routes = Arc::new(tables.routes);
        routing.candidates = routing.candidates.as_ref().map(|_| Arc::clone(&fresh));
        routing.instead = routing.instead.as_ref().map(|_| fresh);
    }
    routing.known_down = down;
}

/// Drop a packet of the buffer of `q` that no port takes; its tail is in by `in_ps`.
#[cold]
pub(crate) fn discard<const PLAIN: bool>(
    links: &mut Links,
    buffers: &mut Buffers<PLAIN>,
    clock: &mut Clock,
    q: u32,
    id: u32,
    dead: u32,
    in_ps: u64,
) {
    let packet = buffers.packets.remove(id);
    if let Some(ailing) = links.troubles.of(dead) {
        ailing.errors.discards += 1;
    }
    clock.trace(u64::from(q) | 1 << 34, u64::from(packet.wire_bytes));
    let held = Held::by(&packet, q, buffers.counted(id));
    buffers.refund(links, clock, held, in_ps);
    if buffers.rules().fifo {
        buffers.read_on(clock, q, packet.lane(), in_ps);
    }
}
