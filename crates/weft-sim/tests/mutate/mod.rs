//! Damage to scenarios: keys lost, doubled, misspelt; values of another size or kind; bytes.

use rand_core::Rng;
use rand_pcg::Pcg32;
use serde_json::{Value, json};

/// Numbers at the edges of what documents hold. What is between these and legal is legal and big:
/// it would only be slow.
const EDGES: [f64; 22] = [
    0.0,
    1.0,
    2.0,
    3.0,
    7.0,
    15.0,
    16.0,
    64.0,
    -1.0,
    0.5,
    1e-9,
    0.001,
    2147483647.0,
    2147483648.0,
    4294967295.0,
    4294967296.0,
    1099511627776.0,
    9007199254740993.0,
    4.6e18,
    9.3e18,
    1.8e19,
    1e300,
];

pub(crate) struct Mutator {
    random: Pcg32,
    /// Values change to others of their kind and size.
    gentle: bool,
}

impl Mutator {
    pub(crate) fn new(number: u64) -> Mutator {
        Mutator { random: Pcg32::new(number, 0x77656674), gentle: false }
    }

    fn below(&mut self, n: usize) -> usize {
        self.random.next_u32() as usize % n.max(1)
    }

    /// The text of one of the seeds with one to four things changed, most often one; in half of the
    /// cases only gently, so that many still run.
    pub(crate) fn damaged(&mut self, seeds: &[Value]) -> String {
        let mut document = seeds[self.below(seeds.len())].clone();
        self.gentle = self.below(2) == 0;
        let n_changes = if self.below(2) == 0 { 1 } else { 1 + self.below(4) };
        for _ in 0..n_changes {
            let donor = &seeds[self.below(seeds.len())];
            self.change(&mut document, donor);
        }
        let text = document.to_string();
        if !self.gentle && self.below(8) == 0 { self.garbled(text) } else { text }
    }

    /// Change something somewhere in a value.
    fn change(&mut self, value: &mut Value, donor: &Value) {
        let goes_deeper = self.below(8) > 0;
        match value {
            Value::Object(map) if goes_deeper && !map.is_empty() => {
                let key = map.keys().nth(self.below(map.len())).cloned().expect("not empty");
                match self.below(16) {
                    0 => drop(map.remove(&key)),
                    1 => {
                        let moved = map.remove(&key).expect("a key of the map");
                        map.insert(self.misspelt(&key), moved);
                    }
                    2 => {
                        drop(map.insert(key.clone(), donor.get(&key).cloned().unwrap_or_default()))
                    }
                    _ => self.change(map.get_mut(&key).expect("a key of the map"), donor),
                }
            }
            Value::Array(list) if goes_deeper && !list.is_empty() => {
                let place = self.below(list.len());
                match self.below(12) {
                    0 => drop(list.remove(place)),
                    1 => list.push(list[place].clone()),
                    2 => list.clear(),
                    _ => self.change(&mut list[place], donor),
                }
            }
            _ if self.gentle => self.nudge(value),
            _ => *value = self.replaced(value),
        }
    }

    /// Another value of its kind, near it; text and whole parts of a document stay.
    fn nudge(&mut self, value: &mut Value) {
        let way = self.below(5);
        match value {
            Value::Bool(yes) => *yes = !*yes,
            Value::Number(number) => {
                let changed = number.as_u64().map(|whole| match way {
                    0 => whole.saturating_add(1),
                    1 => whole.saturating_sub(1),
                    2 => whole / 2,
                    3 => whole.saturating_mul(2),
                    _ => whole % 5,
                });
                let fraction = number.as_f64().unwrap_or_default() * [0.0, 0.5, 2.0, 4.0, 8.0][way];
                *value = changed.map_or(json!(fraction), |whole| json!(whole));
            }
            _ => {}
        }
    }

    fn replaced(&mut self, value: &Value) -> Value {
        match (value, self.below(6)) {
            (_, 0) => Value::Null,
            (_, 1) => {
                [json!(true), json!([]), json!({}), json!("x"), json!(-3)][self.below(5)].clone()
            }
            (Value::String(text), 2) => json!(self.misspelt(text)),
            (Value::String(_), _) => {
                let words = [
                    "",
                    "n001",
                    "n002/hca0",
                    "leaf-01[1]",
                    "spine-01[2]",
                    "leaf-01[99]",
                    "updn",
                    "voq",
                    "infinite",
                    "é\u{0}\u{fffd}",
                    "a[4294967296]",
                    "messages",
                ];
                json!(words[self.below(words.len())])
            }
            _ => {
                let edge = EDGES[self.below(EDGES.len())];
                if edge.fract() == 0.0 && (0.0..1.8e19).contains(&edge) {
                    json!(edge as u64)
                } else {
                    json!(edge)
                }
            }
        }
    }

    fn misspelt(&mut self, word: &str) -> String {
        let mut letters: Vec<char> = word.chars().collect();
        let place = self.below(letters.len());
        match self.below(3) {
            0 => letters.insert(place, 'z'),
            1 if !letters.is_empty() => drop(letters.remove(place)),
            _ => letters.reverse(),
        }
        letters.into_iter().collect()
    }

    /// Damage to the text itself.
    fn garbled(&mut self, text: String) -> String {
        let mut bytes = text.into_bytes();
        let place = self.below(bytes.len());
        match self.below(5) {
            0 => bytes.truncate(place),
            1 => bytes[place] = self.random.next_u32() as u8,
            2 => drop(bytes.splice(place..place, *b"[[[[[[[[")),
            3 => {
                let again = bytes[place..(place + 40).min(bytes.len())].to_vec();
                drop(bytes.splice(place..place, again));
            }
            _ => {
                let deep = "[".repeat(300);
                drop(bytes.splice(place..place, deep.into_bytes()));
            }
        }
        String::from_utf8_lossy(&bytes).into_owned()
    }
}
