//! Variables that the library reports as read, refused or set for it.

use crate::facts::{Facts, Kind, Said};
use crate::line::{SET_BY_ENVIRONMENT, SET_TO};

/// Whether the message was about a variable.
pub(crate) fn read(text: &str, said: Said<'_>, facts: &mut Facts) -> bool {
    if let Some((before, value)) = SET_BY_ENVIRONMENT.split(text) {
        return echo(last_word(before), value, said, facts);
    }
    if text.starts_with("NCCL_") {
        return SET_TO.split(text).is_some_and(|(name, value)| echo(name, value, said, facts));
    }
    if let Some(rest) = text.strip_prefix("Invalid value ") {
        let Some((value, rest)) = rest.split_once(" for ") else {
            return false;
        };
        let name = rest.split(',').next().unwrap_or(rest);
        return is_name(name) && note(Kind::Refused, &[name, value], said, facts);
    }
    let by_plugin = text.strip_prefix("NET/OFI ").unwrap_or("");
    if let Some((name, value)) =
        by_plugin.strip_prefix("Setting ").and_then(|rest| rest.split_once(" to "))
    {
        let name = name.trim_end_matches(" environment variable");
        return is_name(name) && note(Kind::SetByPlugin, &[name, value], said, facts);
    }
    false
}

/// Integers are echoed with a full stop behind them.
fn echo(name: &str, value: &str, said: Said<'_>, facts: &mut Facts) -> bool {
    let integer = value.strip_suffix('.').filter(|value| {
        let digits = value.strip_prefix('-').unwrap_or(value);
        !digits.is_empty() && digits.bytes().all(|byte| byte.is_ascii_digit())
    });
    is_name(name) && note(Kind::Echo, &[name, integer.unwrap_or(value)], said, facts)
}

fn note(kind: Kind, words: &[&str], said: Said<'_>, facts: &mut Facts) -> bool {
    facts.note(said, kind, words);
    true
}

fn last_word(text: &str) -> &str {
    text.rsplit(' ').next().unwrap_or(text)
}

fn is_name(text: &str) -> bool {
    let is_part = |byte: u8| byte.is_ascii_uppercase() || byte.is_ascii_digit() || byte == b'_';
    text.contains('_') && text.len() < 100 && text.bytes().all(is_part)
}
