//! A run from its first event to its outcome.

pub(crate) mod deadlock;
pub(crate) mod fidelity_choice;
pub(crate) mod job;
pub(crate) mod monitor;
pub(crate) mod port_columns;
pub(crate) mod sim;
pub(crate) mod simulate;
pub(crate) mod survey;
pub(crate) mod sweep;
pub(crate) mod watchdog;
