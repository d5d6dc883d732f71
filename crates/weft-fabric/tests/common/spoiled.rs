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
