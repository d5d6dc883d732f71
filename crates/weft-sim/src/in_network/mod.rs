//! Collectives of switches at work.

pub(crate) mod aggregation;
pub(crate) mod locks;
pub(crate) mod member;
pub(crate) mod members;
pub(crate) mod mode;
pub(crate) mod segments;
pub(crate) mod slices;
pub(crate) mod switches;
