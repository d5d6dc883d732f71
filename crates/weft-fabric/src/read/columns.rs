//! A row of comma-separated values, asked by the names of its columns.

use std::collections::HashMap;

/// Column numbers by name; letters of either case are the same: 'NodeGUID' is 'NodeGuid'.
pub(crate) struct Columns {
    names: Vec<String>,
    by_name: HashMap<String, usize>,
}

impl Columns {
    /// The columns of a header line.
    pub(crate) fn of(header: &str) -> Columns {
        Columns::named(fields(header).into_iter().map(str::to_owned).collect())
    }

    /// The columns of a header whose names stand between marks.
    pub(crate) fn between(header: &str, mark: char) -> Columns {
        Columns::named(header.split(mark).map(|name| name.trim().to_owned()).collect())
    }

    fn named(names: Vec<String>) -> Columns {
        let numbered = names.iter().enumerate();
        let by_name = numbered.map(|(at, name)| (name.to_ascii_lowercase(), at)).collect();
        Columns { names, by_name }
    }

    /// How many there are.
    pub(crate) fn len(&self) -> usize {
        self.names.len()
    }

    /// Values under these columns.
    pub(crate) fn row<'a>(&'a self, values: &'a [&'a str]) -> Row<'a> {
        Row { columns: self, values }
    }
}

/// The values of a row.
pub(crate) struct Row<'a> {
    columns: &'a Columns,
    values: &'a [&'a str],
}

impl<'a> Row<'a> {
    /// The value of a column, under the first of several names that there is; none for 'N/A'.
    pub(crate) fn text(&self, names: &[&str]) -> Option<&'a str> {
        let at = names.iter().find_map(|name| self.columns.by_name.get(*name))?;
        self.values.get(*at).copied().filter(|value| !is_absent(value))
    }

    /// A number, in hex behind '0x'.
    pub(crate) fn number<T: TryFrom<u64>>(&self, names: &[&str]) -> Option<T> {
        T::try_from(number(self.text(names)?)?).ok()
    }

    /// Every column with its value, those with a value.
    pub(crate) fn all(&self) -> impl Iterator<Item = (&'a str, &'a str)> {
        let names = self.columns.names.iter().map(String::as_str);
        names.zip(self.values.iter().copied()).filter(|(_, value)| !is_absent(value))
    }
}

/// 'N/A' and its kin.
pub(crate) fn is_absent(value: &str) -> bool {
    matches!(value, "" | "N/A" | "NA" | "n/a" | "-")
}

/// A number, decimal or in hex behind '0x'.
pub(crate) fn number(text: &str) -> Option<u64> {
    match text.strip_prefix("0x").or_else(|| text.strip_prefix("0X")) {
        Some(digits) => u64::from_str_radix(digits, 16).ok(),
        None => text.parse().ok(),
    }
}

/// The values of a line: in quotes with commas, or without quotes.
pub(crate) fn fields(line: &str) -> Vec<&str> {
    let mut values = Vec::new();
    let mut tail = line;
    loop {
        let trimmed = tail.trim_start();
        let quoted = trimmed.strip_prefix('"').and_then(|inside| quoted(inside));
        let (value, after) = quoted.unwrap_or_else(|| match tail.split_once(',') {
            Some((value, after)) => (value.trim(), Some(after)),
            None => (tail.trim(), None),
        });
        values.push(value);
        match after {
            Some(after) => tail = after,
            None => return values,
        }
    }
}

/// The text inside of quotes that a comma or the end of the line follows: a description may hold
/// quotes itself.
fn quoted(inside: &str) -> Option<(&str, Option<&str>)> {
    for (at, _) in inside.match_indices('"') {
        let after = inside[at + 1..].trim_start();
        if after.is_empty() {
            return Some((&inside[..at], None));
        }
        if let Some(after) = after.strip_prefix(',') {
            return Some((&inside[..at], Some(after)));
        }
    }
    None
}
