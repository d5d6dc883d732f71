//! Cables in trouble during the run: slower for a time, correcting errors, losing packets, down.
//!
//! A port in trouble (or watched by a probe) has the flag `WATCHED`, and its transmissions take
//! the way through here; no other port pays for it. What happens to a packet on the wire is known
//! when it is sent, or when its cable goes down, and comes true when it would have been seen.

use crate::calendar::Cold;
use crate::network::Network;
use crate::packet::{NIL, ROUTED};
use crate::port::{ENDPOINT, FRAIL, Link, Port, WATCHED};
use crate::scenario::{LinkFault, Span, Trouble};
use rand_core::Rng;
use rand_pcg::Pcg32;
use std::collections::VecDeque;

/// Keeps the draws of cables apart from those of ranks.
const STREAM_OF_CABLES: u64 = 1 << 40;

/// What a cable did, one way.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub(crate) struct Errors {
    /// Packets with an error that was corrected.
    pub(crate) corrected: u64,
    /// Packets that were lost on the wire, and their bytes.
    pub(crate) lost_packets: u64,
    pub(crate) lost_bytes: u64,
    /// Packets that waited for the port when it went down, or came for it later.
    pub(crate) discards: u64,
    /// How often the link went on at another rate.
    pub(crate) recoveries: u64,
    /// How often it went down.
    pub(crate) downs: u64,
}

#[derive(Clone, Copy, Debug)]
struct OnWire {
    packet: u32,
    lost: bool,
}

/// One direction of a cable that is in trouble at one time or another.
#[derive(Clone, Debug)]
pub(crate) struct Ailing {
    /// Numbers of its troubles.
    troubles: Vec<u32>,
    random: Pcg32,
    /// Chance and cost of each kind of corrected error in force.
    corrected: Vec<(u64, u64)>,
    /// Chance that a packet is lost, of 2^32.
    lost: u64,
    /// Packets sent and not yet seen at the other end, in order.
    on_wire: VecDeque<OnWire>,
    /// While it is down: when its transmitter would have been free.
    pub(crate) busy_until_ps: u64,
    pub(crate) errors: Errors,
}

impl Ailing {
    fn new(seed: u64, port: u32) -> Ailing {
        Ailing {
            troubles: Vec::new(),
            random: Pcg32::new(seed, STREAM_OF_CABLES + u64::from(port)),
            corrected: Vec::new(),
            lost: 0,
            on_wire: VecDeque::new(),
            busy_until_ps: 0,
            errors: Errors::default(),
        }
    }

    /// How long errors of the next packet keep the link busy.
    fn correct(&mut self) -> u64 {
        let mut total_ps = 0;
        for at in 0..self.corrected.len() {
            let (chance, cost_ps) = self.corrected[at];
            if hit(&mut self.random, chance) {
                self.errors.corrected += 1;
                total_ps += cost_ps;
            }
        }
        total_ps
    }

    fn put_on_wire(&mut self, packet: u32) {
        let lost = hit(&mut self.random, self.lost);
        self.on_wire.push_back(OnWire { packet, lost });
    }

    /// What is on the wire does not arrive.
    pub(crate) fn lose_the_wire(&mut self) {
        for wire in &mut self.on_wire {
            wire.lost = true;
        }
    }
}

/// Whether a chance of so many of 2^32 comes true; nothing is drawn for what never does.
fn hit(random: &mut Pcg32, chance: u64) -> bool {
    chance > 0 && u64::from(random.next_u32()) < chance
}

/// All directions of cables in trouble.
#[derive(Clone, Debug, Default)]
pub(crate) struct Troubles {
    /// By port: the number of its state or NIL; empty where no cable is ever in trouble.
    numbers: Vec<u32>,
    ailing: Vec<Ailing>,
}

impl Troubles {
    pub(crate) fn new(n_ports: usize, seed: u64, troubles: &[Trouble]) -> Troubles {
        let mut all = Troubles::default();
        if troubles.is_empty() {
            return all;
        }
        all.numbers = vec![NIL; n_ports];
        for (number, trouble) in troubles.iter().enumerate() {
            for port in trouble.ends {
                let at = &mut all.numbers[port.index()];
                if *at == NIL {
                    *at = all.ailing.len() as u32;
                    all.ailing.push(Ailing::new(seed, port.0));
                }
                all.ailing[*at as usize].troubles.push(number as u32);
            }
        }
        all
    }

    pub(crate) fn of(&mut self, port: u32) -> Option<&mut Ailing> {
        let number = *self.numbers.get(port as usize)?;
        self.ailing.get_mut(number as usize)
    }

    /// When transmitters would have been free, or were, whose cables went down.
    pub(crate) fn busy_until_ps(&self) -> impl Iterator<Item = u64> + '_ {
        self.ailing.iter().map(|ailing| ailing.busy_until_ps)
    }

    /// What the cable at a port did, in the direction it sends.
    pub(crate) fn errors(&self, port: u32) -> Errors {
        let number = self.numbers.get(port as usize).copied().unwrap_or(NIL);
        self.ailing.get(number as usize).map_or(Errors::default(), |ailing| ailing.errors)
    }
}

impl Span {
    /// Whether it holds at a time.
    pub(crate) fn holds(self, time_ps: u64) -> bool {
        let Some(since_ps) = time_ps.checked_sub(self.from_ps) else {
            return false;
        };
        let phase_ps = self.every_ps.map_or(since_ps, |every_ps| since_ps % every_ps);
        self.until_ps.is_none_or(|until_ps| phase_ps < until_ps - self.from_ps)
    }

