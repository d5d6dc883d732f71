//! Files of infiniband-diags, run on any host of the fabric.

mod counter_readings;
pub(super) mod iblinkinfo;
mod iblinkinfo_port;
pub(super) mod ibnetdiscover;
mod ibnetdiscover_port;
pub(super) mod ibqueryerrors;
mod ibsim_guids;
pub(super) mod node_list;
pub(super) mod perfquery;
pub(super) mod port_list;
pub(super) mod saquery;
pub(super) mod smpquery_vlarb;
