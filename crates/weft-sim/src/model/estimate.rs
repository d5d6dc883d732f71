//! How much work a scenario is, before it runs: packet hops (bytes times links) and moves of ranks,
//! counted on some ranks.

use crate::document::{Fidelity, Protocol};
use crate::model::fidelity::{Chosen, Ruling};
use crate::model::placement::place::{RankPlace, Tenant};
use crate::model::scenario::ValidScenario;
use std::iter::Sum;
use weft_fabric::{HcaId, Routes};
use weft_traffic::{Algorithm, Phase, StepDocument};

/// So many ranks of a phase are looked at, evenly spread, so many of its rounds and so many moves
/// of a rank from the first on; the others are taken to be like them.
const RANKS: u32 = 32;
const ROUNDS: u32 = 32;
const MOVES: u64 = 2048;
/// Links between an endpoint inside a node and its HCA, both ends together: about so many. Over
/// sockets, by host memory, simulations took 7 to 9.
const LINKS_INSIDE: f64 = 8.0;
/// And between two endpoints of one node, whose packets are larger than the fabric's.
const LINKS_WITHIN: f64 = 1.0;

/// And between a node and the switch that holds the sum of its buffer and others', there and back.
const LINKS_OF_OFFLOAD: f64 = 4.0;

/// Up to so many packet hops every packet is followed: some seconds.
pub(crate) const MOST_HOPS: f64 = 1e8;

impl ValidScenario {
    /// Have the fidelity that is asked for, or choose it and say why.
    pub(crate) fn settle(&mut self, ruling: Ruling) {
        let Ruling { asked, packets, notes } = ruling;
        self.chosen = match asked {
            Fidelity::Packet => Chosen::default(),
            Fidelity::Flow => Chosen { fidelity: asked, notes, ..Chosen::default() },
            Fidelity::Auto => {
                let of_trees = || self.has_trees().then(|| "switches reduce packets".to_owned());
                let (fidelity, why) = self.choose(packets.or_else(of_trees));
                let tries = fidelity == Fidelity::Flow;
                let notes = if tries { notes } else { Vec::new() };
                let notes = std::iter::once(why).chain(notes).collect();
                Chosen { fidelity, notes, tries, most_looks: None }
            }
        };
    }

    /// Whether switches take part in any collective.
    fn has_trees(&self) -> bool {
        let mut steps = self.tenants.iter().flat_map(|tenant| &tenant.work);
        steps.any(|step| step.algorithm.is_some_and(Algorithm::is_offloaded))
    }

    fn choose(&self, packets: Option<String>) -> (Fidelity, String) {
        if let Some(why) = packets {
            return (
                Fidelity::Packet,
                format!("fidelity auto: packets, since flows cannot: {why}"),
            );
        }
        // Nothing at all sums to -0.
        let hops = self.packet_hops(&self.tenants) + 0.0;
        if hops <= MOST_HOPS {
            let why = format!("fidelity auto: packets, about {hops:.1e} hops");
            return (Fidelity::Packet, format!("{why} of at most {MOST_HOPS:.0e}"));
        }
        let why = format!("fidelity auto: flows, since packets would make about {hops:.1e} hops");
        (Fidelity::Flow, format!("{why}, and up to {MOST_HOPS:.0e} are followed"))
    }
}

/// Packet hops, and moves of ranks.
#[derive(Clone, Copy, Default)]
struct Amount {
    hops: f64,
    moves: f64,
}

impl Amount {
    fn times(self, factor: f64) -> Amount {
        Amount { hops: self.hops * factor, moves: self.moves * factor }
    }
}

impl Sum for Amount {
    fn sum<I: Iterator<Item = Amount>>(parts: I) -> Amount {
        let add = |sum: Amount, one: Amount| Amount {
            hops: sum.hops + one.hops,
            moves: sum.moves + one.moves,
        };
        parts.fold(Amount::default(), add)
    }
}

impl ValidScenario {
    /// About how many packet hops and moves of ranks the scenario is.
    pub fn amount_of_work(&self) -> (f64, f64) {
        let Amount { hops, moves } = self.amount_of(&self.tenants);
        (hops, moves)
    }

    /// About how many packet hops the work of tenants is, acknowledgements and agreements included;
    /// of one that repeats its work, once.
    pub(crate) fn packet_hops(&self, tenants: &[Tenant]) -> f64 {
        self.amount_of(tenants).hops
    }

