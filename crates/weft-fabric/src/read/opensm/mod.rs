//! Files of the subnet manager OpenSM.

pub(super) mod dump_fts;
pub(super) mod fdbs;
pub(super) mod guid2lid;
pub(super) mod log;
pub(super) mod sl2vl;
pub(super) mod subnet_lst;
