//! Virtual lanes of the paths of tables: which they are, credit loops among them, and an assignment
//! of service levels that leaves none.

pub mod lane_paths;
mod lane_waits;
pub mod path_lanes;
