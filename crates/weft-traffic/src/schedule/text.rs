//! Words of schedules written as text.

use super::graph::wrong;
use crate::error::TrafficError;
use serde::Deserialize;
use serde::de::IntoDeserializer;
use serde::de::value::{Error as ValueError, StrDeserializer};

/// The text with comments (`//` to the end of the line, `/*` to `*/`) left out, lines kept.
pub(super) fn without_comments(text: &str) -> String {
    let (mut kept, mut tail) = (String::with_capacity(text.len()), text);
    while let Some(at) = tail.find('/') {
        kept.push_str(&tail[..at]);
        tail = &tail[at..];
        let end = if tail.starts_with("//") {
            tail.find('\n').unwrap_or(tail.len())
        } else if tail.starts_with("/*") {
            let end = tail.find("*/").map_or(tail.len(), |end| end + 2);
            kept.extend(tail[..end].chars().filter(|letter| *letter == '\n'));
            end
        } else {
            kept.push('/');
            1
        };
        tail = &tail[end..];
    }
    kept.push_str(tail);
    kept
}

/// A number in a line of a schedule.
pub(super) fn number<T: std::str::FromStr>(
    place: &str,
    line: u32,
    word: &str,
    expected: &str,
) -> Result<T, TrafficError> {
    let wrong = |_| wrong(place, line.max(1), format!("'{word}' is no number"), expected);
    word.parse().map_err(wrong)
}

/// A value by its name in documents.
pub(super) fn parsed<'de, T: Deserialize<'de>>(word: &'de str) -> Option<T> {
    let word: StrDeserializer<'de, ValueError> = word.into_deserializer();
    T::deserialize(word).ok()
}
