//! The plan of a step: a step as written becomes phases.

use crate::collective::{
    Algorithm, Collective, DEFAULT_SEGMENT_BYTES, Operation, Skew, algorithms_of, check_collective,
};
use crate::error::{TrafficError, refuse};
use crate::flows::{Fan, Flows, bisect, permutation};
use crate::keys::check_rows;
use crate::pair::{DEFAULT_WINDOW, PairTraffic, roles};
use crate::phase::{Compute, Pattern, Phase, Rows};
use crate::renumbering::Renumbering;
use crate::schedule::Program;
use crate::step::{BenchmarkName, Message, PairsKind, StepDocument};

/// Seed of what is drawn at random where a step does not set it.
const DEFAULT_SEED: u64 = 1;
/// Largest file of a schedule.
const MAX_SCHEDULE_BYTES: u64 = 1 << 28;

impl StepDocument {
    /// How many phases the step has: one, or one a round.
    pub fn n_phases(&self) -> u32 {
        self.rounds.as_ref().map_or(1, |rounds| rounds.len() as u32)
    }

    /// Halve every size so often, but none to nothing, and do each iteration once: a smaller step
    /// of the same kind. Sizes in a schedule's text stay.
    pub fn cut(&mut self, n_halvings: u32) {
        let halve = |size: &mut u64| *size = (*size).min(1).max(*size >> n_halvings.min(63));
        halve(&mut self.size_bytes);
        self.bystander_bytes.iter_mut().for_each(halve);
        self.messages.iter_mut().flatten().for_each(|message| halve(&mut message.size_bytes));
        (self.iterations, self.warmup) = (1, 0);
    }

    /// Take from outside what the step leaves there: the ranks of a node from the placement, and
    /// the schedule from its file. To be called once, before [`StepDocument::check`].
    pub fn prepare(&mut self, place: &str, tasks_per_node: u32) -> Result<(), TrafficError> {
        if self.algorithm.is_some_and(Algorithm::knows_nodes) {
            let own = *self.tasks_per_node.get_or_insert(tasks_per_node);
            if self.algorithm.is_some_and(Algorithm::is_offloaded) && own != tasks_per_node {
                let what = format!("it is {own}, and nodes have {tasks_per_node} each");
                let expected = "the placement's, or none of this key";
                return refuse(place, "tasks_per_node", what, expected);
            }
        }
        self.load(place)
    }

    /// Read the schedule a step names, so that the step holds its text.
    fn load(&mut self, place: &str) -> Result<(), TrafficError> {
        let Some(path) = &self.path else {
            return Ok(());
        };
        if self.text.is_some() {
            let what = "a schedule in a file and one in 'text'";
            return refuse(place, "path", what, "one of the two");
        }
        let unreadable = |error: std::io::Error| {
            let what = format!("cannot read '{path}' ({error})");
            TrafficError::document(format!("{place}.path"), what, "a readable text in UTF-8")
        };
        let file = std::fs::metadata(path).map_err(unreadable)?;
        // A pipe or device may never end.
        if !file.is_file() {
            let what = format!("'{path}' is no file");
            return refuse(place, "path", what, "a file of text in UTF-8");
        }
        let n_bytes = file.len();
        if n_bytes > MAX_SCHEDULE_BYTES {
            let what = format!("'{path}' has {n_bytes} bytes");
            return refuse(place, "path", what, format!("at most {MAX_SCHEDULE_BYTES}"));
        }
        self.text = Some(std::fs::read_to_string(path).map_err(unreadable)?);
        self.path = None;
        Ok(())
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
        let pattern = self.pattern(place, round, n_ranks)?;
        let shuffle = match self.benchmark {
            BenchmarkName::RandomRing => Some(self.shuffle.unwrap_or(DEFAULT_SEED)),
            _ => self.shuffle,
        };
        let collective = matches!(pattern, Pattern::Collective(_) | Pattern::Ring { .. });
        Ok(Phase {
            step,
            round,
            iterations: self.iterations,
            warmup: self.warmup,
            rows: match pattern {
                Pattern::Flows(_) => Rows::Message,
                Pattern::Pairs { .. } if self.benchmark == BenchmarkName::Pairs => Rows::Pair,
                Pattern::Schedule(ref program) if program.n_marks() > 0 => Rows::Interval,
                _ => Rows::Whole,
            },
            n_ranks,
            renumbering: Renumbering::new(n_ranks, shuffle, self.root).filter(|_| collective),
            pattern,
            compute: self.compute_ns.map(|compute_ns| Compute {
                ps: compute_ns * 1000.0,
                imbalance: self.imbalance.unwrap_or(0.0),
            }),
        })
    }

