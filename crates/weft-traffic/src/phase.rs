//! A phase: what all ranks do together, iteration by iteration.

use crate::collective::{Algorithm, algorithms_of};
use crate::error::TrafficError;
use crate::exchange::{Blocks, Exchange, Transfer};
use crate::step::{BenchmarkName, Message, PairsKind, StepDocument};

/// Size of the acknowledgement that ends a window, as OSU's.
pub const ACK_BYTES: u64 = 4;
/// Messages in flight where a step does not say, as OSU's.
pub const DEFAULT_WINDOW: u32 = 64;

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

/// How two ranks talk.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
enum Talk {
    PingPong,
    Window(u32),
    BothWays(u32),
}

/// A rank's part in a phase of pairs.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
struct Role {
    pair: u32,
    peer: u32,
    leads: bool,
}

#[derive(Clone, Debug)]
enum Pattern {
    Pairs {
        talk: Talk,
        roles: Vec<Option<Role>>,
    },
    Collective(Algorithm),
    Messages {
        messages: Vec<Message>,
        sends: Vec<Vec<u32>>,
        recvs: Vec<Vec<u32>>,
    },
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
        self.check_keys(place)?;
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
                Ok((
                    Rows::Pair,
                    pairs(talk, &chosen, &format!("{place}.rounds[{round}]"))?,
                ))
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
            return Err(TrafficError::document(
                format!("{place}.algorithm"),
                what,
                expected,
            ));
        }
        Ok(chosen)
    }

    fn check_keys(&self, place: &str) -> Result<(), TrafficError> {
        let name = self.benchmark;
        let is = |names: &[BenchmarkName]| names.contains(&name);
        use BenchmarkName as B;
        let rules = [
            (
                "ranks",
                self.ranks.is_some(),
                is(&[B::Latency, B::Bandwidth, B::Bidirectional]),
            ),
            (
                "window",
                self.window.is_some(),
                is(&[B::Bandwidth, B::Bidirectional, B::MessageRate, B::Pairs]),
            ),
            (
                "algorithm",
                self.algorithm.is_some(),
                is(&[B::Barrier, B::Allreduce, B::Alltoall]),
            ),
            ("rounds", self.rounds.is_some(), is(&[B::Pairs])),
            ("kind", self.kind.is_some(), is(&[B::Pairs])),
            ("messages", self.messages.is_some(), is(&[B::Messages])),
        ];
        for (key, present, allowed) in rules {
            let needed = allowed && matches!(key, "rounds" | "kind" | "messages");
            if present && !allowed {
                let what = format!("'{key}' has no meaning for {}", name.as_str());
                return Err(TrafficError::document(
                    format!("{place}.{key}"),
                    what,
                    "no such key",
                ));
            }
            if needed && !present {
                let what = format!("'{key}' is missing");
                let expected = format!("'{key}' in a step '{}'", name.as_str());
                return Err(TrafficError::document(place, what, expected));
            }
        }
        if self.window == Some(0) || self.iterations == 0 {
            let key = if self.iterations == 0 {
                "iterations"
            } else {
                "window"
            };
            return Err(TrafficError::document(
                format!("{place}.{key}"),
                "it is 0",
                "1 or more",
            ));
        }
        if is(&[B::Messages]) && (self.iterations != 1 || self.warmup != 0) {
            let what = "messages are sent once";
            return Err(TrafficError::document(
                place,
                what,
                "iterations 1 and warmup 0",
            ));
        }
        Ok(())
    }
}

fn roles(place: &str, n_ranks: u32, pairs: &[[u32; 2]]) -> Result<Vec<Option<Role>>, TrafficError> {
    let mut roles = vec![None; n_ranks as usize];
    for (pair, [a, b]) in pairs.iter().copied().enumerate() {
        for (rank, peer, leads) in [(a, b, true), (b, a, false)] {
            let slot: &mut Option<Role> = roles.get_mut(rank as usize).ok_or_else(|| {
                let expected = format!("a rank below {n_ranks}");
                TrafficError::document(place, format!("there is no rank {rank}"), expected)
            })?;
            if slot.is_some() {
                let what = format!("rank {rank} is in two pairs");
                return Err(TrafficError::document(
                    place,
                    what,
                    "every rank at most once",
                ));
            }
            *slot = Some(Role {
                pair: pair as u32,
                peer,
                leads,
            });
        }
    }
    Ok(roles)
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
            return Err(TrafficError::document(
                at,
                what,
                format!("a rank below {n_ranks}"),
            ));
        }
        sends[message.src as usize].push(index);
        recvs[message.dst as usize].push(index);
    }
    Ok(Pattern::Messages {
        messages,
        sends,
        recvs,
    })
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
                Some(if self.rows == Rows::Pair {
                    role.pair
                } else {
                    0
                })
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
        let Pattern::Messages {
            messages,
            sends,
            recvs,
        } = &self.pattern
        else {
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
            Pattern::Messages {
                messages,
                sends,
                recvs,
            } => {
                let (sends, recvs) = (&sends[rank as usize], &recvs[rank as usize]);
                message_exchange(messages, sends, recvs, index)
            }
        }
    }
}

impl Talk {
    fn exchange(self, role: Role, size_bytes: u64, index: u64) -> Option<Exchange> {
        let message = Transfer {
            peer: role.peer,
            size_bytes,
            blocks: Blocks::None,
        };
        let ack = Transfer {
            size_bytes: ACK_BYTES,
            ..message
        };
        match self {
            Talk::PingPong => match index {
                0 | 1 if (index == 0) == role.leads => Some(Exchange::send(message)),
                0 | 1 => Some(Exchange::recv(message)),
                _ => None,
            },
            Talk::Window(window) => {
                let window = u64::from(window);
                let (stream, answer) = if role.leads {
                    (Exchange::send(message), Exchange::recv(ack))
                } else {
                    (Exchange::recv(message), Exchange::send(ack))
                };
                match index {
                    _ if index + 1 < window => Some(stream.without_wait()),
                    _ if index < window => Some(stream),
                    _ if index == window => Some(answer),
                    _ => None,
                }
            }
            Talk::BothWays(window) => {
                let both = Exchange::both(message, message);
                let last = index + 1 == u64::from(window);
                (index < u64::from(window)).then_some(Exchange { wait: last, ..both })
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
    let wait = index + 1 == sends.len() + recvs.len();
    let transfer = |peer, message: &Message| Transfer {
        peer,
        size_bytes: message.size_bytes,
        blocks: Blocks::None,
    };
    if let Some(row) = recvs.get(index) {
        let message = &messages[*row as usize];
        return Some(Exchange {
            wait,
            ..Exchange::recv(transfer(message.src, message))
        });
    }
    let row = sends.get(index - recvs.len())?;
    let message = &messages[*row as usize];
    Some(Exchange {
        wait,
        not_before_ps: message.start_ps,
        ..Exchange::send(transfer(message.dst, message))
    })
}
