//! A valid scenario: its parameters, laws, lanes, steering and faults, checked once.
//!
//! Nothing here knows the engine.

pub(crate) mod dct;
pub(crate) mod estimate;
pub(crate) mod faults;
pub(crate) mod fidelity;
pub(crate) mod framing;
pub(crate) mod host;
pub(crate) mod in_network;
pub(crate) mod lanes;
pub(crate) mod node_graph;
pub(crate) mod placement;
pub(crate) mod probes;
pub(crate) mod rules;
pub(crate) mod scenario;
pub(crate) mod steady_state;
pub(crate) mod steering;
pub(crate) mod transport;
pub(crate) mod validation;
