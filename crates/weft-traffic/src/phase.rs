//! A phase: what all ranks do together, iteration by iteration.

use crate::collective::{Collective, count_of};
use crate::exchange::{Blocks, Exchange, Offload, Transfer, Wait};
use crate::flows::Flows;
use crate::pair::{PairTraffic, Role};
use crate::random::mixed;
use crate::renumbering::Renumbering;
use crate::schedule::Program;

/// The meaning of a phase's rows.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Rows {
    /// One row an iteration, the maximum over ranks.
    Whole,
    /// One row a pair and iteration.
    Pair,
    /// One row a message.
    Message,
    /// One row from each mark of a program to the next, each passed by the last rank.
    Interval,
}

#[derive(Clone, Debug)]
pub(crate) enum Pattern {
    Pairs {
        traffic: PairTraffic,
        roles: Vec<Option<Role>>,
    },
    Collective(Collective),
    /// The barrier follows in the order of ranks, not of the ring.
    Ring {
        size_bytes: u64,
        window: u32,
        barrier: Option<Collective>,
    },
    Flows(Flows),
    Compute,
    Schedule(Program),
}

/// Processor time before an iteration's first move.
#[derive(Clone, Copy, Debug)]
pub(crate) struct Compute {
    pub(crate) ps: f64,
    /// The unluckiest rank takes (1 + imbalance) times as long, the luckiest once.
    pub(crate) imbalance: f64,
}

impl Compute {
    /// The time of a rank, by a fixed hash of its number.
    fn of(self, rank: u32) -> u64 {
        let share = (mixed(u64::from(rank)) >> 32) as f64 / f64::from(u32::MAX);
        (self.ps * (1.0 + self.imbalance * share)).round() as u64
    }
}

/// The common work of all ranks, `iterations` times, each after an ideal barrier.
#[derive(Clone, Debug)]
pub struct Phase {
    /// Number of the step in the scenario's work.
    pub step: u32,
    /// Round within a step of pairs.
    pub round: u32,
    /// Timed iterations.
    pub iterations: u32,
    /// Iterations before them.
    pub warmup: u32,
    /// The meaning of its rows.
    pub rows: Rows,
    pub(crate) n_ranks: u32,
    pub(crate) pattern: Pattern,
    pub(crate) renumbering: Option<Renumbering>,
    pub(crate) compute: Option<Compute>,
}

impl Phase {
    /// How many ranks there are, taking part or not.
    pub fn n_ranks(&self) -> u32 {
        self.n_ranks
    }

    /// Rows of one iteration.
    pub fn n_rows(&self) -> u32 {
        match &self.pattern {
            Pattern::Flows(flows) => flows.n_rows(),
            Pattern::Pairs { roles, .. } if self.rows == Rows::Pair => {
                roles.iter().flatten().count() as u32 / 2
            }
            Pattern::Schedule(program) => program.n_marks() + 1,
            _ => 1,
        }
    }

    /// The mark that a rank passes at its `index`-th move.
    pub fn mark(&self, rank: u32, index: u64) -> Option<u32> {
        match &self.pattern {
            Pattern::Schedule(program) if self.rows == Rows::Interval => program.mark(rank, index),
            _ => None,
        }
    }

    /// Who sends on a channel of a program.
    pub fn channel_source(&self, channel: u32) -> Option<u32> {
        match &self.pattern {
            Pattern::Schedule(program) => Some(program.source(channel)),
            _ => None,
        }
    }

    /// The row that a rank's own time counts for; none where it is not a timing rank. Where both
    /// ranks of a pair send, an iteration is over when both have received: the next window of one
    /// waits for the other's.
    pub fn timed_row(&self, rank: u32) -> Option<u32> {
        match &self.pattern {
            Pattern::Collective(_) | Pattern::Ring { .. } => Some(0),
            Pattern::Compute => Some(0),
            Pattern::Schedule(program) => Some(program.n_marks()),
            Pattern::Flows(_) => None,
            Pattern::Pairs { traffic, roles } => {
                let both = matches!(traffic, PairTraffic::BothWays { .. });
                let role = roles[rank as usize].filter(|role| role.leads || both)?;
                Some(if self.rows == Rows::Pair { role.pair } else { 0 })
            }
        }
    }

