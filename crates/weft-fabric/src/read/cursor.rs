//! A cursor in a line: it passes the wanted text if that comes next, else it stays.

use crate::subnet::Kind;
use std::str::FromStr;

/// The remaining part of a line.
#[derive(Clone, Copy)]
pub(crate) struct Cursor<'a> {
    /// From here to the end of the line.
    pub(crate) tail: &'a str,
}

impl<'a> Cursor<'a> {
    /// The beginning of a line.
    pub(crate) fn new(line: &'a str) -> Cursor<'a> {
        Cursor { tail: line }
    }

    /// Pass blanks and tabs.
    pub(crate) fn blanks(&mut self) -> &mut Cursor<'a> {
        self.tail = self.tail.trim_start_matches([' ', '\t']);
        self
    }

    /// Pass a fixed text.
    pub(crate) fn tag(&mut self, tag: &str) -> Option<&mut Cursor<'a>> {
        self.tail = self.tail.strip_prefix(tag)?;
        Some(self)
    }

    /// Everything before a fixed text, which is passed, too.
    pub(crate) fn until(&mut self, mark: &str) -> Option<&'a str> {
        let (before, after) = self.tail.split_once(mark)?;
        self.tail = after;
        Some(before)
    }

    /// Everything before the last occurrence of a fixed text, which is passed, too.
    pub(crate) fn until_last(&mut self, mark: &str) -> Option<&'a str> {
        let (before, after) = self.tail.rsplit_once(mark)?;
        self.tail = after;
        Some(before)
    }

    /// A decimal number.
    pub(crate) fn number<T: FromStr>(&mut self) -> Option<T> {
        self.digits(|byte| byte.is_ascii_digit())?.parse().ok()
    }

    /// A number in hex, with or without '0x'.
    pub(crate) fn hex(&mut self) -> Option<u64> {
        self.tail = self.tail.strip_prefix("0x").unwrap_or(self.tail);
        u64::from_str_radix(self.digits(|byte| byte.is_ascii_hexdigit())?, 16).ok()
    }

    /// Everything up to the next blank or tab, or the end.
    pub(crate) fn word(&mut self) -> Option<&'a str> {
        let end = self.tail.find([' ', '\t']).unwrap_or(self.tail.len());
        let (word, tail) = self.tail.split_at(end);
        self.tail = tail;
        (!word.is_empty()).then_some(word)
    }

    /// Whether only blanks remain.
    pub(crate) fn is_done(&self) -> bool {
        self.tail.trim().is_empty()
    }

    fn digits(&mut self, is_one: fn(&u8) -> bool) -> Option<&'a str> {
        let n_digits = self.tail.bytes().take_while(is_one).count();
        let (digits, tail) = self.tail.split_at(n_digits);
        self.tail = tail;
        (n_digits > 0).then_some(digits)
    }
}

/// The kind of a word: 'Switch', 'SW', 'Ca', 'CA', 'Hca', 'Channel Adapter', 'Rt', 'RT'; 'CA-SM' is
/// the host of a subnet manager.
pub(crate) fn kind_of(word: &str) -> Option<Kind> {
    match word.strip_suffix("-SM").unwrap_or(word) {
        "Switch" | "SW" => Some(Kind::Switch),
        "Ca" | "CA" | "Hca" | "HCA" | "Channel Adapter" => Some(Kind::Ca),
        "Rt" | "RT" | "Router" => Some(Kind::Router),
        _ => None,
    }
}
