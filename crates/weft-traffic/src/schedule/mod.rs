//! Schedules written elsewhere: GOAL texts, MSCCL algorithms, and the MPI calls of a program.
//!
//! The first two are graphs: operations of a rank, and which must be over before which. A rank here
//! does one thing after another, so a graph is laid out in levels: what is ready and meets its
//! partner is done together, and a rank waits for all it has in flight before its next level. Calls
//! have an order of their own.

mod calls;
mod goal;
mod graph;
mod groups;
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
            ScheduleFormat::Calls => calls::read(place, text, n_ranks)?,
        };
        let mut start = vec![0];
        for moves in &moves {
            start.push(start[start.len() - 1] + moves.len() as u32);
        }
        Ok(Program { start, moves: moves.into_iter().flatten().collect() })
    }

    /// The `index`-th move of a rank.
    pub(crate) fn exchange(&self, rank: u32, index: u64) -> Option<Exchange> {
        let (from, to) = (*self.start.get(rank as usize)?, *self.start.get(rank as usize + 1)?);
        let moves = &self.moves[from as usize..to as usize];
        moves.get(usize::try_from(index).ok()?).copied()
    }
}
