//! All tests of fabrics: one binary, since each takes a link of its own.

mod candidates;
mod common;
mod counters;
mod documents;
mod dragonfly;
mod export;
mod export_ibsim;
mod export_slurm;
mod forwarding;
mod fuzz_readers;
mod generate;
mod hwloc;
mod ibdiagnet;
mod ibnetdiscover;
mod lanes;
mod levels;
mod node_graph;
mod node_set;
mod opensm;
mod opensm_dumps;
mod opensm_log;
mod paths;
mod routing;
mod same_net;
mod slurm;
mod subnet;
