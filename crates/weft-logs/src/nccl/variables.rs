//! Variables that the library reports as read, refused or set for it.

use crate::facts::{Kind, Statement, Understood};
use crate::line::{SET_BY_ENVIRONMENT, SET_TO};

/// A message about a variable.
pub(crate) fn read(text: &str, statement: &mut Statement<'_>) -> Understood {
    if let Some((before, value)) = SET_BY_ENVIRONMENT.split(text) {
        return echo(last_word(before), value, statement);
    }
    if text.starts_with("NCCL_") {
        let (name, value) = SET_TO.split(text)?;
        return echo(name, value, statement);
    }
    if let Some(text) = text.strip_prefix("Invalid value ") {
        let (value, name) = text.split_once(" for ")?;
        let name = name.split(',').next().filter(|name| is_name(name))?;
        return statement.note(Kind::Refused, &[name, value]);
    }
    let (name, value) = text.strip_prefix("NET/OFI Setting ")?.split_once(" to ")?;
    let name = name.trim_end_matches(" environment variable");
    is_name(name).then(|| statement.note(Kind::SetByPlugin, &[name, value]))?
}

/// Integers are echoed with a full stop behind them.
fn echo(name: &str, value: &str, statement: &mut Statement<'_>) -> Understood {
    let integer = value.strip_suffix('.').filter(|value| {
        let digits = value.strip_prefix('-').unwrap_or(value);
        !digits.is_empty() && digits.bytes().all(|byte| byte.is_ascii_digit())
    });
    is_name(name).then(|| statement.note(Kind::Echo, &[name, integer.unwrap_or(value)]))?
}

fn last_word(text: &str) -> &str {
    text.rsplit(' ').next().unwrap_or(text)
}

fn is_name(text: &str) -> bool {
    let is_part = |byte: u8| byte.is_ascii_uppercase() || byte.is_ascii_digit() || byte == b'_';
    text.contains('_') && text.len() < 100 && text.bytes().all(is_part)
}
