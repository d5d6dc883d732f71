//! Sets of names as Slurm writes them: 'c[101-104]-[001-044],login1'.

/// Most names of one set.
pub const MAX_NAMES: usize = 1 << 20;
/// Digits of a number that is counted with; longer ones are letters.
const MAX_DIGITS: usize = 18;

/// All names of a set, in its order, or what is wrong with it. Any number of brackets is read.
pub fn expand(set: &str) -> Result<Vec<String>, String> {
    let mut names = Vec::new();
    for part in top_level_parts(set)? {
        let part = part.trim();
        if part.is_empty() {
            return Err("a name is missing between two commas".to_owned());
        }
        expand_part(part, &mut names)?;
    }
    Ok(names)
}

/// What stands between the commas that are outside of brackets.
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

fn expand_part(part: &str, names: &mut Vec<String>) -> Result<(), String> {
    let mut found = vec![String::new()];
    let mut rest = part;
    while let Some((before, after)) = rest.split_once('[') {
        let (ranges, after) = after.split_once(']').ok_or("']' is missing")?;
        let numbers = numbers(ranges)?;
        if found.len().saturating_mul(numbers.len()) > MAX_NAMES - names.len().min(MAX_NAMES) {
            return Err(format!("more than {MAX_NAMES} names"));
        }
        let each = |begin: &String| {
            numbers.iter().map(|number| format!("{begin}{before}{number}")).collect::<Vec<_>>()
        };
        found = found.iter().flat_map(each).collect();
        rest = after;
    }
    if names.len().saturating_add(found.len()) > MAX_NAMES {
        return Err(format!("more than {MAX_NAMES} names"));
    }
    names.extend(found.into_iter().map(|name| name + rest));
    Ok(())
}

/// '001-044,050' as numbers of at least as many digits as their range begins with.
fn numbers(ranges: &str) -> Result<Vec<String>, String> {
    let mut numbers = Vec::new();
    for range in ranges.split(',') {
        let (first, last) = range.split_once('-').unwrap_or((range, range));
        let width = first.len();
        let wrong = || format!("'{range}' is no range of numbers");
        let value = |text: &str| {
            let plain = !text.is_empty() && text.len() <= MAX_DIGITS;
            let plain = plain && text.bytes().all(|byte| byte.is_ascii_digit());
            text.parse::<u64>().ok().filter(|_| plain)
        };
        let (low, high) = (value(first).ok_or_else(wrong)?, value(last).ok_or_else(wrong)?);
        let count = high.checked_sub(low).ok_or_else(wrong)?;
        if count >= (MAX_NAMES - numbers.len()) as u64 {
            return Err(format!("more than {MAX_NAMES} names"));
        }
        numbers.extend((low..=high).map(|number| format!("{number:0width$}")));
    }
    Ok(numbers)
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

    /// Whether a range that goes on with `next` says just that.
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
