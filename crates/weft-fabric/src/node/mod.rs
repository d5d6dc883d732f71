//! The inside of a node: its document, its graph, the paths through it, and their credit loops.

pub mod credit_loop;
pub mod document;
pub mod graph;
mod paths;

pub use credit_loop::check_inside;
pub use document::NodeGraphDocument;
pub use graph::{InnerId, NodeGraph};
