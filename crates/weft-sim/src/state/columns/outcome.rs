//! The outcome of a simulation: columns, and how it ended.

use crate::document::{Fidelity, TenantRole};
use crate::model::placement::place::Tenant;
use crate::state::columns::flows::FlowColumns;
use crate::state::columns::load::LoadColumns;
use crate::state::columns::offloads::OffloadColumns;
use crate::state::columns::ports::PortColumns;
use serde::Serialize;

/// How a simulation ended.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq, Serialize)]
#[serde(rename_all = "snake_case")]
pub enum Status {
    /// All work is done.
    #[default]
    Complete,
    /// Packets or ranks wait for each other for ever; `Outcome::message` names them.
    Deadlock,
    /// A limit was reached, or the user asked for an end.
    Stopped,
    /// Nothing of a tenant was delivered for too long; `Outcome::message` names who waits.
    Stalled,
    /// A connection is broken: its packets were repeated in vain.
    Failed,
}

/// Most rows that all tenants together write when they repeat their work.
const MAX_REPEATED_ROWS: u32 = 1 << 16;

/// One row a timed iteration (or pair, or message) of a step.
#[derive(Clone, Debug, Default, PartialEq, Eq, Serialize)]
pub struct RowColumns {
    /// Number of the tenant; 0 where the scenario names none.
    pub tenant: Vec<u32>,
    /// Number of the step in the tenant's work.
    pub step: Vec<u32>,
    /// Number of the pair in its round, or of the message; else 0.
    pub pair: Vec<u32>,
    /// Round of a step of pairs; else 0.
    pub round: Vec<u32>,
    /// Iteration, warm-up not counted; goes on counting where a tenant repeats its work.
    pub iteration: Vec<u32>,
    /// When the ideal barrier before the iteration let go (messages: when they were due).
    pub start_ps: Vec<u64>,
    /// Maximum over timing ranks of local stop - local start.
    pub duration_ps: Vec<u64>,
    /// How many rows of work that was repeated are not there.
    pub left_out: u64,
    #[serde(skip)]
    n_repeated: u32,
}

/// One entry of every row column.
#[derive(Clone, Copy, Debug)]
pub(crate) struct Row {
    pub(crate) tenant: u32,
    pub(crate) step: u32,
    pub(crate) pair: u32,
    pub(crate) round: u32,
    pub(crate) iteration: u32,
    pub(crate) start_ps: u64,
    pub(crate) duration_ps: u64,
}

impl RowColumns {
    /// A row of work that is done again, which ends when other tenants do.
    pub(crate) fn push_repeated(&mut self, row: Row) {
        if self.n_repeated == MAX_REPEATED_ROWS {
            self.left_out += 1;
            return;
        }
        self.n_repeated += 1;
        self.push(row);
    }

    pub(crate) fn push(&mut self, row: Row) {
        self.tenant.push(row.tenant);
        self.step.push(row.step);
        self.pair.push(row.pair);
        self.round.push(row.round);
        self.iteration.push(row.iteration);
        self.start_ps.push(row.start_ps);
        self.duration_ps.push(row.duration_ps);
    }
}

/// One row a tenant.
#[derive(Clone, Debug, Default, PartialEq, Eq, Serialize)]
pub struct TenantColumns {
    /// Its name; empty where the scenario names none.
    pub tenant_name: Vec<String>,
    /// Its part in the experiment.
    pub role: Vec<TenantRole>,
    /// When its first step was due.
    pub start_ps: Vec<u64>,
    /// When its work was done; 0 where it was not.
    pub end_ps: Vec<u64>,
    /// How often all its work was done.
    pub passes: Vec<u32>,
}

impl TenantColumns {
    pub(crate) fn push(&mut self, tenant: &Tenant, passes: u32, end_ps: Option<u64>) {
        self.tenant_name.push(tenant.name.clone());
        self.role.push(tenant.role);
        self.start_ps.push(tenant.start_ps);
        self.end_ps.push(end_ps.unwrap_or(0));
        self.passes.push(passes);
    }
}