    /// When message `row` is due, counted from the start of the phase.
    pub fn message_start(&self, row: u32) -> Option<u64> {
        match &self.pattern {
            Pattern::Flows(flows) => Some(flows.start_ps(row)),
            _ => None,
        }
    }

    /// Of a rank's `index`-th move, if it sends a message with a row of its own: that row, and when
    /// the message is due.
    pub fn message_row(&self, rank: u32, index: u64) -> Option<(u32, u64)> {
        let Pattern::Flows(flows) = &self.pattern else {
            return None;
        };
        let row = flows.row(rank, index)?;
        Some((row, flows.start_ps(row)))
    }

    /// The part of a node's leader in the collective of switches that the phase is, if it is one.
    pub fn offload(&self) -> Option<Offload> {
        let Pattern::Collective(collective) = &self.pattern else { return None };
        if !collective.algorithm.is_offloaded() {
            return None;
        }
        let moves = (0..).map_while(|index| collective.exchange(0, index));
        moves.into_iter().find_map(|exchange| exchange.offload)
    }

    /// The same phase by ranks alone.
    pub fn on_hosts(self) -> Phase {
        let Pattern::Collective(collective) = self.pattern else { return self };
        Phase { pattern: Pattern::Collective(collective.on_hosts()), ..self }
    }

    /// The `index`-th move of `rank` in one iteration; none when it has finished.
    pub fn exchange(&self, rank: u32, index: u64) -> Option<Exchange> {
        let moved = match &self.renumbering {
            _ if self.is_closing(index) => self.closing(rank, index),
            None => self.own(rank, index),
            Some(renumbering) => {
                let moved = self.own(renumbering.number_of(rank), index);
                moved.map(|exchange| renumbering.exchange(exchange))
            }
        };
        match self.compute {
            Some(compute) if index == 0 => {
                let alone = Exchange { wait: Wait::All, ..Exchange::default() };
                Some(Exchange { compute_ps: compute.of(rank), ..moved.unwrap_or(alone) })
            }
            _ => moved,
        }
    }

    /// How many moves a rank makes in one iteration.
    pub fn n_moves(&self, rank: u32) -> u64 {
        count_of(|index| self.exchange(rank, index).is_some())
    }

    /// Whether a move is one of the barrier behind a ring.
    fn is_closing(&self, index: u64) -> bool {
        match &self.pattern {
            Pattern::Ring { window, barrier: Some(_), .. } => index >= 2 * u64::from(*window),
            _ => false,
        }
    }

    fn closing(&self, rank: u32, index: u64) -> Option<Exchange> {
        match &self.pattern {
            Pattern::Ring { window, barrier: Some(barrier), .. } => {
                barrier.exchange(rank, index - 2 * u64::from(*window))
            }
            _ => None,
        }
    }

    /// The move of a rank under its own number.
    fn own(&self, rank: u32, index: u64) -> Option<Exchange> {
        match &self.pattern {
            Pattern::Collective(collective) => collective.exchange(rank, index),
            Pattern::Ring { size_bytes, window, .. } => {
                neighbours(self.n_ranks, rank, *size_bytes, *window, index)
            }
            Pattern::Pairs { traffic, roles } => traffic.exchange(roles[rank as usize]?, index),
            Pattern::Flows(flows) => flows.exchange(rank, index),
            Pattern::Compute => None,
            Pattern::Schedule(program) => program.exchange(rank, index),
        }
    }
}

/// To the right neighbour and from the left, to the left and from the right, `window` times, all at
/// once.
fn neighbours(n: u32, rank: u32, size_bytes: u64, window: u32, index: u64) -> Option<Exchange> {
    let message = |peer| Transfer { peer, size_bytes, blocks: Blocks::None };
    let (right, left) = ((rank + 1) % n, (rank + n - 1) % n);
    let last = 2 * u64::from(window) - 1;
    let (to, from) = if index.is_multiple_of(2) { (right, left) } else { (left, right) };
    let exchange = Exchange::both(message(to), message(from));
    match index {
        _ if index < last => Some(exchange.without_wait()),
        _ if index == last => Some(exchange),
        _ => None,
    }
}