    fn pattern(&self, place: &str, round: u32, n_ranks: u32) -> Result<Pattern, TrafficError> {
        if let Some(operation) = self.benchmark.operation() {
            return Ok(Pattern::Collective(self.collective(place, operation, n_ranks)?));
        }
        match self.benchmark {
            BenchmarkName::NaturalRing | BenchmarkName::RandomRing => {
                let window = self.window.unwrap_or(1);
                let barrier = || self.collective(place, Operation::Barrier, n_ranks);
                let barrier = self.closing_barrier.then(barrier).transpose()?;
                Ok(Pattern::Ring { size_bytes: self.size_bytes, window, barrier })
            }
            BenchmarkName::Compute => Ok(Pattern::Compute),
            BenchmarkName::Schedule => self.schedule(place, n_ranks),
            BenchmarkName::Latency | BenchmarkName::Bandwidth | BenchmarkName::Bidirectional => {
                self.pair_pattern(place, round, n_ranks)
            }
            BenchmarkName::MessageRate | BenchmarkName::Pairs => {
                self.pair_pattern(place, round, n_ranks)
            }
            _ => self.flow_pattern(place, n_ranks),
        }
    }

    fn schedule(&self, place: &str, n_ranks: u32) -> Result<Pattern, TrafficError> {
        let text = self.text.as_deref().unwrap_or_default();
        let format = self.format.unwrap_or_default();
        let place = format!("{place}.text");
        let program = Program::read(&place, format, text, n_ranks, self.size_bytes)?;
        Ok(Pattern::Schedule(program))
    }

    fn pair_pattern(&self, place: &str, round: u32, n_ranks: u32) -> Result<Pattern, TrafficError> {
        let (size_bytes, window) = (self.size_bytes, self.window.unwrap_or(DEFAULT_WINDOW));
        let traffic = match (self.benchmark, self.kind) {
            (BenchmarkName::Latency, _) | (_, Some(PairsKind::Latency)) => {
                PairTraffic::PingPong { size_bytes }
            }
            (BenchmarkName::Bidirectional, _) | (_, Some(PairsKind::Bidirectional)) => {
                PairTraffic::BothWays { size_bytes, window }
            }
            _ => PairTraffic::Window { size_bytes, window },
        };
        let (pairs, at) = match self.benchmark {
            BenchmarkName::MessageRate => {
                let half = n_ranks / 2;
                ((0..half).map(|a| [a, a + half]).collect(), place.to_owned())
            }
            BenchmarkName::Pairs => {
                let rounds = self.rounds.as_deref().unwrap_or_default();
                let mut pairs = rounds.get(round as usize).cloned().unwrap_or_default();
                if self.kind == Some(PairsKind::BandwidthBa) {
                    pairs.iter_mut().for_each(|pair| pair.reverse());
                }
                (pairs, format!("{place}.rounds[{round}]"))
            }
            _ => (vec![self.ranks.unwrap_or([0, 1])], format!("{place}.ranks")),
        };
        Ok(Pattern::Pairs { traffic, roles: roles(&at, n_ranks, &pairs)? })
    }

