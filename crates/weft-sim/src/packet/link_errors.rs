//! Cables in trouble during the run: slower for a time, correcting errors, losing packets, down.
//!
//! A port in trouble (or watched by a probe) has the flag `WATCHED`, and its transmissions take
//! the way through here; no other port pays for it. What happens to a packet on the wire is known
//! when it is sent, or when its cable goes down, and comes true when it would have been seen.

use crate::model::faults::fault::{LinkFault, Span};
use crate::model::faults::plant::Trouble;
use crate::packet::network::Network;
use crate::state::calendar::Cold;
use crate::state::packet::ROUTED;
use crate::state::port::{ENDPOINT, FRAIL, Link, Port, WATCHED};

impl<const PLAIN: bool> Network<'_, PLAIN> {
    /// Put in force what holds from the start, and schedule the rest.
    pub(crate) fn begin_troubles(&mut self) {
        let scenario = self.scenario;
        for (number, trouble) in scenario.faults.troubles.iter().enumerate() {
            for port in trouble.ends {
                self.links.ports[port.index()].set(WATCHED, true);
                self.links.ports[port.index()].set(FRAIL, true);
            }
            self.schedule_edge(number as u32, trouble.span);
        }
        for trouble in &scenario.faults.troubles {
            self.update(trouble, false);
        }
    }

    fn schedule_edge(&mut self, number: u32, span: Span) {
        if let Some(time_ps) = span.next_edge(self.clock.now_ps) {
            self.clock.n_faults_due += 1;
            self.clock.schedule_cold(time_ps, Cold::Fault(number));
        }
    }

    pub(crate) fn schedule_sweep(&mut self, time_ps: u64) {
        self.clock.n_faults_due += 1;
        let number = self.scenario.faults.troubles.len() as u32;
        self.clock.schedule_cold(time_ps, Cold::Fault(number));
    }

    /// Whether an event of that number brings new tables.
    pub(crate) fn is_sweep(&self, number: u32) -> bool {
        number as usize == self.scenario.faults.troubles.len()
    }

    /// A fault begins or ends, or (the number after the last) the subnet manager has new tables.
    pub(crate) fn fault(&mut self, number: u32) {
        self.clock.n_faults_due -= 1;
        if self.is_sweep(number) {
            return self.sweep();
        }
        let trouble = &self.scenario.faults.troubles[number as usize];
        self.update(trouble, true);
        if !self.stands_still() {
            self.schedule_edge(number, trouble.span);
        }
    }

    /// Whether nothing is under way or due but faults, so that a flap need not go on for ever.
    fn stands_still(&self) -> bool {
        let waits = |port: &Port| port.has(ENDPOINT) && port.work != 0;
        self.clock.n_cold == self.clock.n_faults_due
            && self.buffers.packets.in_flight() == 0
            && !self.links.ports.iter().any(waits)
    }

    /// Put in force what holds now at both ends of a cable.
    fn update(&mut self, trouble: &Trouble, counted: bool) {
        let down = trouble.ends.map(|port| self.update_port(port.0, counted));
        assert_eq!(down[0], down[1], "a cable goes down both ways");
        self.set_cable_down(trouble.ends.map(|port| port.0), down[0]);
    }

    /// Put in force what holds now at a port; whether its cable is down.
    fn update_port(&mut self, o: u32, counted: bool) -> bool {
        let (scenario, now_ps) = (self.scenario, self.clock.now_ps);
        let ailing = self.links.troubles.of(o).expect("a port in trouble");
        let mut rate = scenario.fabric.ports[o as usize].rate;
        let (mut down, mut kept) = (false, 1u64 << 32);
        ailing.corrected.clear();
        for number in &ailing.troubles {
            let trouble = &scenario.faults.troubles[*number as usize];
            match trouble.kind {
                _ if !trouble.span.holds(now_ps) => {}
                LinkFault::Rate(factor) => rate = rate.scaled(factor),
                LinkFault::Down => down = true,
                LinkFault::Corrected { chance, cost_ps } => {
                    ailing.corrected.push((chance, cost_ps));
                }
                LinkFault::Lost(chance) => {
                    kept = ((u128::from(kept) * u128::from((1 << 32) - chance)) >> 32) as u64;
                }
            }
        }
        ailing.lost = (1 << 32) - kept;
        let port = &self.links.ports[o as usize];
        let link = self.links.kinds[port.link as usize];
        if rate == link.rate {
            return down;
        }
        ailing.errors.recoveries += u64::from(counted);
        let link = self.links.number_of(Link::new(rate, link.delay_ps, link.route_ps));
        self.links.ports[o as usize].change_link(link);
        if let Some(input) = self.links.inputs.get_mut(o as usize) {
            input.link = link;
        }
        down
    }

    /// Put a packet on a link that is in trouble or watched; the time its tail has left.
    #[cold]
    pub(crate) fn transmit_watched(&mut self, o: u32, id: u32) -> u64 {
        let mut begin_ps = self.clock.now_ps;
        if let Some(ailing) = self.links.troubles.of(o) {
            // The first try is for nothing, then the packet goes as if it began now.
            begin_ps += ailing.correct();
            ailing.put_on_wire(id);
        }
        let left_ps = self.put_on_link(o, id, begin_ps);
        if let Some(load) = &mut self.links.load {
            load.add(o, begin_ps..left_ps, self.buffers.packets[id].wire_bytes);
        }
        left_ps
    }

    /// A packet should be seen at `q`: whether it was lost on the way. Its credit comes back as if
    /// it had been taken out at once.
    #[cold]
    pub(crate) fn lost_on_the_way(&mut self, q: u32, id: u32) -> bool {
        if self.buffers.packets[id].has(ROUTED) {
            return false;
        }
        let feeder = self.links.ports[q as usize].peer;
        let ailing =
            self.links.troubles.of(feeder).expect("the feeder of a frail port is in trouble");
        let wire = ailing.on_wire.pop_front().expect("what arrives was sent");
        assert_eq!(wire.packet, id, "packets arrive in order");
        if !wire.lost {
            return false;
        }
        let packet = self.buffers.packets.remove(id);
        ailing.errors.lost_packets += 1;
        ailing.errors.lost_bytes += u64::from(packet.wire_bytes);
        self.trace([self.clock.now_ps, u64::from(q) | 1 << 33, u64::from(packet.wire_bytes)]);
        let in_ps = packet.tail_ps.max(self.clock.now_ps);
        self.refund(q, packet.lane(), packet.blocks(), self.counted(id), in_ps);
        true
    }

    /// Whether a packet seen now would leave `o` faster than it comes in, whatever the rate of its
    /// link is by now.
    #[cold]
    pub(crate) fn runs_dry(&self, o: u32, id: u32) -> bool {
        let (packet, port) = (&self.buffers.packets[id], &self.links.ports[o as usize]);
        let bits = u64::from(packet.wire_bytes) * 8;
        let least_ps = self.links.kinds[port.link as usize].rate.duration_of_bits(bits).0;
        // A burst's ends are rounded up: a picosecond is no difference.
        packet.tail_ps > self.clock.now_ps + least_ps + 1
    }
}
