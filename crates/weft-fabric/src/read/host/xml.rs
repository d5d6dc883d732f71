//! XML from untrusted files: no entities, bounded depth and size.

use roxmltree::{Document, Node, ParsingOptions};

/// Most bytes of a text.
pub(crate) const MAX_XML_BYTES: usize = 32 << 20;
/// Deepest nesting: hwloc's trees have some twenty levels.
const MAX_DEPTH: usize = 200;
/// Most elements and texts.
const MAX_NODES: u32 = 2_000_000;

/// A text as a document, or the line and what is wrong there.
pub(crate) fn parse(text: &str) -> Result<Document<'_>, (u32, String)> {
    // Before the parser sees it, which goes down by recursion.
    if let Some(line) = first_too_deep(text.as_bytes()) {
        return Err((line, format!("elements nested deeper than {MAX_DEPTH}")));
    }
    let options = ParsingOptions { allow_dtd: false, nodes_limit: MAX_NODES, ..Default::default() };
    let wrong = |error: roxmltree::Error| (error.pos().row, format!("no XML: {error}"));
    Document::parse_with_options(text, options).map_err(wrong)
}

/// The line of an element.
pub(crate) fn line_of(node: &Node<'_, '_>) -> u32 {
    node.document().text_pos_at(node.range().start).row
}

/// The text with a plain mention of one of these document types blanked, on the same lines; any
/// other document type stays, and is refused by [`parse`]: it could define entities.
pub(crate) fn without_doctype(text: &str, known: &[&str]) -> String {
    let plain = known.iter().find_map(|name| {
        let mention = format!("<!DOCTYPE topology SYSTEM \"{name}\">");
        text.find(&mention).map(|at| (at, mention.len()))
    });
    match plain {
        Some((at, length)) => {
            format!("{}{}{}", &text[..at], " ".repeat(length), &text[at + length..])
        }
        None => text.to_owned(),
    }
}

/// The line of the first element that is nested too deep, if there is one.
fn first_too_deep(text: &[u8]) -> Option<u32> {
    let (mut at, mut depth) = (0, 0usize);
    while let Some(begin) = memchr::memchr(b'<', &text[at..]).map(|offset| at + offset) {
        let tail = &text[begin..];
        let skip =
            |end: &[u8]| memchr::memmem::find(tail, end).map_or(tail.len(), |n| n + end.len());
        let length = match tail {
            [_, b'!', b'-', b'-', ..] => skip(b"-->"),
            [_, b'!', b'[', ..] => skip(b"]]>"),
            [_, b'?', ..] => skip(b"?>"),
            _ => length_of_tag(tail),
        };
        let tag = &tail[..length];
        match tag {
            [_, b'!' | b'?', ..] => {}
            [_, b'/', ..] => depth = depth.saturating_sub(1),
            _ if tag.ends_with(b"/>") => {}
            _ => depth += 1,
        }
        if depth > MAX_DEPTH {
            return Some(1 + memchr::memchr_iter(b'\n', &text[..begin]).count() as u32);
        }
        at = begin + length.max(1);
    }
    None
}

/// Bytes of a tag up to its '>', which values in quotes may hold, too.
fn length_of_tag(tail: &[u8]) -> usize {
    let mut quote = None;
    for (at, byte) in tail.iter().enumerate() {
        match (quote, byte) {
            (None, b'>') => return at + 1,
            (None, b'"' | b'\'') => quote = Some(*byte),
            (Some(open), byte) if open == *byte => quote = None,
            _ => {}
        }
    }
    tail.len()
}
