//! Files that tools of one host write about its devices.

pub(super) mod cxi_stat;
pub(super) mod hwloc;
pub(super) mod ibstat;
pub(super) mod mlxlink;
pub(super) mod rdma_link;
mod xml;
