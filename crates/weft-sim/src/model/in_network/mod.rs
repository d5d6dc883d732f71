//! Trees of switches that reduce and copy, planned before the run.
//!
//! SOURCE: Graham et al., "Scalable Hierarchical Aggregation Protocol (SHArP)" (COMHPC 2016).

pub(crate) mod collective_method;
pub(crate) mod forest;
pub(crate) mod nv_switches;
pub(crate) mod parameters;
pub(crate) mod plan;
pub(crate) mod tree;
