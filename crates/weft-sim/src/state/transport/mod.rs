//! Messages, who sends them next, and what a connection remembers.

pub(crate) mod connection;
pub(crate) mod endpoints;
pub(crate) mod initiator;
pub(crate) mod message;
pub(crate) mod pace;
pub(crate) mod sender;
pub(crate) mod spacing;
