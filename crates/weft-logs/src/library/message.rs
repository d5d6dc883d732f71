//! Failures in the words of other programs: PyTorch's watchdog, nccl-tests, the dynamic linker,
//! CUDA, libibverbs. The catalogue of messages gives each its meaning.
//!
//! SOURCE: pytorch/pytorch, ProcessGroupNCCL.cpp; NVIDIA/nccl-tests, common.h and common.cu;
//! glibc's dl-version.c; rdma-core, libibverbs/init.c. src/weft/catalog/log_messages has a source
//! for each message.

use crate::facts::{Kind, Statement, Understood};
use aho_corasick::AhoCorasick;
use std::sync::LazyLock;

/// A text that stands in such a line, and the program that writes it.
pub(crate) const MARKS: [(&str, &str); 30] = [
    ("Watchdog caught collective operation timeout", "PyTorch"),
    ("Some NCCL operations have failed or timed out", "PyTorch"),
    ("Heartbeat monitor timed out", "PyTorch"),
    ("NCCL error in:", "PyTorch"),
    ("NCCL error: ", "NCCL's caller"),
    ("ncclUnhandledCudaError", "NCCL's caller"),
    ("ncclSystemError", "NCCL's caller"),
    ("ncclInternalError", "NCCL's caller"),
    ("ncclInvalidUsage", "NCCL's caller"),
    ("ncclInvalidArgument", "NCCL's caller"),
    ("ncclRemoteError", "NCCL's caller"),
    ("Test NCCL failure", "nccl-tests"),
    ("Test CUDA failure", "nccl-tests"),
    ("libibverbs: Warning", "libibverbs"),
    ("got completion with error:", "libmlx5"),
    ("fi_getinfo: ", "libfabric"),
    ("Bus error", "the system"),
    ("oom_kill event", "Slurm"),
    ("version `GLIBC", "the dynamic linker"),
    ("undefined symbol: nccl", "the dynamic linker"),
    ("error while loading shared libraries", "the dynamic linker"),
    ("CUDA driver version is insufficient", "CUDA"),
    ("CUDA error: ", "CUDA"),
    ("PMIX ERROR", "PMIx"),
    ("OPAL ERROR", "Open MPI"),
    ("Transport retry count exceeded", "UCX"),
    ("initialize NVML: ", "NVML"),
    ("Duplicate GPU detected", "NCCL's caller"),
    ("Cuda failure ", "NCCL's caller"),
    ("WARN Socket creation failed", "NCCL's caller"),
];

/// Short texts: a line with a mark has one of them, or NCCL's own mark. They are few, begin with
/// rare letters and are looked for in every line, which keeps the search at memory speed.
pub(crate) const PARTS: [&str; 16] = [
    "GroupNCCL",
    "nccl",
    "CUDA ",
    "Cuda failure",
    "libibverbs",
    "fi_getinfo",
    "Bus error",
    "oom_kill",
    "`GLIBC",
    "loading shared",
    "Transport retry",
    "Duplicate GPU",
    "PMIX ERR",
    "OPAL ERR",
    "got completion",
    "NVML:",
];

static SEARCH: LazyLock<AhoCorasick> = LazyLock::new(|| {
    AhoCorasick::new(MARKS.iter().map(|(mark, _)| mark)).expect("a few short texts")
});

/// The failure in a line, from its mark on.
pub(crate) fn read(line: &str, statement: &mut Statement<'_>) -> Understood {
    let found = SEARCH.find(line)?;
    let (_, program) = MARKS[found.pattern().as_usize()];
    statement.note(Kind::Warning, &[program, "", line[found.start()..].trim()])
}

/// `#  Rank  0 Group  0 Pid   4940 on node-1 device  0 [0x61] NVIDIA L40`: nccl-tests' list. Older
/// ones, and those of rccl-tests, have no group.
pub(crate) fn listed(line: &str, statement: &mut Statement<'_>) -> Understood {
    let (_, tail) = line.split_once("Rank ")?;
    let (rank, tail) = tail.trim_start().split_once(' ')?;
    let (_, tail) = tail.split_once("Pid ")?;
    let (_, tail) = tail.split_once(" on ")?;
    let (host, tail) = tail.split_once(' ')?;
    let is_rank = (1..8).contains(&rank.len()) && rank.bytes().all(|byte| byte.is_ascii_digit());
    let is_row = is_rank && tail.trim_start().starts_with("device ");
    is_row.then(|| statement.note(Kind::Listed, &[rank, host.trim()]))?
}
