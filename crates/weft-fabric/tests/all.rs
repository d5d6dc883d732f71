//! All tests of fabrics: one binary, since each takes a link of its own.

mod candidates;
mod common;
mod documents;
mod dragonfly;
mod forwarding;
mod fuzz_readers;
mod generate;
mod ibnetdiscover;
mod node_graph;
mod paths;
mod routing;
mod same_net;
mod subnet;
