//! What is broken: faults as rules, planted into the fabric, and tables after a cable went down.

pub(crate) mod after_death;
pub(crate) mod fault;
pub(crate) mod link_death;
pub(crate) mod plant;
