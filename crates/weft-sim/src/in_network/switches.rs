//! Switches that carry out collectives: what they hold, and how far the members are.

use crate::in_network::members::Members;
use crate::model::in_network::forest::InNetwork;
use crate::state::packet::Packet;
use std::collections::VecDeque;

/// The mode of a run in which switches carry out collectives.
pub(crate) struct Switches {
    pub(crate) members: Members,
    pub(crate) junctions: Junctions,
}

/// The contents of aggregation nodes.
#[derive(Debug, Default)]
pub(crate) struct Junctions {
    /// By junction and operation under way: children that have come.
    pub(crate) come: Vec<u32>,
    /// By junction: what it works on, in order of time.
    pub(crate) at_work: Vec<VecDeque<Packet>>,
    /// By vertex: it begins no operation before.
    pub(crate) free_ps: Vec<u64>,
    pub(crate) window: usize,
}

impl Junctions {
    pub(crate) fn new(plan: Option<&InNetwork>, n_vertices: usize) -> Junctions {
        let Some(plan) = plan else { return Junctions::default() };
        let (n, window) = (plan.forest.junctions.len(), plan.model.window() as usize);
        Junctions {
            come: vec![0; n * window],
            at_work: vec![VecDeque::new(); n],
            free_ps: vec![0; n_vertices],
            window,
        }
    }
}