    fn collective(
        &self,
        place: &str,
        operation: Operation,
        n: u32,
    ) -> Result<Collective, TrafficError> {
        let known = algorithms_of(operation);
        let algorithm = self.algorithm.unwrap_or(known[0]);
        if !known.contains(&algorithm) {
            let what = format!("{algorithm:?} is no algorithm of {}", self.benchmark.as_str());
            let expected = format!("one of {known:?} in snake_case");
            return Err(TrafficError::document(format!("{place}.algorithm"), what, expected));
        }
        for (key, named) in [("fallback", self.fallback), ("between", self.between)] {
            let is_of_ranks = |of: &Algorithm| {
                known.contains(of) && !of.is_offloaded() && !(key == "between" && of.has_leaders())
            };
            if let Some(other) = named.filter(|of| !is_of_ranks(of)) {
                let what = format!("{other:?} is no algorithm of ranks alone");
                let expected = format!("one of {known:?} in snake_case without switches");
                return Err(TrafficError::document(format!("{place}.{key}"), what, expected));
            }
        }
        let skew = Skew { amount: self.skew.unwrap_or(0.0), of: self.skew_of.unwrap_or_default() };
        let collective = Collective {
            window: self.window,
            barrier_every_step: self.barrier_every_step,
            segment_bytes: self.segment_bytes.unwrap_or(DEFAULT_SEGMENT_BYTES),
            tasks_per_node: self.tasks_per_node.unwrap_or(1),
            fallback: self.fallback,
            between: self.between,
            skew,
            ..Collective::new(operation, algorithm, n, self.size_bytes)
        };
        if self.barrier_every_step && self.window.unwrap_or(1) > 1 {
            let what = "several partners at a time and a barrier after each";
            refuse(place, "window", what, "a window of 1, or none")?;
        }
        check_collective(place, &collective)?;
        Ok(collective)
    }

    fn flow_pattern(&self, place: &str, n_ranks: u32) -> Result<Pattern, TrafficError> {
        let flows = self.flows(place, n_ranks)?;
        let window = self.window.unwrap_or(1);
        let iterations = u64::from(self.iterations) * u64::from(window);
        check_rows(place, iterations.saturating_mul(flows.len() as u64))?;
        Ok(Pattern::Flows(Flows::new(n_ranks, flows, window)))
    }

    fn flows(&self, place: &str, n_ranks: u32) -> Result<Vec<Message>, TrafficError> {
        let size_bytes = self.size_bytes;
        match (self.benchmark, self.permutation) {
            (BenchmarkName::Permutation, Some(kind)) => {
                permutation(place, n_ranks, kind, size_bytes)
            }
            (BenchmarkName::Bisect, _) => {
                let seed = self.seed.unwrap_or(DEFAULT_SEED);
                Ok(bisect(n_ranks, seed, self.both_ways, size_bytes))
            }
            (BenchmarkName::Incast | BenchmarkName::FanIn | BenchmarkName::FanOut, _) => {
                self.fan(place, n_ranks)
            }
            _ => {
                let messages = self.messages.clone().unwrap_or_default();
                check_messages(place, n_ranks, &messages)?;
                Ok(messages)
            }
        }
    }

    fn fan(&self, place: &str, n_ranks: u32) -> Result<Vec<Message>, TrafficError> {
        let most = n_ranks - 1;
        let width = self.fan.unwrap_or(most);
        if width > most {
            let what = format!("{width} ranks besides the root");
            refuse(place, "fan", what, format!("at most {most}"))?;
        }
        let root = self.root.unwrap_or(0);
        let fan = Fan { n_ranks, root, width, size_bytes: self.size_bytes };
        if self.benchmark == BenchmarkName::FanOut {
            return Ok(fan.outwards());
        }
        let mut flows = fan.inwards();
        if let Some(size_bytes) = self.bystander_bytes {
            let start_ps = (self.bystander_start_ns.unwrap_or(0.0) * 1000.0).round() as u64;
            flows.extend(fan.bystanders(size_bytes, start_ps));
        }
        Ok(flows)
    }
}

fn check_messages(place: &str, n_ranks: u32, messages: &[Message]) -> Result<(), TrafficError> {
    for (index, message) in messages.iter().enumerate() {
        let at = format!("{place}.messages[{index}]");
        if message.src == message.dst {
            let what = format!("rank {} sends to itself", message.src);
            return Err(TrafficError::document(at, what, "two different ranks"));
        }
        if message.src.max(message.dst) >= n_ranks {
            let what = format!("there is no rank {}", message.src.max(message.dst));
            return Err(TrafficError::document(at, what, format!("a rank below {n_ranks}")));
        }
    }
    Ok(())
}
