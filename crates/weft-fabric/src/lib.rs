//! What the network is: units, ids, fabric documents, generators, routing and checks.
//!
//! A [`document::FabricDocument`] is parsed once into a [`Fabric`], which cannot be wrong; a
//! [`Routes`] is its forwarding tables; [`check`] walks both before anything is simulated.
#![forbid(unsafe_code)]

pub mod attach;
mod by_name;
pub mod candidates;
mod channels;
pub mod check;
mod detours;
mod distance;
pub mod document;
pub mod dragonfly;
pub mod engines;
pub mod error;
pub mod export;
pub mod fabric;
pub mod fault;
pub mod generate;
mod graph;
pub mod ids;
mod inside;
pub mod json;
mod leaf_table;
pub mod node_check;
pub mod node_document;
pub mod node_graph;
mod node_paths;
pub mod node_set;
pub mod opensm;
pub mod paths;
mod reach;
pub mod read;
pub mod routes;
pub mod subnet;
pub mod units;

pub use attach::Attachments;
pub use candidates::Candidates;
pub use engines::Tables;
pub use error::FabricError;
pub use fabric::Fabric;
pub use ids::{HcaId, NodeId, PortId, SwitchId, VertexId};
pub use node_document::NodeGraphDocument;
pub use node_graph::{InnerId, NodeGraph};
pub use routes::Routes;
pub use units::{BitsPerSecond, Picoseconds};
