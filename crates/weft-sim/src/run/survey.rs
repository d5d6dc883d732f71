//! Steady state: a phase of a large size is timed at smaller ones, each in fewer moves than it has,
//! and its whole time follows.
//!
//! Two things are taken for lines, and neither without a look. *Moves*: where all moves of a phase
//! are alike, the time when the last rank begins the k-th grows evenly with k; three windows of
//! moves must agree before the remaining ones are skipped. *Sizes*: once messages are longer than
//! what the buffers on their paths hold, times grow evenly with the size; three sizes, each twice
//! the one before, must lie on a line, or a larger one is tried. What never agrees is simulated
//! whole.

use crate::document::Fidelity;
use crate::host::move_pace::{MovePace, share};
use crate::model::framing::PacketKind;
use crate::model::scenario::ValidScenario;
use crate::model::steady_state::SteadyRule;
use weft_traffic::{Growth, Phase};

/// Fewest units of size that are ever simulated of a phase whose size is cut.
const LEAST_UNITS: u64 = 32;
/// Sizes that must lie on a line.
const N_SIZES: usize = 3;
/// Sizes that are tried before the whole one: what is on no line then costs an eighth more or less.
const MAX_SIZES: usize = 4;

/// A size that was simulated.
#[derive(Clone, Debug)]
struct Sized {
    units: u64,
    /// Durations of its rows, then from one barrier to the next.
    times_ps: Vec<u64>,
    /// How far these may be wrong.
    error: f64,
}

/// A phase whose time is being found.
#[derive(Debug)]
pub(crate) struct Survey {
    rule: SteadyRule,
    growth: Growth,
    size_bytes: u64,
    /// Units of the whole size, and of the one that runs.
    n_units: u64,
    units: u64,
    done: Vec<Sized>,
    /// Share of acknowledgements in the midst of messages, which are in no size that is tried.
    unseen: f64,
    /// Bytes times moves that were simulated.
    simulated: f64,
    most_moves: u64,
}

/// The results of a survey.
#[derive(Clone, Debug)]
pub(crate) struct SurveyResult {
    /// Durations of the rows of an iteration, then from one barrier to the next.
    pub(crate) times_ps: Vec<u64>,
    /// Of which size the largest that was simulated is, and in how many moves.
    pub(crate) size_bytes: u64,
    pub(crate) moves: u64,
    /// Bytes times moves, as a share of those of one iteration.
    pub(crate) share: f64,
    /// Nothing was skipped in the end.
    pub(crate) whole: bool,
    /// Estimated error.
    pub(crate) error: f64,
}

