//! Faults of cables during a run, one direction each.

use crate::limits::NIL;
use crate::model::faults::run_faults::Trouble;
use rand_core::Rng;
use rand_pcg::Pcg32;
use std::collections::VecDeque;

/// Keeps the draws of cables apart from those of ranks.
const STREAM_OF_CABLES: u64 = 1 << 40;

/// Events of a cable, in one direction.
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
pub(crate) struct OnWire {
    pub(crate) packet: u32,
    pub(crate) lost: bool,
}

/// One direction of a cable that is in trouble at one time or another.
#[derive(Clone, Debug)]
pub(crate) struct Ailing {
    /// Numbers of its troubles.
    pub(crate) troubles: Vec<u32>,
    random: Pcg32,
    /// Chance and cost of each kind of corrected error in force.
    pub(crate) corrected: Vec<(u64, u64)>,
    /// Chance that a packet is lost, of 2^32.
    pub(crate) lost: u64,
    /// Packets sent and not yet seen at the other end, in order.
    pub(crate) on_wire: VecDeque<OnWire>,
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
    pub(crate) fn correct(&mut self) -> u64 {
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

    pub(crate) fn put_on_wire(&mut self, packet: u32) {
        let lost = hit(&mut self.random, self.lost);
        self.on_wire.push_back(OnWire { packet, lost });
    }

    /// Packets on the wire do not arrive.
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

    /// Events of the cable at a port, in the direction it sends.
    pub(crate) fn errors(&self, port: u32) -> Errors {
        let number = self.numbers.get(port as usize).copied().unwrap_or(NIL);
        self.ailing.get(number as usize).map_or(Errors::default(), |ailing| ailing.errors)
    }
}
