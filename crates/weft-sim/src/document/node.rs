//! The inside of a node, as written: the fabric's own document.

pub use weft_fabric::node::document::{
    InnerKind, InnerLinkDocument, InnerVertexDocument, NodeGraphDocument, Rail,
};
