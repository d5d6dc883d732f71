//! Sets of names as Slurm writes them: 'c[101-104]-[001-044],login1'.

/// Most names of one set.
pub const MAX_NAMES: usize = 1 << 20;
/// Digits of a number that is counted with; longer ones are letters.
const MAX_DIGITS: usize = 18;

/// All names of a set, in its order, or what is wrong with it. Any number of brackets is read.
pub fn expand(set: &str) -> Result<Vec<String>, String> {
    expand_at_most(set, MAX_NAMES)
}

/// As [`expand`]; a set of more names is refused before the first one is made.
pub fn expand_at_most(set: &str, most: usize) -> Result<Vec<String>, String> {
    let mut patterns = Vec::new();
    for part in top_level_parts(set)? {
        let part = part.trim();
        if part.is_empty() {
            return Err("a name is missing between two commas".to_owned());
        }
        patterns.push(Pattern::of(part)?);
    }
    let n_names = patterns.iter().fold(0u64, |sum, it| sum.saturating_add(it.n_names()));
    if n_names > most as u64 {
        return Err(format!("more than {most} names"));
    }
    Ok(patterns.iter().flat_map(Pattern::names).collect())
}

/// The parts between the commas outside of brackets.
fn top_level_parts(set: &str) -> Result<Vec<&str>, String> {
    let (mut parts, mut begin, mut inside) = (Vec::new(), 0, false);
    for (at, letter) in set.char_indices() {
        match (letter, inside) {
            ('[', false) => inside = true,
            (']', true) => inside = false,
            ('[', true) | (']', false) => return Err(format!("'{letter}' out of place")),
            (',', false) => {
                parts.push(&set[begin..at]);
                begin = at + 1;
            }
            _ => {}
        }
    }
    if inside {
        return Err("']' is missing".to_owned());
    }
    parts.push(&set[begin..]);
    Ok(parts)
}

/// 'c[101-104]-[001-044]x': texts with ranges of numbers after each but the last.
struct Pattern<'a> {
    brackets: Vec<(&'a str, Vec<Range>)>,
    end: &'a str,
}

/// '001-044': numbers of at least as many digits as the first.
struct Range {
    first: u64,
    last: u64,
    width: usize,
}

impl Pattern<'_> {
    fn of(part: &str) -> Result<Pattern<'_>, String> {
        let (mut brackets, mut tail) = (Vec::new(), part);
        while let Some((before, after)) = tail.split_once('[') {
            let (ranges, after) = after.split_once(']').ok_or("']' is missing")?;
            let ranges: Result<Vec<Range>, String> = ranges.split(',').map(Range::of).collect();
            brackets.push((before, ranges?));
            tail = after;
        }
        Ok(Pattern { brackets, end: tail })
    }

    fn n_names(&self) -> u64 {
        let of_bracket = |ranges: &[Range]| {
            let counts = ranges.iter().map(|range| (range.last - range.first).saturating_add(1));
            counts.fold(0u64, u64::saturating_add)
        };
        self.brackets.iter().fold(1, |n, (_, ranges)| n.saturating_mul(of_bracket(ranges)))
    }

    fn names(&self) -> Vec<String> {
        let mut names = vec![String::new()];
        for (before, ranges) in &self.brackets {
            let number = |range: &Range| {
                let width = range.width;
                (range.first..=range.last).map(move |number| format!("{number:0width$}"))
            };
            let numbers: Vec<String> = ranges.iter().flat_map(number).collect();
            let each = |begin: &String| {
                numbers.iter().map(|number| format!("{begin}{before}{number}")).collect::<Vec<_>>()
            };
            names = names.iter().flat_map(each).collect();
        }
        names.into_iter().map(|name| name + self.end).collect()
    }
}

impl Range {
    fn of(text: &str) -> Result<Range, String> {
        let (first, last) = text.split_once('-').unwrap_or((text, text));
        let value = |text: &str| {
            let plain = !text.is_empty() && text.len() <= MAX_DIGITS;
            let plain = plain && text.bytes().all(|byte| byte.is_ascii_digit());
            text.parse::<u64>().ok().filter(|_| plain)
        };
        let numbers = value(first).zip(value(last)).filter(|(first, last)| first <= last);
        let (low, high) = numbers.ok_or_else(|| format!("'{text}' is no range of numbers"))?;
        Ok(Range { first: low, last: high, width: first.len() })
    }
}

/// A name as its beginning and the number at its end.
struct Numbered<'a> {
    beginning: &'a str,
    digits: &'a str,
    number: u64,
}

impl Numbered<'_> {
    fn of(name: &str) -> Option<Numbered<'_>> {
        let end = name.trim_end_matches(|letter: char| letter.is_ascii_digit()).len();
        let cut = name.len() - (name.len() - end).min(MAX_DIGITS);
        let (beginning, digits) = (&name[..cut], &name[cut..]);
        Some(Numbered { beginning, digits, number: digits.parse().ok()? })
    }

    fn is_padded(&self) -> bool {
        self.digits.len() > 1 && self.digits.starts_with('0')
    }

    /// Whether a range that goes on with `next` holds exactly these.
    fn is_before(&self, next: &Numbered<'_>) -> bool {
        let alike =
            self.digits.len() == next.digits.len() || !(self.is_padded() || next.is_padded());
        alike && self.number + 1 == next.number && self.beginning == next.beginning
    }
}

/// The shortest set of names in order: numbers at the end of names are folded, names without are
/// written as they are, before the others. Each name stands there once.
pub fn fold<'a>(names: impl IntoIterator<Item = &'a str>) -> String {
    let (mut plain, mut numbered) = (Vec::new(), Vec::new());
    for name in names {
        match Numbered::of(name) {
            Some(it) => numbered.push(it),
            None => plain.push(name),
        }
    }
    plain.sort_unstable();
    plain.dedup();
    let key = |it: &Numbered<'_>| (it.beginning.to_owned(), it.number, it.digits.len());
    numbered.sort_by_cached_key(key);
    numbered.dedup_by_key(|it| (it.beginning.to_owned(), it.digits.to_owned()));
    let mut sets: Vec<String> = plain.into_iter().map(str::to_owned).collect();
    for alike in numbered.chunk_by(|a, b| a.beginning == b.beginning) {
        let range = |run: &[Numbered<'_>]| match run {
            [] => String::new(),
            [only] => only.digits.to_owned(),
            [first, .., last] => format!("{}-{}", first.digits, last.digits),
        };
        let ranges: Vec<String> = alike.chunk_by(|a, b| a.is_before(b)).map(range).collect();
        let beginning = alike[0].beginning;
        sets.push(match alike {
            [only] => format!("{beginning}{}", only.digits),
            _ => format!("{beginning}[{}]", ranges.join(",")),
        });
    }
    sets.join(",")
}
