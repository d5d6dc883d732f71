//! A phase: what all ranks do together, iteration by iteration.

use crate::collective::{Algorithm, algorithms_of};
use crate::error::TrafficError;
use crate::exchange::{Blocks, Exchange, Transfer, Wait};
use crate::step::{BenchmarkName, Message, PairsKind, StepDocument};
use crate::talk::{DEFAULT_WINDOW, Role, Talk, roles};

/// What the rows of a phase stand for.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Rows {
    /// One row an iteration, the maximum over ranks.
    Whole,
    /// One row a pair and iteration.
    Pair,
    /// One row a message.
    Message,
}

#[derive(Clone, Debug)]
enum Pattern {
    Pairs { talk: Talk, roles: Vec<Option<Role>> },
    Collective(Algorithm),
    Messages { messages: Vec<Message>, sends: Vec<Vec<u32>>, recvs: Vec<Vec<u32>> },
}

/// What all ranks do together, `iterations` times, each after an ideal barrier.
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
    /// What the rows stand for.
    pub rows: Rows,
    n_ranks: u32,
    size_bytes: u64,
    pattern: Pattern,
}

impl StepDocument {
    /// How many phases the step has: one, or one a round.
    pub fn n_phases(&self) -> u32 {
        self.rounds.as_ref().map_or(1, |rounds| rounds.len() as u32)
    }

    /// Check the step, by building every phase of it. `place` is where it stands in the document.
    pub fn check(&self, place: &str, n_ranks: u32) -> Result<(), TrafficError> {
        if n_ranks == 0 {
            return Err(TrafficError::document(place, "there is no rank", "1 rank or more"));
        }
        self.check_keys(place, n_ranks)?;
        for round in 0..self.n_phases() {
            self.phase(place, 0, round, n_ranks)?;
        }
        Ok(())
    }

    /// The phase of a round (0 where there are no rounds).
    pub fn phase(
        &self,
        place: &str,
        step: u32,
        round: u32,
        n_ranks: u32,
    ) -> Result<Phase, TrafficError> {
        let (rows, pattern) = self.pattern(place, round, n_ranks)?;
        Ok(Phase {
            step,
            round,
            iterations: self.iterations,
            warmup: self.warmup,
            rows,
            n_ranks,
            size_bytes: self.size_bytes,
            pattern,
        })
    }

    fn pattern(
        &self,
        place: &str,
        round: u32,
        n_ranks: u32,
    ) -> Result<(Rows, Pattern), TrafficError> {
        let window = self.window.unwrap_or(DEFAULT_WINDOW);
        let pairs = |talk, pairs: &[[u32; 2]], at: &str| {
            let roles = roles(at, n_ranks, pairs)?;
            Ok(Pattern::Pairs { talk, roles })
        };
        let two = [self.ranks.unwrap_or([0, 1])];
        let ranks = format!("{place}.ranks");
        match self.benchmark {
            BenchmarkName::Latency => Ok((Rows::Whole, pairs(Talk::PingPong, &two, &ranks)?)),
            BenchmarkName::Bandwidth => {
                Ok((Rows::Whole, pairs(Talk::Window(window), &two, &ranks)?))
            }
            BenchmarkName::Bidirectional => {
                Ok((Rows::Whole, pairs(Talk::BothWays(window), &two, &ranks)?))
            }
            BenchmarkName::MessageRate => {
                let half = n_ranks / 2;
                let all: Vec<[u32; 2]> = (0..half).map(|a| [a, a + half]).collect();
                Ok((Rows::Whole, pairs(Talk::Window(window), &all, place)?))
            }
            BenchmarkName::Pairs => {
                let talk = match self.kind {
                    Some(PairsKind::Latency) => Talk::PingPong,
                    _ => Talk::Window(window),
                };
                let rounds = self.rounds.as_deref().unwrap_or_default();
                let mut chosen = rounds.get(round as usize).cloned().unwrap_or_default();
                if self.kind == Some(PairsKind::BandwidthBa) {
                    chosen.iter_mut().for_each(|pair| pair.reverse());
                }
                Ok((Rows::Pair, pairs(talk, &chosen, &format!("{place}.rounds[{round}]"))?))
            }
            BenchmarkName::Barrier | BenchmarkName::Allreduce | BenchmarkName::Alltoall => {
                Ok((Rows::Whole, Pattern::Collective(self.algorithm(place)?)))
            }
            BenchmarkName::Messages => {
                let messages = self.messages.clone().unwrap_or_default();
                Ok((Rows::Message, message_pattern(place, n_ranks, messages)?))
            }
        }
    }

