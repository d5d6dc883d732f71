//! Schedules written elsewhere: GOAL texts, MSCCL algorithms, and the MPI calls of a program.
//!
//! The first two are graphs: operations of a rank, and which must be over before which. A rank here
//! does one thing after another, so a graph is laid out in levels: what is ready and meets its
//! partner is done together, and a rank waits for all it has in flight before its next level. Calls
//! have an order of their own.

mod calls;
mod goal;
mod graph;
mod msccl;
mod text;

use crate::error::TrafficError;
use crate::exchange::Exchange;
use serde::{Deserialize, Serialize};

/// How a schedule is written.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq, Serialize, Deserialize)]
#[serde(rename_all = "snake_case")]
pub enum ScheduleFormat {
    /// GOAL's text format.
    #[default]
    Goal,
    /// The XML of an MSCCL algorithm.
    Msccl,
    /// The MPI calls of each rank.
    Calls,
}

/// A schedule laid out: the moves of all ranks, one rank after the other.
#[derive(Clone, Debug)]
pub(crate) struct Program {
    start: Vec<u32>,
    moves: Vec<Exchange>,
    /// By rank, the numbers of the moves at which it passes each mark.
    marks: Vec<Vec<u32>>,
    /// By channel, who sends on it.
    sources: Vec<u32>,
}

impl Program {
    /// Read and lay out a schedule for `n_ranks` ranks. `place` is where its text stands;
    /// `size_bytes` is the buffer of an MSCCL algorithm.
    pub(crate) fn read(
        place: &str,
        format: ScheduleFormat,
        text: &str,
        n_ranks: u32,
        size_bytes: u64,
    ) -> Result<Program, TrafficError> {
        let laid_out = |ranks: Vec<_>| graph::lay_out(place, &ranks);
        let moves = match format {
            ScheduleFormat::Goal => laid_out(goal::read(place, text, n_ranks)?)?,
            ScheduleFormat::Msccl => laid_out(msccl::read(place, text, n_ranks, size_bytes)?)?,
            ScheduleFormat::Calls => return Ok(calls::read(place, text, n_ranks)?.into()),
        };
        Ok(Calls { moves, ..Calls::default() }.into())
    }

    /// Who sends on a channel.
    pub(crate) fn source(&self, channel: u32) -> u32 {
        self.sources[channel as usize]
    }

    /// How many marks every rank passes.
    pub(crate) fn n_marks(&self) -> u32 {
        self.marks.iter().map(Vec::len).max().unwrap_or(0) as u32
    }

    /// The mark that a rank passes at its `index`-th move.
    pub(crate) fn mark(&self, rank: u32, index: u64) -> Option<u32> {
        let own = self.marks.get(rank as usize)?;
        let found = own.binary_search_by_key(&index, |at| u64::from(*at)).ok()?;
        Some(found as u32)
    }

    /// The `index`-th move of a rank.
    pub(crate) fn exchange(&self, rank: u32, index: u64) -> Option<Exchange> {
        let (from, to) = (*self.start.get(rank as usize)?, *self.start.get(rank as usize + 1)?);
        let moves = &self.moves[from as usize..to as usize];
        moves.get(usize::try_from(index).ok()?).copied()
    }
}

/// What each rank does, the numbers of the moves at which it passes marks, and by channel who sends
/// on it.
#[derive(Default)]
struct Calls {
    moves: Vec<Vec<Exchange>>,
    marks: Vec<Vec<u32>>,
    sources: Vec<u32>,
}

impl From<Calls> for Program {
    fn from(calls: Calls) -> Program {
        let Calls { moves, marks, sources } = calls;
        let mut start = vec![0];
        for moves in &moves {
            start.push(start[start.len() - 1] + moves.len() as u32);
        }
        Program { start, moves: moves.into_iter().flatten().collect(), marks, sources }
    }
}
