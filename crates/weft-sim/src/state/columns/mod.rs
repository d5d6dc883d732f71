//! The columns of an outcome.

pub(crate) mod flows;
pub(crate) mod load;
pub(crate) mod offloads;
pub(crate) mod outcome;
pub(crate) mod ports;
