//! Where ranks run, and which partitions they may talk in.

pub(crate) mod partition;
pub(crate) mod place;
