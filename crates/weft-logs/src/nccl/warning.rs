//! Warnings of the library, and calls that failed.

use crate::facts::{Kind, Statement, Understood};

/// Endings of the library's source files.
const ENDINGS: [&str; 5] = [".cc", ".c", ".cpp", ".h", ".cu"];

/// Where in the source a warning comes from: `misc/cudawrap.cc:179`, with or without a function.
pub(crate) fn place(head: &str) -> &str {
    let is_place = |word: &&str| {
        let file = word.rsplit_once(':').map_or("", |(file, _)| file);
        ENDINGS.iter().any(|ending| file.ends_with(ending))
    };
    head.split_ascii_whitespace().rev().find(is_place).unwrap_or("")
}

/// `proxy.cc:878 -> 6 [Progress Thread]`: a call that failed, with its result.
///
/// SOURCE: NVIDIA/nccl, include/checks.h (NCCLCHECK).
pub(crate) fn failed(text: &str, statement: &mut Statement<'_>) -> Understood {
    let (from, tail) = text.split_once(" -> ")?;
    let from = from.split_once(' ').map_or(from, |(from, _)| from);
    // Markdown makes a link of it: `[proxy.cc:878](http://proxy.cc:878/)`.
    let from = from.split_once("](").map_or(from, |(from, _)| from.trim_start_matches('['));
    let (file, line) = from.rsplit_once(':')?;
    let is_place = ENDINGS.iter().any(|ending| file.ends_with(ending))
        && line.bytes().all(|byte| byte.is_ascii_digit());
    let (code, thread) = tail.split_once(' ').unwrap_or((tail, ""));
    let is_code = (1..4).contains(&code.len()) && code.bytes().all(|byte| byte.is_ascii_digit());
    if !(is_place && is_code) || code == "0" || code == "7" {
        return None; // 7 is "in progress".
    }
    let thread = thread.trim_start_matches('[').trim_end_matches(']');
    statement.note(Kind::Failed, &[from, code, thread])
}
