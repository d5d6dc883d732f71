//! The parts that carried out the collectives asked of switches.

use crate::model::in_network::collective_method::CollectiveMethod;
use serde::Serialize;

/// Most rows of a run: steps that are done again have one only where something changes.
const MAX_ROWS: usize = 1 << 16;

/// One row a step that was asked of switches.
#[derive(Clone, Debug, Default, PartialEq, Eq, Serialize)]
pub struct OffloadColumns {
    /// Number of the tenant.
    pub tenant: Vec<u32>,
    /// Number of the step in its work.
    pub step: Vec<u32>,
    /// The part that carried it out.
    pub by: Vec<CollectiveMethod>,
    /// Why not the switches; empty where they did.
    pub reason: Vec<String>,
}

impl OffloadColumns {
    /// Write down who carries out a step, unless its last row is the same.
    pub(crate) fn push(&mut self, tenant: u32, step: u32, how: Result<CollectiveMethod, String>) {
        let (by, reason) = match how {
            Ok(by) => (by, String::new()),
            Err(reason) => (CollectiveMethod::Hosts, reason),
        };
        let is_of_step = |at: &usize| self.tenant[*at] == tenant && self.step[*at] == step;
        let last = (0..self.by.len()).rev().find(is_of_step);
        let known = last.is_some_and(|at| self.by[at] == by && self.reason[at] == reason);
        if known || self.by.len() == MAX_ROWS {
            return;
        }
        self.tenant.push(tenant);
        self.step.push(step);
        self.by.push(by);
        self.reason.push(reason);
    }
}
