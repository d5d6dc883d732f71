//! Faults of a scenario: their kinds, planted into the fabric, and tables after a cable went down.

mod kinds;
pub(crate) mod link_death;
pub(crate) mod recovery_tables;
pub(crate) mod run_faults;
pub(crate) mod span;