    fn algorithm(&self, place: &str) -> Result<Algorithm, TrafficError> {
        let name = self.benchmark.as_str();
        let known = algorithms_of(name);
        let chosen = self.algorithm.unwrap_or(known[0]);
        if !known.contains(&chosen) {
            let what = format!("{chosen:?} is no algorithm of {name}");
            let expected = format!("one of {known:?} in snake_case");
            return Err(TrafficError::document(format!("{place}.algorithm"), what, expected));
        }
        Ok(chosen)
    }
}

fn message_pattern(
    place: &str,
    n_ranks: u32,
    messages: Vec<Message>,
) -> Result<Pattern, TrafficError> {
    let mut sends = vec![Vec::new(); n_ranks as usize];
    let mut recvs = vec![Vec::new(); n_ranks as usize];
    let mut order: Vec<u32> = (0..messages.len() as u32).collect();
    order.sort_by_key(|index| messages[*index as usize].start_ps);
    for index in order {
        let message = messages[index as usize];
        let at = format!("{place}.messages[{index}]");
        if message.src == message.dst {
            let what = format!("rank {} sends to itself", message.src);
            return Err(TrafficError::document(at, what, "two different ranks"));
        }
        if message.src.max(message.dst) >= n_ranks {
            let what = format!("there is no rank {}", message.src.max(message.dst));
            return Err(TrafficError::document(at, what, format!("a rank below {n_ranks}")));
        }
        sends[message.src as usize].push(index);
        recvs[message.dst as usize].push(index);
    }
    Ok(Pattern::Messages { messages, sends, recvs })
}

impl Phase {
    /// How many ranks there are, taking part or not.
    pub fn n_ranks(&self) -> u32 {
        self.n_ranks
    }

    /// Rows of one iteration.
    pub fn n_rows(&self) -> u32 {
        match &self.pattern {
            Pattern::Messages { messages, .. } => messages.len() as u32,
            Pattern::Pairs { roles, .. } if self.rows == Rows::Pair => {
                roles.iter().flatten().count() as u32 / 2
            }
            _ => 1,
        }
    }

    /// The row that a rank's own time counts for; none where it is not a timing rank.
    pub fn timed_row(&self, rank: u32) -> Option<u32> {
        match &self.pattern {
            Pattern::Collective(_) => Some(0),
            Pattern::Messages { .. } => None,
            Pattern::Pairs { roles, .. } => {
                let role = roles[rank as usize].filter(|role| role.leads)?;
                Some(if self.rows == Rows::Pair { role.pair } else { 0 })
            }
        }
    }

    /// When message `row` is due, counted from the start of the phase.
    pub fn message_start(&self, row: u32) -> Option<u64> {
        match &self.pattern {
            Pattern::Messages { messages, .. } => Some(messages[row as usize].start_ps),
            _ => None,
        }
    }

    /// The row and the start of a rank's `index`-th sent message.
    pub fn message_row(&self, rank: u32, index: u64) -> Option<(u32, u64)> {
        let Pattern::Messages { messages, sends, recvs } = &self.pattern else {
            return None;
        };
        let place = index.checked_sub(recvs[rank as usize].len() as u64)?;
        let row = *sends[rank as usize].get(place as usize)?;
        Some((row, messages[row as usize].start_ps))
    }

    /// The `index`-th move of `rank` in one iteration; none when it has finished.
    pub fn exchange(&self, rank: u32, index: u64) -> Option<Exchange> {
        match &self.pattern {
            Pattern::Collective(algorithm) => {
                algorithm.exchange(self.n_ranks, rank, self.size_bytes, index)
            }
            Pattern::Pairs { talk, roles } => {
                talk.exchange(roles[rank as usize]?, self.size_bytes, index)
            }
            Pattern::Messages { messages, sends, recvs } => {
                let (sends, recvs) = (&sends[rank as usize], &recvs[rank as usize]);
                message_exchange(messages, sends, recvs, index)
            }
        }
    }
}

fn message_exchange(
    messages: &[Message],
    sends: &[u32],
    recvs: &[u32],
    index: u64,
) -> Option<Exchange> {
    let index = index as usize;
    let last = index + 1 == sends.len() + recvs.len();
    let wait = if last { Wait::All } else { Wait::No };
    let transfer = |peer, message: &Message| Transfer {
        peer,
        size_bytes: message.size_bytes,
        blocks: Blocks::None,
    };
    if let Some(row) = recvs.get(index) {
        let message = &messages[*row as usize];
        return Some(Exchange { wait, ..Exchange::recv(transfer(message.src, message)) });
    }
    let row = sends.get(index - recvs.len())?;
    let message = &messages[*row as usize];
    Some(Exchange {
        wait,
        not_before_ps: message.start_ps,
        ..Exchange::send(transfer(message.dst, message))
    })
}