    fn amount_of(&self, tenants: &[Tenant]) -> Amount {
        let of_tenant = |tenant: &Tenant| {
            let steps = tenant.work.iter().zip(0..);
            steps.map(|(step, number)| self.of_step(tenant, step, number)).sum::<Amount>()
        };
        tenants.iter().map(of_tenant).sum()
    }

    fn of_step(&self, tenant: &Tenant, step: &StepDocument, number: u32) -> Amount {
        let n_rounds = step.n_phases();
        let stride = n_rounds.div_ceil(ROUNDS).max(1);
        let rounds = (0..n_rounds).step_by(stride as usize);
        let of_round = |round: u32| {
            let phase = step.phase("work", number, round, tenant.n_ranks);
            phase.map_or_else(|_| Amount::default(), |phase| self.of_phase(tenant, &phase))
        };
        let n_seen = n_rounds.div_ceil(stride).max(1);
        rounds.map(of_round).sum::<Amount>().times(f64::from(n_rounds) / f64::from(n_seen))
    }

    fn of_phase(&self, tenant: &Tenant, phase: &Phase) -> Amount {
        let stride = tenant.n_ranks.div_ceil(RANKS).max(1);
        // Not all of them first on their node.
        let shifted = |(start, number): (u32, u32)| start + number % stride;
        let ranks = (0..tenant.n_ranks).step_by(stride as usize).zip(0..).map(shifted);
        let ranks: Vec<u32> = ranks.filter(|rank| *rank < tenant.n_ranks).collect();
        let seen: Amount = ranks.iter().map(|rank| self.of_rank(tenant, phase, *rank)).sum();
        let n_iterations = f64::from(phase.warmup) + f64::from(phase.iterations);
        seen.times(n_iterations * f64::from(tenant.n_ranks) / ranks.len().max(1) as f64)
    }

    /// What a rank does in one iteration: its moves, and the hops of the packets that it sends.
    fn of_rank(&self, tenant: &Tenant, phase: &Phase, rank: u32) -> Amount {
        let place = |rank: u32| self.ranks[(tenant.first_rank + rank) as usize];
        let moves = (0..MOVES).map_while(|index| phase.exchange(rank, index));
        let mut found = Amount::default();
        for exchange in moves {
            found.moves += 1.0;
            if let Some(send) = exchange.send {
                found.hops += self.hops_of_message(place(rank), place(send.peer), send.size_bytes);
            }
            if let Some(offload) = exchange.offload {
                let n_packets = offload.size_bytes.div_ceil(u64::from(self.mtu_bytes)).max(1);
                found.hops += n_packets as f64 * LINKS_OF_OFFLOAD;
            }
        }
        let n_seen = MOVES as f64;
        if found.moves < n_seen { found } else { found.times(phase.n_moves(rank) as f64 / n_seen) }
    }

    fn hops_of_message(&self, here: RankPlace, there: RankPlace, size_bytes: u64) -> f64 {
        let has_inside = self.fabric.inside.is_some();
        let n_links = match (here.node == there.node, has_inside) {
            (true, false) => return 0.0,
            (true, true) => LINKS_WITHIN,
            (false, false) => links_between(self, &self.routes, here.hca, there.hca) as f64,
            (false, true) => {
                links_between(self, &self.routes, here.hca, there.hca) as f64 + LINKS_INSIDE
            }
        };
        let n_packets = size_bytes.div_ceil(u64::from(self.mtu_bytes)).max(1);
        let agreed = self.hosts.regime(self.hosts.regime_of(size_bytes)).protocol;
        let n_agree = if agreed == Protocol::Rendezvous { 2 } else { 0 };
        let n_answers = size_bytes.div_ceil(self.transport.ack_bytes).max(1) + n_agree;
        let answers = if self.transport.acknowledge { n_answers } else { 0 };
        (n_packets + n_agree + answers) as f64 * n_links
    }
}

/// Links on the tables' path; adaptive choices take as many, or about.
fn links_between(scenario: &ValidScenario, routes: &Routes, src: HcaId, dst: HcaId) -> usize {
    let (fabric, mut at, mut n_links) = (&scenario.fabric, src.vertex(), 0);
    while let Some(port) = routes.next_port(fabric, at, dst) {
        n_links += 1;
        match fabric.neighbour(port) {
            Some(next) if n_links < fabric.vertices.len() => at = next,
            _ => break,
        }
    }
    n_links
}
