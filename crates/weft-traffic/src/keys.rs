//! Keys of a step: those of each benchmark, and their largest values.

use crate::collective::{Algorithm, MAX_SIZE_BYTES, Operation, algorithms_of};
use crate::error::{TrafficError, refuse};
use crate::step::{BenchmarkName, StepDocument};

/// Most iterations of a step, warm-up included.
const MAX_ITERATIONS: u64 = 10_000_000;
/// Most messages of a window.
const MAX_WINDOW: u32 = 1 << 20;
/// Most rows of a step.
pub(crate) const MAX_ROWS: u64 = 100_000_000;
/// Latest start of a message: eleven days.
const MAX_START_PS: u64 = 1_000_000_000_000_000_000;
/// Longest compute phase: eleven days.
const MAX_COMPUTE_NS: f64 = 1e15;

impl StepDocument {
    /// Check that the keys of the step belong to its benchmark, and their values.
    pub(crate) fn check_keys(&self, place: &str, n_ranks: u32) -> Result<(), TrafficError> {
        self.check_presence(place)?;
        self.check_limits(place)?;
        self.check_shares(place)?;
        if let Some(root) = self.root.filter(|root| *root >= n_ranks) {
            let what = format!("there is no rank {root}");
            return refuse(place, "root", what, format!("a rank below {n_ranks}"));
        }
        self.check_order(place)?;
        use BenchmarkName as B;
        let needs_two = matches!(
            self.benchmark,
            B::MessageRate
                | B::NaturalRing
                | B::RandomRing
                | B::Bisect
                | B::Incast
                | B::FanIn
                | B::FanOut
        );
        if needs_two && n_ranks < 2 {
            let what = "one rank has no partner";
            return Err(TrafficError::document(place, what, "two ranks or more"));
        }
        let once = matches!(self.benchmark, B::Messages);
        if once && (self.iterations != 1 || self.warmup != 0) {
            let what = format!("{} are sent once", self.benchmark.as_str());
            return Err(TrafficError::document(place, what, "iterations 1 and warmup 0"));
        }
        Ok(())
    }

    /// Nodes are known by the order of ranks, so an algorithm that takes a leader of each leaves
    /// that order alone.
    fn check_order(&self, place: &str) -> Result<(), TrafficError> {
        if !self.algorithm.is_some_and(Algorithm::has_leaders) {
            return Ok(());
        }
        if self.shuffle.is_some() {
            refuse(place, "shuffle", "leaders know nodes, not an order", "no such key")?;
        }
        match self.root {
            None | Some(0) => Ok(()),
            Some(root) => refuse(place, "root", format!("it is {root}"), "0, the first leader"),
        }
    }

    fn check_presence(&self, place: &str) -> Result<(), TrafficError> {
        let name = self.benchmark.as_str();
        for (key, present, belongs) in self.uses() {
            if present && !belongs {
                let what = format!("'{key}' has no meaning for {name}");
                return refuse(place, key, what, "no such key");
            }
            let needed = matches!(key, "rounds" | "kind" | "messages" | "permutation" | "text")
                || key == "compute_ns" && self.benchmark == BenchmarkName::Compute;
            if needed && belongs && !present {
                let what = format!("'{key}' is missing");
                let expected = format!("'{key}' in a step '{name}'");
                return Err(TrafficError::document(place, what, expected));
            }
        }
        Ok(())
    }

