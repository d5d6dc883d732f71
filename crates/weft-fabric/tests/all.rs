//! All tests of fabrics: one binary, since each takes a link of its own.

mod candidates;
mod common;
mod documents;
mod dragonfly;
mod node_graph;
mod routing;
