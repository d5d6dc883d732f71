//! Communicators: their ranks, hosts and state; versions.
//!
//! SOURCE: NVIDIA/nccl, tags v2.14.3-1 to v2.30.7-1, init.cc; RCCL's versions: its own logs.

use crate::facts::{Kind, Statement, Understood};
use crate::line::{COMM, number_after, word_after};

/// A message about a communicator.
pub(crate) fn read(text: &str, statement: &mut Statement<'_>) -> Understood {
    if let Some(version) = text.strip_prefix("cudaDriverVersion ") {
        return statement.note(Kind::Version, &["CUDA driver", version]);
    }
    version(text, statement).or_else(|| initialised(text, statement))
}

/// `NCCL version 2.18.3+cuda12.1`, `NCCL version 2.32.3 compiled with CUDA 12.9` (from 2.31 on),
/// `RCCL version : 2.27.7-HEAD:0d2c4fd`, and what RCCL prints after it: these lines have no mark of
/// their own.
pub(crate) fn version(text: &str, statement: &mut Statement<'_>) -> Understood {
    const LIBRARIES: [(&str, &str); 5] = [
        ("NCCL version", "NCCL"),
        ("RCCL version", "RCCL"),
        ("HIP version", "HIP"),
        ("ROCm version", "ROCm"),
        ("Librccl path", "librccl"),
    ];
    for (beginning, library) in LIBRARIES {
        let Some(text) = text.strip_prefix(beginning) else { continue };
        let text = text.trim_start().trim_start_matches(':').trim();
        let word = text.split_ascii_whitespace().next().unwrap_or_default();
        let cuda = word_after(text, "compiled with CUDA ").filter(|_| !word.contains('+'));
        let version = cuda.map_or(word.to_owned(), |cuda| format!("{word}+cuda{cuda}"));
        if word.bytes().any(|byte| byte.is_ascii_digit()) || library == "librccl" {
            return statement.note(Kind::Version, &[library, &version]);
        }
    }
    None
}

/// `ncclCommInitRank comm 0x1 rank 0 nranks 16 cudaDev 0 nvmlDev 0 busId 1000 commId 0x2 - Init
/// COMPLETE`, and `comm 0x1 rank 0 nRanks 16 nNodes 2 localRanks 8 localRank 0 MNNVL 0`.
fn initialised(text: &str, statement: &mut Statement<'_>) -> Understood {
    let text = &text[COMM.find(text).filter(|at| *at <= 80)?..];
    let rank = u32::try_from(number_after(text, " rank ")?).ok()?;
    if let Some(n_ranks) = number_after(text, " nRanks ") {
        let n_nodes = number_after(text, " nNodes ")?;
        let local = word_after(text, " localRanks ")?;
        let words = [&*n_ranks.to_string(), &*n_nodes.to_string(), local];
        return statement.note(Kind::Place, &words);
    }
    let n_ranks = u32::try_from(number_after(text, " nranks ")?).ok()?;
    let state = match text {
        _ if text.contains("Init START") => "START",
        _ if text.contains("Destroy COMPLETE") => "DESTROY",
        _ if text.contains("Abort COMPLETE") => "ABORT",
        _ if text.contains("COMPLETE") => "COMPLETE",
        // 2.2 to 2.4 begin with the line alone.
        _ if text.ends_with(|last: char| last.is_ascii_digit()) && !text.contains(" busId ") => {
            "START"
        }
        _ => return None,
    };
    let id = word_after(text, " commId ").unwrap_or_default();
    statement.facts.speakers.is_rank(statement.speaker, rank, n_ranks);
    statement.note(Kind::Communicator, &[id, &n_ranks.to_string(), state])
}