impl Survey {
    /// How to find what a phase takes.
    ///
    /// # Errors
    /// Why it is simulated as it is.
    pub(crate) fn new(
        scenario: &ValidScenario,
        rule: SteadyRule,
        phase: &Phase,
    ) -> Result<Survey, &'static str> {
        if let Some(why) = scenario.unsteady() {
            return Err(why);
        }
        let growth = phase.growth(scenario.mtu_bytes)?;
        let size_bytes = phase.size_bytes();
        let n_units = growth.n_units(size_bytes);
        let mut survey = Survey {
            rule,
            growth,
            size_bytes,
            n_units,
            units: n_units,
            done: Vec::new(),
            unseen: 0.0,
            simulated: 0.0,
            most_moves: 0,
        };
        let (_, most) = growth.message_bytes(size_bytes);
        let hosts = &scenario.hosts;
        let of_size = |bytes| [hosts.regime_of(bytes), hosts.inner_regime_of(bytes)];
        let of_most = of_size(most);
        let regimes = |units: u64| {
            let (least, _) = growth.message_bytes(survey.bytes_of(units));
            of_size(least) == of_most
        };
        let depth = scenario.depth_bytes(phase, &growth).div_ceil(growth.grain_bytes);
        let least = if growth.adds_moves() { 2 * rule.least_moves } else { LEAST_UNITS };
        let mut first = depth.div_ceil(2).max(least);
        while first < n_units && !regimes(first) {
            first *= 2;
        }
        // Three sizes, each twice the last, are seven times the first. Flows cost the same at any.
        let by_size = scenario.chosen.fidelity == Fidelity::Packet;
        if by_size && first < n_units / 8 {
            survey.units = first;
            survey.unseen = survey.acknowledged_midway(scenario);
        } else if growth.equal_moves.is_none_or(|moves| moves <= 2 * rule.least_moves) {
            return Err(if by_size {
                "it is too short for anything to repeat itself"
            } else {
                "flows take as long to simulate at any size"
            });
        }
        Ok(survey)
    }

    /// Share of acknowledgements that longer messages have in their midst and the first size has
    /// not.
    fn acknowledged_midway(&self, scenario: &ValidScenario) -> f64 {
        let transport = &scenario.transport;
        let (_, most) = self.growth.message_bytes(self.next_bytes());
        if !transport.acknowledge || self.growth.adds_moves() || most > transport.ack_bytes {
            return 0.0;
        }
        f64::from(scenario.framing.control_bytes(PacketKind::Ack)) / transport.ack_bytes as f64
    }

    fn bytes_of(&self, units: u64) -> u64 {
        self.growth.cut(self.size_bytes, units)
    }

    /// Moves a rank has in one iteration, where they are alike; else one.
    fn n_moves(&self) -> u64 {
        self.growth.equal_moves.unwrap_or(1)
    }

    /// The size to simulate next.
    pub(crate) fn next_bytes(&self) -> u64 {
        self.bytes_of(self.units)
    }

    /// The pace to look for.
    pub(crate) fn pace(&self) -> Option<MovePace> {
        self.growth.equal_moves.map(|moves| MovePace::new(self.rule, moves))
    }

    /// The size that was next took so long; what all take, if that is known now.
    pub(crate) fn timed(
        &mut self,
        mut times_ps: Vec<u64>,
        pace: Option<&MovePace>,
    ) -> Option<SurveyResult> {
        let (skipped_ps, error) = pace.map_or((0, 0.0), MovePace::skipped);
        for ps in &mut times_ps {
            *ps = ps.saturating_add(skipped_ps);
        }
        let moves = pace.map_or(1, MovePace::n_simulated);
        self.most_moves = moves;
        self.simulated += moves as f64 * self.bytes_of(self.units) as f64;
        self.done.push(Sized { units: self.units, times_ps, error });
        if self.units == self.n_units {
            let whole = self.done.pop().expect("just pushed");
            return Some(self.found(whole.times_ps, whole.error));
        }
        let found = self.line();
        if found.is_none() {
            let again = self.done.len() < MAX_SIZES && self.units < self.n_units / 2;
            self.units = if again { 2 * self.units } else { self.n_units };
        }
        found
    }

    /// The whole size's times, if the last three sizes lie on a line.
    fn line(&self) -> Option<SurveyResult> {
        let first = self.done.len().checked_sub(N_SIZES)?;
        let [a, b, c] = &self.done[first..] else { unreachable!("three sizes") };
        let mut times_ps = Vec::with_capacity(c.times_ps.len());
        let mut error: f64 = 0.0;
        for row in 0..c.times_ps.len() {
            let of = |sized: &Sized| (sized.units, sized.times_ps[row]);
            let (near, far) = (self.on(of(b), of(c))?, self.on(of(a), of(b))?);
            error = error.max(share(near.abs_diff(far), near));
            times_ps.push(near);
        }
        if error > self.rule.tolerance {
            return None;
        }
        // A curve that bends from one size to the next may bend at each doubling left out.
        let doublings = (self.n_units as f64 / c.units as f64).log2();
        // A line through b and c = 2 b, far beyond them, is as wrong as twice c's error and b's.
        let of_moves = 2.0 * c.error + b.error;
        Some(self.found(times_ps, error * doublings.max(1.0) + of_moves + self.unseen))
    }

    /// Where the line through two sizes is at the whole one; nowhere where it does not rise.
    fn on(&self, (a, a_ps): (u64, u64), (b, b_ps): (u64, u64)) -> Option<u64> {
        let rise = u128::from(b_ps.checked_sub(a_ps)?) * u128::from(self.n_units - b);
        let ps = u128::from(b_ps) + rise / u128::from(b - a);
        Some(u64::try_from(ps).unwrap_or(u64::MAX))
    }

    fn found(&self, times_ps: Vec<u64>, error: f64) -> SurveyResult {
        let whole = self.size_bytes as f64 * self.n_moves() as f64;
        SurveyResult {
            times_ps,
            size_bytes: self.bytes_of(self.units),
            moves: self.growth.equal_moves.map_or(0, |_| self.most_moves),
            whole: self.units == self.n_units && self.most_moves == self.n_moves(),
            share: self.simulated / whole,
            error,
        }
    }
}
