//! How fast the moves of a phase follow one another, and which of them are skipped.

use crate::model::steady_state::SteadyRule;

/// How far the moves to come may differ from the last two of three windows, as a multiple of what
/// these differ by: a mean of two is off by as much in one case of twenty, by Student's t of two
/// degrees of freedom (4.3 / 1.69 / sqrt 2, rounded up).
const MOVES_TO_COME: f64 = 2.0;

/// The moves of a phase that are skipped.
#[derive(Clone, Copy, Debug)]
struct SkippedMoves {
    /// Moves from this on are later ones.
    at: u64,
    /// By so many.
    skipped: u64,
    /// The time that they would have taken.
    ps: u64,
    /// By how much the windows differ, as a share.
    spread: f64,
}

/// When the last rank begins each move, of a phase whose moves are all alike.
#[derive(Clone, Debug, Default)]
pub(crate) struct MovePace {
    tolerance: f64,
    n_moves: u64,
    n_members: u32,
    /// Ranks that have begun a move.
    n_begun: Vec<u32>,
    /// When all had.
    begun_ps: Vec<u64>,
    next_look: u64,
    cut: Option<SkippedMoves>,
}

impl MovePace {
    pub(crate) fn new(rule: SteadyRule, n_moves: u64) -> MovePace {
        MovePace {
            tolerance: rule.tolerance,
            n_moves,
            next_look: rule.least_moves,
            ..MovePace::default()
        }
    }

    /// How many ranks take part.
    pub(crate) fn of_members(mut self, n_members: u32) -> MovePace {
        self.n_members = n_members;
        self
    }

    /// Whether it wants to know of moves.
    pub(crate) fn looks(&self) -> bool {
        self.cut.is_none()
    }

    /// The move that comes as the `index`-th.
    pub(crate) fn index(&self, index: u64) -> u64 {
        match self.cut {
            Some(cut) if index >= cut.at => index + cut.skipped,
            _ => index,
        }
    }

    /// A rank begins its `index`-th move.
    pub(crate) fn begun(&mut self, index: u64, now_ps: u64) {
        if self.cut.is_some() {
            return;
        }
        let index = index as usize;
        if index >= self.n_begun.len() {
            self.n_begun.resize(index + 1, 0);
        }
        self.n_begun[index] += 1;
        if self.n_begun[index] == self.n_members {
            self.begun_ps.push(now_ps);
            if self.begun_ps.len() as u64 == self.next_look + 1 {
                self.look();
            }
        }
    }

    /// Three windows of moves must agree; the first quarter of all is left to the start, and the
    /// second half shows the pace.
    pub(crate) fn look(&mut self) {
        let n = self.next_look;
        self.next_look = 2 * n;
        let quarter = n / 4;
        let spread = self.spread::<3>(quarter, quarter);
        let next = self.n_begun.len() as u64;
        if spread > self.tolerance || next >= self.n_moves {
            return;
        }
        // Three may agree by chance, which six of half their length seldom do. By chance alone the
        // range of these is 2.1 times that of those (2.53 sqrt 2 / 1.69).
        let spread = spread.max(self.spread::<6>(quarter, quarter / 2) / 2.0);
        let skipped = self.n_moves - next;
        let last_ps = self.begun_ps[4 * quarter as usize] - self.begun_ps[2 * quarter as usize];
        let ps = u128::from(last_ps) * u128::from(skipped) / u128::from(2 * quarter);
        let ps = u64::try_from(ps).unwrap_or(u64::MAX);
        self.cut = Some(SkippedMoves { at: next, skipped, ps, spread });
    }

    /// How far `N` windows of so many moves from the `first` on differ, as a share of one.
    pub(crate) fn spread<const N: usize>(&self, first: u64, moves: u64) -> f64 {
        let at = |k: usize| self.begun_ps[first as usize + k * moves as usize];
        let windows: [u64; N] = std::array::from_fn(|k| at(k + 1) - at(k));
        let (least, most) = (windows.iter().min().unwrap(), windows.iter().max().unwrap());
        share(most - least, (at(N) - at(0)) / N as u64)
    }

    pub(crate) fn n_simulated(&self) -> u64 {
        self.n_moves - self.cut.map_or(0, |cut| cut.skipped)
    }

    /// The skipped part, and its possible error, as a share of all.
    pub(crate) fn skipped(&self) -> (u64, f64) {
        let of_all = |cut: SkippedMoves| {
            MOVES_TO_COME * cut.spread * cut.skipped as f64 / self.n_moves as f64
        };
        self.cut.map_or((0, 0.0), |cut| (cut.ps, of_all(cut)))
    }
}

pub(crate) fn share(part: u64, whole: u64) -> f64 {
    if part == 0 { 0.0 } else { part as f64 / whole.max(1) as f64 }
}
