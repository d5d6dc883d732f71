//! Routing: engines that fill forwarding tables, candidates of adaptive routing, checks of both.

mod attachments;
pub mod candidates;
mod channels;
pub mod check;
mod detours;
mod distances;
pub mod engines;
pub mod lanes;
mod leaf_table;
mod reach;
pub mod routes;
mod switch_graph;
pub(crate) mod up_down_hops;
mod up_order;

pub use attachments::Attachments;
pub use candidates::Candidates;
pub use engines::Tables;
pub use lanes::lane_paths;
pub use lanes::path_lanes::PathLanes;
pub use routes::Routes;
