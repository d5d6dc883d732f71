//! Ranks, what they agree on, and what comes to their endpoints.

pub(crate) mod delivery;
pub(crate) mod hosts;
pub(crate) mod matching;
pub(crate) mod mode;
pub(crate) mod move_pace;
pub(crate) mod notification;
pub(crate) mod rank;
pub(crate) mod rendezvous;
pub(crate) mod stage;
pub(crate) mod transfers;
