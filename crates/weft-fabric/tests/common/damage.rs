//! Whole files as they reach us now and then: from Windows, with stderr mixed in, cut short.

/// Every line ends with a carriage return too.
pub(crate) fn with_carriage_returns(text: &str) -> String {
    text.replace('\n', "\r\n")
}

/// Between all lines a warning of libibumad.
pub(crate) fn with_warnings(text: &str) -> String {
    let noise = "ibwarn: [4711] sim_connect: attached as client 0 at node \"H-1\"\n";
    text.split_inclusive('\n').flat_map(|line| [noise, line]).collect()
}

/// The file up to every 97th byte.
pub(crate) fn beginnings(text: &str) -> impl Iterator<Item = &str> {
    (97..text.len()).step_by(97).filter_map(|end| text.get(..end))
}

/// A line of 64 KiB after the fifth one.
pub(crate) fn with_a_long_line(text: &str) -> Vec<u8> {
    after_five_lines(text, &[&[b'x'; 1 << 16][..], b"\n"].concat())
}

/// A line of bytes that are no text after the fifth one.
pub(crate) fn with_bytes(text: &str) -> Vec<u8> {
    after_five_lines(text, b"\x7fELF\x02\x00\xff\xfe\x80\n")
}

fn after_five_lines(text: &str, more: &[u8]) -> Vec<u8> {
    let at = text.match_indices('\n').nth(4).expect("five lines").0 + 1;
    [&text.as_bytes()[..at], more, &text.as_bytes()[at..]].concat()
}
