//! A line of a log: without colours, cut into who speaks and what is said.

use memchr::{memchr, memmem};
use std::borrow::Cow;

/// What NCCL puts before a message.
const MARKS: [&str; 4] = ["NCCL INFO ", "NCCL WARN ", "NCCL TRACE ", "NCCL ABORT "];

/// A message of NCCL or RCCL.
pub(crate) struct Message<'a> {
    /// What stands before it.
    pub(crate) head: &'a str,
    /// The message itself.
    pub(crate) text: &'a str,
    pub(crate) is_warning: bool,
    /// Whether another message of the same line was torn by this one.
    pub(crate) tore: bool,
}

/// The line as text without escape sequences.
pub(crate) fn plain(line: &[u8]) -> Cow<'_, str> {
    if memchr(0x1b, line).is_none() {
        return String::from_utf8_lossy(line);
    }
    let mut kept = Vec::with_capacity(line.len());
    let mut rest = line;
    while let Some(at) = memchr(0x1b, rest) {
        kept.extend_from_slice(&rest[..at]);
        rest = after_escape(&rest[at + 1..]);
    }
    kept.extend_from_slice(rest);
    Cow::Owned(String::from_utf8_lossy(&kept).into_owned())
}

/// What follows a sequence that steers a terminal: `[`, parameters, one letter.
fn after_escape(rest: &[u8]) -> &[u8] {
    let Some(inside) = rest.strip_prefix(b"[") else {
        return rest;
    };
    let n = inside.iter().position(|byte| (0x40..=0x7e).contains(byte));
    n.map_or(&[], |n| &inside[n + 1..])
}

/// The last message of a line: ranks that write at once tear each other's lines.
pub(crate) fn message<'a>(line: &'a str, nccl: &memmem::Finder<'_>) -> Option<Message<'a>> {
    let mut found: Option<(usize, &str)> = None;
    let mut n_marks = 0;
    let mut from = 0;
    while let Some(at) = nccl.find(&line.as_bytes()[from..]).map(|at| at + from) {
        if let Some(mark) = MARKS.iter().find(|mark| line[at..].starts_with(**mark)) {
            found = Some((at, mark));
            n_marks += 1;
        }
        from = at + 4;
    }
    let (at, mark) = found?;
    Some(Message {
        head: &line[..at],
        text: line[at + mark.len()..].trim(),
        is_warning: mark.starts_with("NCCL WARN"),
        tore: n_marks > 1,
    })
}

/// What stands between two texts.
pub(crate) fn between<'a>(text: &'a str, before: &str, after: &str) -> Option<&'a str> {
    let (_, rest) = text.split_once(before)?;
    rest.split_once(after).map(|(inside, _)| inside)
}

/// The word after a text: up to white space or a comma.
pub(crate) fn word_after<'a>(text: &'a str, before: &str) -> Option<&'a str> {
    let (_, rest) = text.split_once(before)?;
    rest.split([' ', ',', '\t']).next().filter(|word| !word.is_empty())
}

/// The number after a text.
pub(crate) fn number_after(text: &str, before: &str) -> Option<u64> {
    let (_, rest) = text.split_once(before)?;
    let end = rest.bytes().position(|byte| !byte.is_ascii_digit()).unwrap_or(rest.len());
    rest[..end].parse().ok()
}
