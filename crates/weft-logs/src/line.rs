//! A line of a log, without colours, split into speaker and message.

use memchr::{memchr, memmem};
use std::borrow::Cow;
use std::sync::LazyLock;

/// A text that is looked for in every line: what finding it takes is prepared once.
pub(crate) struct Needle(pub(crate) LazyLock<memmem::Finder<'static>>, pub(crate) usize);

/// The needle of a text.
macro_rules! needle {
    ($text:literal) => {
        $crate::line::Needle(
            std::sync::LazyLock::new(|| memchr::memmem::Finder::new($text)),
            $text.len(),
        )
    };
}

pub(crate) use needle;

/// The head that NCCL and RCCL put before a message, and the message.
pub(crate) static MARK: Needle = needle!("NCCL ");
const LEVELS: [&str; 5] = ["INFO ", "WARN ", "ATTN ", "TRACE ", "ABORT "];

/// Severity of a message, by its level.
#[derive(Clone, Copy, PartialEq, Eq)]
pub(crate) enum MessageSeverity {
    /// INFO, TRACE or ABORT.
    Plain,
    /// ATTN, which NCCL has from 2.32 on for lines that were WARN or INFO before.
    Attention,
    /// WARN.
    Warning,
}

/// A message of NCCL or RCCL.
pub(crate) struct Message<'a> {
    /// The text before it.
    pub(crate) head: &'a str,
    /// The message itself.
    pub(crate) text: &'a str,
    pub(crate) severity: MessageSeverity,
    /// Whether another message of the same line was torn by this one.
    pub(crate) tore: bool,
}

/// The line as text without escape sequences.
pub(crate) fn plain(line: &[u8]) -> Cow<'_, str> {
    if memchr(0x1b, line).is_none() {
        return match std::str::from_utf8(line) {
            Ok(text) => Cow::Borrowed(text),
            Err(_) => String::from_utf8_lossy(line),
        };
    }
    let mut kept = Vec::with_capacity(line.len());
    let mut tail = line;
    while let Some(at) = memchr(0x1b, tail) {
        kept.extend_from_slice(&tail[..at]);
        tail = after_escape(&tail[at + 1..]);
    }
    kept.extend_from_slice(tail);
    Cow::Owned(String::from_utf8_lossy(&kept).into_owned())
}

/// The remainder of a sequence that steers a terminal: `[`, parameters, one letter.
fn after_escape(tail: &[u8]) -> &[u8] {
    let Some(inside) = tail.strip_prefix(b"[") else {
        return tail;
    };
    let n = inside.iter().position(|byte| (0x40..=0x7e).contains(byte));
    n.map_or(&[], |n| &inside[n + 1..])
}

/// The last message of a line: ranks that write at once tear each other's lines.
pub(crate) fn message(line: &str) -> Option<Message<'_>> {
    let bytes = line.as_bytes();
    let mut found: Option<(usize, &&str)> = None;
    let mut n_marks = 0;
    let mut from = 0;
    while let Some(at) = MARK.within(&bytes[from..]).map(|at| at + from) {
        from = at + MARK.1;
        let tail = &bytes[from..];
        if let Some(level) = LEVELS.iter().find(|level| tail.starts_with(level.as_bytes())) {
            found = Some((at, level));
            n_marks += 1;
        }
    }
    let (at, level) = found?;
    Some(Message {
        head: &line[..at],
        text: without_json(line[at + MARK.1 + level.len()..].trim()),
        severity: match *level {
            "WARN " => MessageSeverity::Warning,
            "ATTN " => MessageSeverity::Attention,
            _ => MessageSeverity::Plain,
        },
        tore: n_marks > 1,
    })
}

/// A message of NCCL 2.2, which has no name before its level: `node-1:21:42 [0] INFO text`.
pub(crate) fn old_message(line: &str) -> Option<Message<'_>> {
    let (at, level) =
        [" INFO ", " WARN "].iter().find_map(|level| Some((line.find(level)?, level)))?;
    let text = without_json(line[at + level.len()..].trim());
    let severity = match *level {
        " WARN " => MessageSeverity::Warning,
        _ => MessageSeverity::Plain,
    };
    Some(Message { head: &line[..at], text, severity, tore: false })
}

/// A message that a container's runtime wrapped: `{"log":"message\n","stream":"stdout"}`.
fn without_json(text: &str) -> &str {
    let is_wrapped = text.ends_with('}') && text.contains("\"stream\"");
    let end = if is_wrapped { text.find("\\n\",") } else { None };
    end.map_or(text, |end| &text[..end])
}

/// `Channel 00/0 : 0[0] -> 1[1] via ...`
pub(crate) static VIA: Needle = needle!(" via ");
/// `AllReduce: opCount 3 sendbuff ...`
pub(crate) static OP_COUNT: Needle = needle!(": opCount ");
/// `NAME set by environment to VALUE`
pub(crate) static SET_BY_ENVIRONMENT: Needle = needle!(" set by environment to ");
/// `NAME set to VALUE`
pub(crate) static SET_TO: Needle = needle!(" set to ");
/// `AllReduce: 1048576 Bytes -> Algo RING`
pub(crate) static BYTES_TO_ALGORITHM: Needle = needle!(" Bytes -> Algo ");
/// `ncclCommInitRank comm 0x1 rank 0`
pub(crate) static COMM: Needle = needle!("comm ");
/// `... disabling CollNet`
pub(crate) static DISABLING_COLLNET: Needle = needle!("disabling CollNet");
/// `... falling back to simple order`
pub(crate) static FALLING_BACK: Needle = needle!("falling back to ");
/// `CollNet is not supported or fails to initialize, ignoring NCCL_ALGO=COLLNET`
pub(crate) static IGNORING: Needle = needle!(", ignoring NCCL_");

impl Needle {
    pub(crate) fn find(&self, text: &str) -> Option<usize> {
        self.within(text.as_bytes())
    }

    pub(crate) fn text(&self) -> &[u8] {
        self.0.needle()
    }

    pub(crate) fn within(&self, bytes: &[u8]) -> Option<usize> {
        self.0.find(bytes)
    }

    /// The texts before and behind it.
    pub(crate) fn split<'a>(&self, text: &'a str) -> Option<(&'a str, &'a str)> {
        self.find(text).map(|at| (&text[..at], &text[at + self.1..]))
    }
}

/// The text between two others.
pub(crate) fn between<'a>(text: &'a str, before: &str, after: &str) -> Option<&'a str> {
    let (_, tail) = text.split_once(before)?;
    tail.split_once(after).map(|(inside, _)| inside)
}

/// The word after a text: up to white space or a comma.
pub(crate) fn word_after<'a>(text: &'a str, before: &str) -> Option<&'a str> {
    let (_, tail) = text.split_once(before)?;
    tail.split([' ', ',', '\t']).next().filter(|word| !word.is_empty())
}

/// The number after a text.
pub(crate) fn number_after(text: &str, before: &str) -> Option<u64> {
    let (_, tail) = text.split_once(before)?;
    let end = tail.bytes().position(|byte| !byte.is_ascii_digit()).unwrap_or(tail.len());
    tail[..end].parse().ok()
}