    /// When it next begins or ends after a time; none if it stays as it is.
    pub(crate) fn next_edge(self, time_ps: u64) -> Option<u64> {
        let Some(since_ps) = time_ps.checked_sub(self.from_ps) else {
            return Some(self.from_ps);
        };
        let length_ps = self.until_ps? - self.from_ps;
        let round_ps = self.every_ps.map_or(0, |every_ps| since_ps - since_ps % every_ps);
        if since_ps - round_ps < length_ps {
            return Some(self.from_ps + round_ps + length_ps);
        }
        Some(self.from_ps + round_ps + self.every_ps?)
    }
}

impl<const PLAIN: bool> Network<'_, PLAIN> {
    /// Put in force what holds from the start, and schedule the rest.
    pub(crate) fn begin_troubles(&mut self) {
        let scenario = self.scenario;
        for (number, trouble) in scenario.faults.troubles.iter().enumerate() {
            for port in trouble.ends {
                self.ports[port.index()].set(WATCHED, true);
                self.ports[port.index()].set(FRAIL, true);
            }
            self.schedule_edge(number as u32, trouble.span);
        }
        for trouble in &scenario.faults.troubles {
            self.update(trouble, false);
        }
    }

    fn schedule_edge(&mut self, number: u32, span: Span) {
        if let Some(time_ps) = span.next_edge(self.now_ps) {
            self.n_faults_due += 1;
            self.schedule_cold(time_ps, Cold::Fault(number));
        }
    }

    pub(crate) fn schedule_sweep(&mut self, time_ps: u64) {
        self.n_faults_due += 1;
        let number = self.scenario.faults.troubles.len() as u32;
        self.schedule_cold(time_ps, Cold::Fault(number));
    }

    /// Whether an event of that number brings new tables.
    pub(crate) fn is_sweep(&self, number: u32) -> bool {
        number as usize == self.scenario.faults.troubles.len()
    }

    /// A fault begins or ends, or (the number after the last) the subnet manager has new tables.
    pub(crate) fn fault(&mut self, number: u32) {
        self.n_faults_due -= 1;
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
        self.n_cold == self.n_faults_due
            && self.packets.in_flight() == 0
            && !self.ports.iter().any(waits)
    }

    /// Put in force what holds now at both ends of a cable.
    fn update(&mut self, trouble: &Trouble, counted: bool) {
        let down = trouble.ends.map(|port| self.update_port(port.0, counted));
        assert_eq!(down[0], down[1], "a cable goes down both ways");
        self.set_cable_down(trouble.ends.map(|port| port.0), down[0]);
    }

    /// Put in force what holds now at a port; whether its cable is down.
    fn update_port(&mut self, o: u32, counted: bool) -> bool {
        let (scenario, now_ps) = (self.scenario, self.now_ps);
        let ailing = self.troubles.of(o).expect("a port in trouble");
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
        let port = &self.ports[o as usize];
        let link = self.links[port.link as usize];
        if rate == link.rate {
            return down;
        }
        ailing.errors.recoveries += u64::from(counted);
        let link = self.link_number(Link::new(rate, link.delay_ps, link.route_ps));
        self.ports[o as usize].change_link(link);
        if let Some(input) = self.inputs.get_mut(o as usize) {
            input.link = link;
        }
        down
    }

    fn link_number(&mut self, link: Link) -> u32 {
        let known = self.links.iter().position(|other| *other == link);
        known.unwrap_or_else(|| {
            self.links.push(link);
            self.links.len() - 1
        }) as u32
    }

    /// Put a packet on a link that is in trouble or watched; the time its tail has left.
    #[cold]
    pub(crate) fn transmit_watched(&mut self, o: u32, id: u32) -> u64 {
        let mut begin_ps = self.now_ps;
        if let Some(ailing) = self.troubles.of(o) {
            // The first try is for nothing, then the packet goes as if it began now.
            begin_ps += ailing.correct();
            ailing.put_on_wire(id);
        }
        let left_ps = self.put_on_link(o, id, begin_ps);
        if let Some(load) = &mut self.load {
            load.add(o, begin_ps..left_ps, self.packets[id].wire_bytes);
        }
        left_ps
    }

    /// A packet should be seen at `q`: whether it was lost on the way. Its credit comes back as if
    /// it had been taken out at once.
    #[cold]
    pub(crate) fn lost_on_the_way(&mut self, q: u32, id: u32) -> bool {
        if self.packets[id].has(ROUTED) {
            return false;
        }
        let feeder = self.ports[q as usize].peer;
        let ailing = self.troubles.of(feeder).expect("the feeder of a frail port is in trouble");
        let wire = ailing.on_wire.pop_front().expect("what arrives was sent");
        assert_eq!(wire.packet, id, "packets arrive in order");
        if !wire.lost {
            return false;
        }
        let packet = self.packets.remove(id);
        ailing.errors.lost_packets += 1;
        ailing.errors.lost_bytes += u64::from(packet.wire_bytes);
        self.trace([self.now_ps, u64::from(q) | 1 << 33, u64::from(packet.wire_bytes)]);
        let in_ps = packet.tail_ps.max(self.now_ps);
        self.refund(q, packet.lane(), packet.blocks(), self.counted(id), in_ps);
        true
    }

    /// Whether a packet seen now would leave `o` faster than it comes in, whatever the rate of its
    /// link is by now.
    #[cold]
    pub(crate) fn runs_dry(&self, o: u32, id: u32) -> bool {
        let (packet, port) = (&self.packets[id], &self.ports[o as usize]);
        let bits = u64::from(packet.wire_bytes) * 8;
        let least_ps = self.links[port.link as usize].rate.duration_of_bits(bits).0;
        // A burst's ends are rounded up: a picosecond is no difference.
        packet.tail_ps > self.now_ps + least_ps + 1
    }
}
