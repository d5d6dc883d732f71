//! The flow level: a message is a fluid over the links of its path, at its max-min fair rate.
//!
//! Hosts, matching, jobs and rows are those of the packet engine. The seam is the first message of
//! a queue pair: where its packets would begin to leave, a flow begins; when the flow is over, the
//! next message of the queue pair may leave, and what the path takes beyond is added before it has
//! come. Messages without payload, acknowledgements among them, take the time of their packet and
//! no bandwidth.
//!
//! Events that change nothing are left out, as of packets, and `"elide": false` is the oracle: see
//! [`Transit::exclusive`] and `foresight.rs`.

use crate::flow::latency::rounded_up;
use crate::flow::max_min::FairShares;
use crate::flow::paths::Paths;

use crate::limits::{NEVER, NIL};
use crate::model::scenario::ValidScenario;
use crate::model::steering::Choice;
use weft_fabric::Fabric;
use weft_fabric::fabric::Port;

/// The flows under way.
#[derive(Debug, Default)]
pub(crate) struct Flows {
    pub(crate) shares: FairShares,
    pub(crate) paths: Paths,
    /// By flow.
    pub(crate) transits: Vec<Transit>,
    /// By endpoint's port: no message begins before.
    pub(crate) begin_ps: Vec<u64>,
    /// When rates will be solved.
    pub(crate) solve_ps: u64,
    pub(crate) changed: Vec<u32>,
    /// By port, parts of bytes and packets of split flows.
    pub(crate) parts: Vec<[f64; 2]>,
    pub(crate) scratch: Vec<f64>,
    pub(crate) elide: bool,
    /// Processors cost nothing, so what two of them agree on is known ahead.
    pub(crate) foreseen: bool,
}

/// A flow's message and how far it is.
#[derive(Clone, Copy, Debug)]
pub(crate) struct Transit {
    pub(crate) message: u32,
    /// No other flow is on its links and no message follows it, so nothing happens when it is over:
    /// it is taken off its links when another flow comes, or when its message has come.
    pub(crate) exclusive: bool,
    /// Its remaining bits at `since_ps`, and its rate from then on.
    pub(crate) left_bits: f64,
    pub(crate) since_ps: u64,
    pub(crate) rate: f64,
    /// When it is over if nothing changes, and the first event that will look.
    pub(crate) end_ps: u64,
    pub(crate) due_ps: u64,
    /// From then until its last byte has come.
    pub(crate) tail_ps: u64,
}

/// When so many bits are through at a rate.
pub(crate) fn end_of(now_ps: u64, bits: f64, rate: f64) -> u64 {
    now_ps + rounded_up((bits * 1e12 / rate).max(0.0))
}

impl Transit {
    pub(crate) fn change_rate(&mut self, now_ps: u64, rate: f64) {
        self.left_bits -= self.rate * (now_ps - self.since_ps) as f64 * 1e-12;
        (self.since_ps, self.rate) = (now_ps, rate);
        self.end_ps = end_of(now_ps, self.left_bits, rate);
    }
}

impl Flows {
    pub(crate) fn new(scenario: &ValidScenario) -> Flows {
        let fabric = &scenario.fabric;
        let (n_ports, n_vertices) = (fabric.ports.len(), fabric.vertices.len());
        let splits = scenario.steering.choice == Choice::Least;
        Flows {
            shares: FairShares::new(fabric.ports.iter().map(|port| port.rate.0 as f64)),
            paths: Paths::new(rows_of(fabric), if splits { n_vertices } else { 0 }),
            begin_ps: vec![0; n_ports],
            solve_ps: NEVER,
            parts: vec![[0.0; 2]; if splits { n_ports } else { 0 }],
            elide: scenario.elide,
            foreseen: scenario.elide && crate::flow::foresight::is_foreseen(scenario),
            ..Flows::default()
        }
    }

    /// How often a flow was looked at on a link to solve rates.
    pub(crate) fn n_looks(&self) -> u64 {
        self.shares.n_looks
    }

    /// The messages that are under way now.
    pub(crate) fn messages(&self) -> impl Iterator<Item = u32> + '_ {
        let flows = self.shares.flows.iter().zip(&self.transits);
        flows.filter(|(flow, _)| !flow.uses.is_empty()).map(|(_, transit)| transit.message)
    }
}

/// By port, its number among those of endpoints.
fn rows_of(fabric: &Fabric) -> Vec<u32> {
    let mut n_rows = 0;
    let row = |port: &Port| {
        let is_end = fabric.is_end(port.vertex);
        n_rows += u32::from(is_end);
        if is_end { n_rows - 1 } else { NIL }
    };
    fabric.ports.iter().map(row).collect()
}
