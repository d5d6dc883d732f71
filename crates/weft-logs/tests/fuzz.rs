//! Damaged logs: whatever a file holds, it is read to an end, never with a panic, and nothing that
//! steers a terminal gets out.
//!
//! `WEFT_FUZZ=1000000 cargo test --release -p weft-logs --test all -- fuzz --nocapture` tries so
//! many.
//!
//! cargo-fuzz needs a nightly compiler, and proptest starts from grammars, not from real logs.

use crate::{libraries, nccl, read};
use serde_json::Value;
use std::time::{Duration, Instant};

/// Damaged logs in an ordinary run.
const ORDINARY: u64 = 3000;
/// A damaged log may be read so long: it is a few kilobytes.
const LONGEST: Duration = Duration::from_secs(2);
/// What a mutation puts in: the marks of the formats, numbers at the edges, noise.
const PIECES: [&str; 21] = [
    "\n",
    "\r",
    " ",
    "[",
    "]",
    "(",
    ")",
    "/",
    ":",
    " - ",
    "\u{1b}[31",
    "\u{9b}",
    "\0",
    "\u{1f}",
    "NCCL INFO ",
    "NCCL WARN ",
    "NCCL ATTN ",
    " via NET/",
    "-1",
    "99999999999999999999",
    "\u{fffd}\u{10ffff}",
];

#[test]
fn damaged_logs_are_read_to_an_end() {
    let tries = std::env::var("WEFT_FUZZ").map_or(ORDINARY, |n| n.parse().expect("a number"));
    let lines: Vec<String> = nccl::lines().chain(libraries::lines()).collect();
    let mut random = Random(5);
    let (mut n_given, mut slowest) = (0, Duration::ZERO);
    for number in 0..tries {
        let log = damaged(&mut random, &lines);
        let begun = Instant::now();
        let document = std::panic::catch_unwind(|| read(&log));
        let Ok(document) = document else {
            panic!("log {number} makes its reader panic:\n{}", String::from_utf8_lossy(&log));
        };
        slowest = slowest.max(begun.elapsed());
        let Ok(document) = document else { continue };
        let complaint = complaint(&document, &log);
        assert_eq!(complaint, None, "log {number}:\n{}", String::from_utf8_lossy(&log));
        n_given += u64::from(document["facts"] != serde_json::json!([]));
    }
    println!("{tries} damaged logs, {n_given} with facts, slowest {slowest:.1?}");
    assert!(slowest < LONGEST, "{slowest:?}");
    assert!(n_given > tries / 2, "only {n_given} of {tries} say anything");
}

/// What is wrong with what a log says.
fn complaint(document: &Value, log: &[u8]) -> Option<String> {
    let n_lines = log.iter().filter(|byte| **byte == b'\n').count() as u64 + 1;
    let n_speakers = document["speakers"].as_array()?.len() as u64;
    for fact in document["facts"].as_array()? {
        let line = fact["first"][1].as_u64()?;
        if line == 0 || line > n_lines || fact["n"].as_u64()? > n_lines * 40 {
            return Some(format!("a place or a count that is none: {fact}"));
        }
        for word in fact["words"].as_array()? {
            if word.as_str()?.chars().any(char::is_control) || word.as_str()?.len() > 256 {
                return Some(format!("a word that steers or is too long: {fact}"));
            }
        }
        for range in fact["by"].as_array()? {
            if range[0].as_u64()? > range[1].as_u64()? || range[1].as_u64()? >= n_speakers {
                return Some(format!("a speaker that is none: {fact}"));
            }
        }
    }
    let steers = |speaker: &Value| speaker["host"].as_str().is_some_and(|it| it.contains('\x1b'));
    let wrong = document["speakers"].as_array()?.iter().find(|speaker| steers(speaker));
    wrong.map(|speaker| format!("a host that steers: {speaker}"))
}

/// A linear congruential generator.
///
/// SOURCE: multiplier and increment are Knuth's MMIX (TAOCP vol. 2).
struct Random(u64);

impl Random {
    fn below(&mut self, n: usize) -> usize {
        self.0 = self.0.wrapping_mul(6_364_136_223_846_793_005);
        self.0 = self.0.wrapping_add(1_442_695_040_888_963_407);
        (self.0 >> 33) as usize % n.max(1)
    }
}

/// A few lines, with one to six changes.
fn damaged(random: &mut Random, lines: &[String]) -> Vec<u8> {
    let n = 1 + random.below(20);
    let chosen: Vec<&str> = (0..n).map(|_| lines[random.below(lines.len())].as_str()).collect();
    let mut log = chosen.join("\n").into_bytes();
    for _ in 0..=random.below(6) {
        let at = random.below(log.len());
        let end = (at + random.below(60)).min(log.len());
        match random.below(6) {
            0 if at < log.len() => log[at] ^= 1 << random.below(8),
            1 => drop(log.drain(at..end)),
            2 => log.truncate(at),
            3 => {
                let piece = PIECES[random.below(PIECES.len())];
                log.splice(at..at, piece.bytes());
            }
            4 => {
                let again = log[at..end].to_vec();
                log.splice(at..at, again);
            }
            _ => {
                let other = lines[random.below(lines.len())].as_bytes();
                log.splice(at..end, other[random.below(other.len())..].iter().copied());
            }
        }
    }
    log
}