    /// By key: whether the step has it, and whether its benchmark (and algorithm) can.
    fn uses(&self) -> [(&'static str, bool, bool); 27] {
        use {BenchmarkName as B, Operation as O};
        let is = |names: &[B]| names.contains(&self.benchmark);
        let operation = self.benchmark.operation();
        let is_any = |of: &[Operation]| operation.is_some_and(|operation| of.contains(&operation));
        let fan = is(&[B::Incast, B::FanIn, B::FanOut]);
        let rooted = is_any(&[O::Broadcast, O::Reduce, O::Gather, O::Scatter]);
        let skewed = is_any(&[O::Alltoallv]);
        let chosen = self.algorithm.or(self.default_algorithm());
        let direct = matches!(chosen, Some(Algorithm::Pairwise | Algorithm::Linear))
            && is_any(&[O::Alltoall, O::Alltoallv]);
        let stream = is(&[B::Bandwidth, B::Bidirectional, B::MessageRate, B::Pairs]);
        let flows = fan || is(&[B::Permutation, B::Bisect]);
        let ring = is(&[B::NaturalRing, B::RandomRing]);
        let by_leaders = self.between.filter(|_| chosen == Some(Algorithm::TwoLevel));
        let segmented = matches!(
            by_leaders.or(chosen),
            Some(Algorithm::DoubleBinaryTree | Algorithm::Chain | Algorithm::NvlsTree)
        );
        let incast = is(&[B::Incast]);
        let collective = operation.is_some();
        let computes = collective || is(&[B::NaturalRing, B::RandomRing, B::Compute]);
        [
            ("ranks", self.ranks.is_some(), is(&[B::Latency, B::Bandwidth, B::Bidirectional])),
            ("window", self.window.is_some(), stream || flows || direct || ring),
            ("algorithm", self.algorithm.is_some(), collective),
            ("root", self.root.is_some(), rooted || fan),
            ("shuffle", self.shuffle.is_some(), collective || is(&[B::RandomRing])),
            ("barrier_every_step", self.barrier_every_step, direct),
            ("closing_barrier", self.closing_barrier, ring),
            ("segment_bytes", self.segment_bytes.is_some(), segmented),
            (
                "tasks_per_node",
                self.tasks_per_node.is_some(),
                chosen.is_some_and(Algorithm::knows_nodes),
            ),
            ("fallback", self.fallback.is_some(), chosen.is_some_and(Algorithm::is_offloaded)),
            ("between", self.between.is_some(), chosen == Some(Algorithm::TwoLevel)),
            ("skew", self.skew.is_some(), skewed),
            ("skew_of", self.skew_of.is_some(), skewed),
            ("compute_ns", self.compute_ns.is_some(), computes),
            ("imbalance", self.imbalance.is_some(), self.compute_ns.is_some()),
            ("permutation", self.permutation.is_some(), is(&[B::Permutation])),
            ("seed", self.seed.is_some(), is(&[B::Bisect])),
            ("both_ways", self.both_ways, is(&[B::Bisect])),
            ("fan", self.fan.is_some(), fan),
            ("bystander_bytes", self.bystander_bytes.is_some(), incast),
            ("bystander_start_ns", self.bystander_start_ns.is_some(), incast),
            ("format", self.format.is_some(), is(&[B::Schedule])),
            ("text", self.text.is_some(), is(&[B::Schedule])),
            ("path", self.path.is_some(), is(&[B::Schedule])),
            ("rounds", self.rounds.is_some(), is(&[B::Pairs])),
            ("kind", self.kind.is_some(), is(&[B::Pairs])),
            ("messages", self.messages.is_some(), is(&[B::Messages])),
        ]
    }

    fn default_algorithm(&self) -> Option<Algorithm> {
        Some(algorithms_of(self.benchmark.operation()?)[0])
    }

    fn check_limits(&self, place: &str) -> Result<(), TrafficError> {
        let messages = self.messages.as_deref().unwrap_or_default();
        let sizes = messages.iter().map(|message| message.size_bytes);
        let sizes = sizes.chain([self.size_bytes, self.bystander_bytes.unwrap_or(0)]);
        if let Some(size_bytes) = sizes.max().filter(|size| *size > MAX_SIZE_BYTES) {
            let what = format!("a message of {size_bytes} bytes");
            return Err(TrafficError::document(place, what, "at most 1 TiB"));
        }
        let iterations = u64::from(self.iterations) + u64::from(self.warmup);
        if iterations > MAX_ITERATIONS {
            let what = format!("{iterations} iterations, warm-up included");
            let expected = format!("at most {MAX_ITERATIONS}");
            return Err(TrafficError::document(place, what, expected));
        }
        if let Some(window) = self.window.filter(|window| *window > MAX_WINDOW) {
            let expected = format!("at most {MAX_WINDOW}");
            return refuse(place, "window", format!("{window} messages"), expected);
        }
        let counts = [
            ("iterations", u64::from(self.iterations)),
            ("window", self.window.map_or(1, u64::from)),
            ("segment_bytes", self.segment_bytes.unwrap_or(1)),
            ("tasks_per_node", self.tasks_per_node.map_or(1, u64::from)),
            ("fan", self.fan.map_or(1, u64::from)),
        ];
        if let Some((key, _)) = counts.iter().find(|(_, count)| *count == 0) {
            return refuse(place, key, "it is 0", "1 or more");
        }
        let n_pairs: usize = self.rounds.iter().flatten().map(Vec::len).sum();
        check_rows(place, u64::from(self.iterations) * (n_pairs as u64).max(1))?;
        if messages.iter().any(|message| message.start_ps > MAX_START_PS) {
            let what = "a message that starts after eleven days";
            return Err(TrafficError::document(place, what, "start_ps up to 1e18"));
        }
        Ok(())
    }

    fn check_shares(&self, place: &str) -> Result<(), TrafficError> {
        let figures = [
            ("skew", self.skew, 1.0),
            ("imbalance", self.imbalance, 1000.0),
            ("compute_ns", self.compute_ns, MAX_COMPUTE_NS),
            ("bystander_start_ns", self.bystander_start_ns, MAX_COMPUTE_NS),
        ];
        for (key, value, most) in figures {
            if let Some(value) = value.filter(|value| !(0.0..=most).contains(value)) {
                return refuse(place, key, format!("it is {value}"), format!("from 0 to {most}"));
            }
        }
        if self.bystander_start_ns.is_some() && self.bystander_bytes.is_none() {
            let what = "bystanders that send nothing";
            return refuse(place, "bystander_start_ns", what, "'bystander_bytes' too");
        }
        Ok(())
    }
}

/// Refuse more rows than an outcome can hold.
pub(crate) fn check_rows(place: &str, n_rows: u64) -> Result<(), TrafficError> {
    if n_rows > MAX_ROWS {
        let what = format!("{n_rows} rows");
        return Err(TrafficError::document(place, what, format!("at most {MAX_ROWS}")));
    }
    Ok(())
}
