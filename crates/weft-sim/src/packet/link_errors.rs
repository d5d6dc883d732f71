//! Cables in trouble during the run: slower for a time, correcting errors, losing packets, down.
//!
//! A port in trouble (or watched by a probe) has the flag `WATCHED`, and its transmissions take
//! a slow path; no other port pays for it. What happens to a packet on the wire is known
//! when it is sent, or when its cable goes down, and comes true when it would have been seen.

use crate::model::faults::run_faults::{LinkFault, Trouble};
use crate::model::faults::span::Span;
use crate::model::scenario::ValidScenario;
use crate::packet::link_down::sweep;
use crate::packet::network::Network;
use crate::state::buffer::buffers::Buffers;
use crate::state::buffer::occupancy::Held;
use crate::state::clock::Clock;
use crate::state::links::Links;
use crate::state::packet::{Packet, PacketPool, ROUTED};
use crate::state::port::{ENDPOINT, Link, Port};

impl<const PLAIN: bool> Network<'_, PLAIN> {
    /// Put in force what holds from the start, and schedule the rest.
    pub(crate) fn begin_troubles(&mut self) {
        let scenario = self.scenario;
        for (number, trouble) in scenario.faults.troubles.iter().enumerate() {
            schedule_edge(&mut self.clock, number as u32, trouble.span);
        }
        for trouble in &scenario.faults.troubles {
            self.update(trouble, false);
        }
    }

    /// A fault begins or ends, or (numbers after the last) the subnet manager has new tables, or
    /// switches are notified.
    #[cold]
    pub(crate) fn fault(&mut self, number: u32) {
        let scenario = self.scenario;
        self.clock.n_faults_due -= 1;
        if number == sweep_number(scenario) {
            return sweep(scenario, &self.links, &mut self.routing);
        }
        if number == notice_number(scenario) {
            return self.receive_notices();
        }
        let trouble = &scenario.faults.troubles[number as usize];
        self.update(trouble, true);
        if !stands_still(&self.clock, &self.links, &self.buffers.packets) {
            schedule_edge(&mut self.clock, number, trouble.span);
        }
    }

    /// Put in force what holds now at both ends of a cable.
    fn update(&mut self, trouble: &Trouble, counted: bool) {
        let now_ps = self.clock.now_ps;
        let update = |port| update_port(self.scenario, &mut self.links, now_ps, port, counted);
        let ends = trouble.ends.map(|port| port.0);
        let down = ends.map(update);
        assert_eq!(down[0], down[1], "a cable goes down in both directions");
        self.set_cable_down(ends, down[0]);
    }
}

/// The number of the event that brings new tables: the one after the last fault.
pub(crate) fn sweep_number(scenario: &ValidScenario) -> u32 {
    scenario.faults.troubles.len() as u32
}

/// The number of the event at which switches have notifications.
pub(crate) fn notice_number(scenario: &ValidScenario) -> u32 {
    sweep_number(scenario) + 1
}

fn schedule_edge(clock: &mut Clock, number: u32, span: Span) {
    if let Some(time_ps) = span.next_edge(clock.now_ps) {
        clock.schedule_fault(time_ps, number);
    }
}

/// Whether only faults are under way or due, so that a flap need not go on for ever.
fn stands_still(clock: &Clock, links: &Links, packets: &PacketPool) -> bool {
    let waits = |port: &Port| port.has(ENDPOINT) && port.work != 0;
    clock.n_cold == clock.n_faults_due && packets.in_flight() == 0 && !links.ports.iter().any(waits)
}

/// Put in force what holds now at a port; whether its cable is down.
fn update_port(
    scenario: &ValidScenario,
    links: &mut Links,
    now_ps: u64,
    o: u32,
    counted: bool,
) -> bool {
    let ailing = links.troubles.of(o).expect("a port in trouble");
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
    let link = links.kinds[links.ports[o as usize].link as usize];
    if rate != link.rate {
        ailing.errors.recoveries += u64::from(counted);
        links.change_link(o, Link::new(rate, link.delay_ps, link.route_ps));
    }
    down
}

/// A packet should be seen at `q`: whether it was lost on the wire. Its credit comes back as if
/// it had been taken out at once.
#[cold]
pub(crate) fn lost_on_the_wire<const PLAIN: bool>(
    links: &mut Links,
    buffers: &mut Buffers<PLAIN>,
    clock: &mut Clock,
    q: u32,
    id: u32,
) -> bool {
    if buffers.packets[id].has(ROUTED) {
        return false;
    }
    let feeder = links.ports[q as usize].peer;
    let ailing = links.troubles.of(feeder).expect("the feeder of a frail port is in trouble");
    let wire = ailing.on_wire.pop_front().expect("what arrives was sent");
    assert_eq!(wire.packet, id, "packets arrive in order");
    if !wire.lost {
        return false;
    }
    let packet = buffers.packets.remove(id);
    ailing.errors.lost_packets += 1;
    ailing.errors.lost_bytes += u64::from(packet.wire_bytes);
    clock.trace(u64::from(q) | 1 << 33, u64::from(packet.wire_bytes));
    let (held, in_ps) =
        (Held::by(&packet, q, buffers.counted(id)), packet.tail_ps.max(clock.now_ps));
    buffers.refund(links, clock, held, in_ps);
    true
}

/// Whether a packet seen now would leave `o` faster than it comes in, whatever the rate of its
/// link is by now.
#[cold]
pub(crate) fn runs_dry(links: &Links, packet: &Packet, now_ps: u64, o: u32) -> bool {
    let bits = u64::from(packet.wire_bytes) * 8;
    let least_ps = links.link_of(o).rate.duration_of_bits(bits).0;
    // A burst's ends are rounded up: a picosecond is no difference.
    packet.tail_ps > now_ps + least_ps + 1
}
