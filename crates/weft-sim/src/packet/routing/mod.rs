//! Where packets go next.

pub(crate) mod adaptive;
pub(crate) mod node_routing;