/// One row a phase, where a scenario lets what repeats itself be skipped.
#[derive(Clone, Debug, Default, PartialEq, Serialize)]
pub struct SteadyColumns {
    /// Number of the tenant; 0 where the scenario names none.
    pub tenant: Vec<u32>,
    /// Number of the step in the work.
    pub step: Vec<u32>,
    /// Round of a step of pairs; else 0.
    pub round: Vec<u32>,
    /// The largest size that was simulated.
    pub size_bytes: Vec<u64>,
    /// Moves of a rank that were simulated of that size; 0 where moves are not alike.
    pub moves: Vec<u64>,
    /// Bytes that were simulated, as a share of those of all its iterations.
    pub share: Vec<f64>,
    /// Estimated error of the rows, as a share of them.
    pub error: Vec<f64>,
    /// Why it was simulated as it is; empty where it was not.
    pub whole_because: Vec<String>,
}

/// One entry of every column of these.
#[derive(Clone, Debug)]
pub(crate) struct SteadyRow {
    pub(crate) tenant: u32,
    pub(crate) step: u32,
    pub(crate) round: u32,
    pub(crate) size_bytes: u64,
    pub(crate) moves: u64,
    pub(crate) share: f64,
    pub(crate) error: f64,
    pub(crate) whole_because: &'static str,
}

/// A share in per cent, to two digits that count; hundredths at least.
fn percent(share: f64) -> String {
    let percent = (100.0 * share).max(0.01);
    let n_digits = (1.0 - percent.log10().floor()).clamp(0.0, 2.0) as usize;
    format!("{percent:.n_digits$} %")
}

impl SteadyColumns {
    /// The extrapolated and the simulated parts, in sentences for a reader of the outcome.
    pub(crate) fn notes(&self) -> Vec<String> {
        let n = self.whole_because.len();
        let is_cut = |row: &usize| self.whole_because[*row].is_empty();
        let most = |column: &[f64]| {
            let of_cut = (0..n).filter(is_cut).map(|row| column[row]);
            percent(of_cut.fold(0.0, f64::max))
        };
        let n_cut = (0..n).filter(is_cut).count();
        let mut notes = Vec::new();
        if n_cut > 0 {
            let (share, error) = (most(&self.share), most(&self.error));
            notes.push(format!(
                "steady state: {n_cut} of {n} phases are extrapolated, from up to {share} of their \
                 bytes, with an estimated error of up to {error}. Counters, hops and events are of \
                 the simulated part"
            ));
        }
        let mut reasons: Vec<&str> = self.whole_because.iter().map(String::as_str).collect();
        reasons.sort_unstable();
        for same in reasons.chunk_by(|one, other| one == other).filter(|same| !same[0].is_empty()) {
            let (k, why) = (same.len(), same[0]);
            notes.push(format!("steady state: {k} of {n} phases are simulated whole: {why}"));
        }
        notes
    }

    pub(crate) fn push(&mut self, row: SteadyRow) {
        self.tenant.push(row.tenant);
        self.step.push(row.step);
        self.round.push(row.round);
        self.size_bytes.push(row.size_bytes);
        self.moves.push(row.moves);
        self.share.push(row.share);
        self.error.push(row.error);
        self.whole_because.push(row.whole_because.to_owned());
    }
}

/// Everything a simulation gives back.
#[derive(Clone, Debug, Default, PartialEq, Serialize)]
pub struct Outcome {
    /// How it ended.
    pub status: Status,
    /// Why, where it is not complete.
    pub message: String,
    /// How closely packets were followed.
    pub fidelity: Fidelity,
    /// Effects that these results cannot show, and the reason for their fidelity; empty where all
    /// was asked for and every packet was followed.
    pub notes: Vec<String>,
    /// Measured times.
    pub rows: RowColumns,
    /// Tenants.
    pub tenants: TenantColumns,
    /// Port counters.
    pub ports: PortColumns,
    /// How many cabled ports have no row there.
    pub ports_left_out: u64,
    /// The first messages.
    pub flows: FlowColumns,
    /// The skipped part, phase by phase; counters, hops and events are of the simulated part.
    pub steady: SteadyColumns,
    /// Load of links over time.
    pub load: LoadColumns,
    /// The parts that carried out the collectives asked of switches.
    pub offloads: OffloadColumns,
    /// When all work was done, or when the simulation ended without.
    pub end_ps: u64,
    /// How often an initiator turned to another target, where transport is dynamically connected.
    pub reconnects: u64,
    /// Packets times links crossed.
    pub hops: u64,
    /// Events handled; the one thing that differs between elided and un-elided runs.
    pub events: u64,
    /// Depends on every arrival and every rank's finish: the same run has the same hash.
    pub trace_hash: u64,
}
