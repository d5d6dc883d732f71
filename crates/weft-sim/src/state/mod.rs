//! Plain data of a run: calendar, packets, ports, buffers, transport, columns.

pub(crate) mod arbiter;
pub(crate) mod buffer;
pub(crate) mod calendar;
pub(crate) mod clock;
pub(crate) mod columns;
pub(crate) mod copies;
pub(crate) mod flowlet;
pub(crate) mod id_map;
pub(crate) mod link_faults;
pub(crate) mod links;
pub(crate) mod notices;
pub(crate) mod packet;
pub(crate) mod pool;
pub(crate) mod port;
pub(crate) mod route_choice;
pub(crate) mod routes_in_force;
pub(crate) mod transport;
