//! The flow level: a message is a fluid over the links of its path, at its max-min fair rate.

pub(crate) mod flows;
pub(crate) mod foresight;
pub(crate) mod latency;
pub(crate) mod max_min;
#[cfg(test)]
mod max_min_tests;
pub(crate) mod messages;
pub(crate) mod mode;
pub(crate) mod paths;
pub(crate) mod search;
pub(crate) mod transit;
