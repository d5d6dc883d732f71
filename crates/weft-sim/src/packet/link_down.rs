//! A cable goes down, and comes up again.
//!
//! What is on the wire is lost, but for a packet whose head the other end has seen: that one goes
//! on. What waits for the dead port in a switch goes elsewhere or is discarded; what waits in an
//! HCA waits on. Credits stay exact throughout: whoever drops a packet gives its credit back.

use crate::document::Queueing;
use crate::limits::NEVER;
use crate::limits::NIL;
use crate::packet::network::Network;
use crate::state::port::{BLOCKED, DOWN, ENDPOINT};
use std::sync::Arc;
use weft_fabric::{HcaId, VertexId};

impl<const PLAIN: bool> Network<'_, PLAIN> {
    /// Take a cable down or up, both ends; nothing happens where it is so already.
    pub(crate) fn set_cable_down(&mut self, ends: [u32; 2], down: bool) {
        let is_down = self.links.ports[ends[0] as usize].has(DOWN);
        if down == is_down {
            return;
        }
        for o in ends {
            if down {
                self.go_down(o);
            } else {
                self.come_up(o);
            }
        }
        self.tell_subnet_manager();
        if down {
            // Both ends are marked before anything looks for another way.
            for o in ends {
                self.clear(o);
            }
        }
    }

    fn go_down(&mut self, o: u32) {
        let now_ps = self.clock.now_ps;
        let port = &mut self.links.ports[o as usize];
        port.set(DOWN, true);
        // INVARIANT: a port that is down is busy for ever, so that no path but this one asks.
        let busy_until_ps = std::mem::replace(&mut port.busy_until_ps, NEVER);
        if port.has(BLOCKED) {
            port.set(BLOCKED, false);
            let waiting = &mut self.links.waiting[o as usize];
            waiting.total_ps += now_ps - waiting.since_ps;
        }
        let ailing = self.links.troubles.of(o).expect("only a cable in trouble goes down");
        ailing.busy_until_ps = busy_until_ps;
        ailing.errors.downs += 1;
        ailing.lose_the_wire();
    }

    fn come_up(&mut self, o: u32) {
        let ailing = self.links.troubles.of(o).expect("only a cable in trouble comes up");
        self.links.ports[o as usize].busy_until_ps = ailing.busy_until_ps;
        self.links.ports[o as usize].set(DOWN, false);
        self.serve(o);
    }

    /// Empty the queues of a dead port of a switch.
    fn clear(&mut self, o: u32) {
        if self.links.ports[o as usize].has(ENDPOINT) {
            return;
        }
        for vl in 0..self.buffers.n_lanes as u8 {
            let index = self.lane_index(o, vl);
            self.buffers.lanes.forget_grant(index);
            self.buffers.lanes.shares.set_short(index, false);
            while self.buffers.lanes[index].ring != NIL {
                let id = self.buffers.packets[self.buffers.lanes[index].ring].ring();
                let packet = self.buffers.packets[id];
                self.buffers.lanes.unload(index, packet.blocks());
                self.turn_ring(o, vl, id, packet);
                // Back to the lane whose buffer it holds.
                self.buffers.packets[id].set_lane(packet.input_lane());
                let input = o - u32::from(self.links.ports[o as usize].local) + packet.input();
                self.redirect(input, id, o);
            }
        }
    }

    /// Find another way for a packet that is in the buffer of `q` and waited for `dead`.
    fn redirect(&mut self, q: u32, id: u32, dead: u32) {
        let Some((o, vl)) = self.way_round(dead, id) else {
            return self.discard(q, id, dead, self.clock.now_ps);
        };
        self.enqueue(o, vl, self.links.ports[q as usize].local, id);
        self.serve(o);
    }

    /// Where the switch looks for another way itself: the least loaded port that leads as close to
    /// a packet's destination as `dead` did, and its lane there.
    #[cold]
    pub(crate) fn way_round(&mut self, dead: u32, id: u32) -> Option<(u32, u8)> {
        let instead = self.routing.instead.clone()?;
        // A detour ends here: those that the packet meets next might send it back.
        self.routing.steers.end_detour(id);
        let (dst, lane, steering) = (
            self.buffers.packets[id].dst,
            self.buffers.packets[id].lane(),
            &self.scenario.steering,
        );
        let port = &self.links.ports[dead as usize];
        let (first, vertex) = (dead - u32::from(port.local), VertexId(port.vertex));
        let switch = self.fabric().switch(vertex)?;
        let group =
            instead.group(switch, HcaId(dst)).iter().map(|number| first + u32::from(*number));
        let up = group.filter(|o| !self.links.ports[*o as usize].has(DOWN)).collect::<Vec<_>>();
        let ways = up.into_iter().map(|o| (o, steering.lane_after(o, lane)));
        ways.min_by_key(|(o, vl)| (self.load(*o, *vl), *o))
    }

    /// The subnet manager sees what is up and down, and has tables for that a delay later.
    fn tell_subnet_manager(&mut self) {
        if self.scenario.link_death.engine.is_some() {
            let time_ps = self.clock.now_ps + self.scenario.link_death.delay_ps;
            self.schedule_sweep(time_ps);
        }
    }

    /// New tables for the cables that are up now. A destination that cannot be reached keeps its
    /// old route, whose packets are discarded where it is broken.
    pub(crate) fn sweep(&mut self) {
        let (scenario, ports) = (self.scenario, &self.links.ports);
        let down: Vec<u32> =
            (0..ports.len() as u32).filter(|port| ports[*port as usize].has(DOWN)).collect();
        if down == self.routing.known_down {
            return;
        }
        // Whom they follow may have gone where no new table leads.
        self.routing.steers.forget_flowlets();
        if down.is_empty() {
            self.routing.routes = Arc::clone(&scenario.routes);
            self.routing.candidates = scenario.steering.candidates.clone();
            self.routing.instead = scenario.link_death.instead.clone();
        } else {
            let (faults, steering) = (&scenario.faults, &scenario.steering);
            let tables =
                scenario.link_death.tables_without(&down, &scenario.fabric, faults, steering);
            let (_, tables) = tables.expect("who sweeps computes tables");
            let fresh = Arc::new(tables.candidates);
            self.routing.routes = Arc::new(tables.routes);
            self.routing.candidates = self.routing.candidates.as_ref().map(|_| Arc::clone(&fresh));
            self.routing.instead = self.routing.instead.as_ref().map(|_| fresh);
        }
        self.routing.known_down = down;
    }

    /// Drop a packet of the buffer of `q` that no port takes; its tail is in by `in_ps`.
    #[cold]
    pub(crate) fn discard(&mut self, q: u32, id: u32, dead: u32, in_ps: u64) {
        let packet = self.buffers.packets.remove(id);
        if let Some(ailing) = self.links.troubles.of(dead) {
            ailing.errors.discards += 1;
        }
        self.trace([self.clock.now_ps, u64::from(q) | 1 << 34, u64::from(packet.wire_bytes)]);
        self.refund(q, packet.lane(), packet.blocks(), self.counted(id), in_ps);
        if self.scenario.switch.model == Queueing::InputFifo {
            self.read_on(q, packet.lane(), in_ps);
        }
    }
}
