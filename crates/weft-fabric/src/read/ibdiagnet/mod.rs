//! Files of ibdiagnet.

pub(super) mod adaptive_routing;
pub(super) mod db_csv;
mod db_csv_sections;
pub(super) mod net_dump;
pub(super) mod net_dump_ext;
