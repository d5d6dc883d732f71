//! A cable goes down, and comes up again.
//!
//! What is on the wire is lost, but for a packet whose head the other end has seen: that one goes
//! on. What waits for the dead port in a switch goes elsewhere or is discarded; what waits in an
//! HCA waits on. Credits stay exact throughout: whoever drops a packet gives its credit back.

use crate::document::{LinkDeathDocument, Queueing, Reaction};
use crate::error::SimError;
use crate::host;
use crate::network::Network;
use crate::packet::NIL;
use crate::port::{BLOCKED, DOWN, ENDPOINT, NEVER};

/// Who reacts to a cable that dies during the run, and after how long.
#[derive(Clone, Copy, Debug)]
pub(crate) struct LinkDeath {
    pub(crate) reaction: Reaction,
    #[allow(dead_code, reason = "the subnet manager comes next")]
    pub(crate) delay_ps: u64,
}

impl LinkDeath {
    pub(crate) fn new(document: &LinkDeathDocument) -> Result<LinkDeath, SimError> {
        let delay_ps = host::ps("routing.link_death.delay_ns", document.delay_ns)?;
        Ok(LinkDeath { reaction: document.reaction, delay_ps })
    }
}

impl Network<'_> {
    /// Take a cable down or up, both ends; nothing happens where it is so already.
    pub(crate) fn set_cable_down(&mut self, ends: [u32; 2], down: bool) {
        let is_down = self.ports[ends[0] as usize].has(DOWN);
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
        if down {
            // Both ends are marked before anything looks for another way.
            for o in ends {
                self.clear(o);
            }
        }
    }

    fn go_down(&mut self, o: u32) {
        let now_ps = self.now_ps;
        let port = &mut self.ports[o as usize];
        port.set(DOWN, true);
        // INVARIANT: a port that is down is busy for ever, so that no path but this one asks.
        let busy_until_ps = std::mem::replace(&mut port.busy_until_ps, NEVER);
        if port.has(BLOCKED) {
            port.set(BLOCKED, false);
            let waiting = &mut self.waiting[o as usize];
            waiting.total_ps += now_ps - waiting.since_ps;
        }
        let ailing = self.troubles.of(o).expect("only a cable in trouble goes down");
        ailing.busy_until_ps = busy_until_ps;
        ailing.errors.downs += 1;
        ailing.lose_the_wire();
    }

    fn come_up(&mut self, o: u32) {
        let ailing = self.troubles.of(o).expect("only a cable in trouble comes up");
        self.ports[o as usize].busy_until_ps = ailing.busy_until_ps;
        self.ports[o as usize].set(DOWN, false);
        self.serve(o);
    }

    /// Empty the queues of a dead port of a switch.
    fn clear(&mut self, o: u32) {
        if self.ports[o as usize].has(ENDPOINT) {
            return;
        }
        for vl in 0..self.n_lanes as u8 {
            let index = self.lane_index(o, vl);
            self.lanes[index].need = 0;
            while self.lanes[index].ring != NIL {
                let id = self.packets[self.lanes[index].ring].ring();
                let packet = self.packets[id];
                self.lanes[index].queued -= packet.blocks();
                self.turn_ring(o, vl, id, packet);
                let input = o - u32::from(self.ports[o as usize].local) + packet.input();
                self.redirect(input, id, o);
            }
        }
    }

    /// Find another way for a packet that is in the buffer of `q` and waited for `dead`.
    fn redirect(&mut self, q: u32, id: u32, dead: u32) {
        if self.scenario.link_death.reaction != Reaction::Switch {
            return self.discard(q, id, dead, self.now_ps);
        }
        let (o, vl) = self.route(q, id);
        if self.ports[o as usize].has(DOWN) {
            return self.discard(q, id, o, self.now_ps);
        }
        self.enqueue(o, vl, u32::from(self.ports[q as usize].local), id);
        self.serve(o);
    }

    /// Drop a packet of the buffer of `q` that no port takes; its tail is in by `in_ps`.
    #[cold]
    pub(crate) fn discard(&mut self, q: u32, id: u32, dead: u32, in_ps: u64) {
        let packet = self.packets.remove(id);
        if let Some(ailing) = self.troubles.of(dead) {
            ailing.errors.discards += 1;
        }
        self.trace([self.now_ps, u64::from(q) | 1 << 34, u64::from(packet.wire_bytes)]);
        self.refund(q, packet.lane(), packet.blocks(), in_ps);
        if self.scenario.switch.model == Queueing::InputFifo {
            self.read_on(q, packet.lane(), in_ps);
        }
    }
}
