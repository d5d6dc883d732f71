//! Damaged samples: whatever a file holds, its reader ends, and never panics.
//!
//! `WEFT_FUZZ=1000000 cargo test --release -p weft-fabric --test all -- fuzz_readers --nocapture`
//! tries so many for every format.
//!
//! cargo-fuzz needs a nightly compiler, and proptest starts from grammars, not from real files.

use crate::common::samples;
use std::collections::BTreeMap;
use std::sync::Mutex;
use std::time::{Duration, Instant};
use std::{panic, thread};
use weft_fabric::read::FORMATS;
use weft_fabric::subnet::Subnet;

/// Damaged samples of each format in an ordinary run.
const ORDINARY: u64 = 300;
/// A damaged sample may be read so long: they are some tens of kilobytes.
const LONGEST: Duration = Duration::from_secs(2);
/// What a mutation puts in: numbers at the edges, the marks of the formats, noise.
const PIECES: [&[u8]; 24] = [
    b"\r\n",
    b"\n",
    b"\t",
    b"\"",
    b"[",
    b"]",
    b"(",
    b")",
    b"{",
    b"}",
    b"#",
    b":",
    b",",
    b"=",
    b"0x",
    b"0xffffffffffffffff",
    b"-1",
    b"99999999999999999999",
    b"255",
    b"65535",
    b"\xff\xfe",
    b"\0",
    b"ibwarn: [1] sim_connect: attached",
    b"&a;",
];

#[test]
fn every_format_has_a_sample_that_it_knows() {
    let by_format = samples_by_format();
    let names: Vec<&str> = FORMATS.iter().map(|format| format.name).collect();
    assert_eq!(by_format.keys().map(String::as_str).collect::<Vec<_>>(), sorted(names));
}

#[test]
fn damaged_samples_are_read_to_an_end() {
    let tries = std::env::var("WEFT_FUZZ").map_or(ORDINARY, |n| n.parse().expect("a number"));
    let waiting: Mutex<Vec<_>> = Mutex::new(samples_by_format().into_iter().rev().collect());
    let next = || waiting.lock().expect("nobody panics while taking one").pop();
    thread::scope(|scope| {
        for _ in 0..thread::available_parallelism().map_or(1, usize::from) {
            scope.spawn(|| {
                while let Some((format, seeds)) = next() {
                    try_format(&format, &seeds, tries);
                }
            });
        }
    });
}

fn try_format(format: &str, seeds: &[Vec<u8>], tries: u64) {
    let mut random = Random(5);
    let (mut slowest, mut n_known) = (Duration::ZERO, 0);
    for number in 0..tries {
        let damaged = damage(&mut random, seeds);
        let Ok((known, mut took)) = panic::catch_unwind(|| timed(format, &damaged)) else {
            let beginning = String::from_utf8_lossy(&damaged[..damaged.len().min(2000)]);
            panic!("sample {number} of {format} makes its reader panic:\n{beginning}");
        };
        if took > LONGEST {
            // Unless another process had the processor.
            took = took.min(timed(format, &damaged).1);
        }
        n_known += u64::from(known);
        slowest = slowest.max(took);
    }
    println!("{format}: {tries} damaged samples, {n_known} read, slowest {slowest:.1?}");
    assert!(slowest < LONGEST, "{format}: {slowest:?}");
    assert!(n_known > tries / 10, "{format}: only {n_known} of {tries} got past the door");
}

/// Whether a reader took the sample, and how long reading and joining took.
fn timed(format: &str, damaged: &[u8]) -> (bool, Duration) {
    let begun = Instant::now();
    let gathered = samples::gathered(&[(format, damaged)]);
    let known = gathered.sources[0].format.is_some();
    let _ = Subnet::of(gathered);
    (known, begun.elapsed())
}

fn sorted(mut names: Vec<&str>) -> Vec<&str> {
    names.sort_unstable();
    names
}

fn samples_by_format() -> BTreeMap<String, Vec<Vec<u8>>> {
    let mut by_format: BTreeMap<String, Vec<Vec<u8>>> = BTreeMap::new();
    for (name, bytes) in samples::all() {
        let format = samples::gathered(&[(&name, &bytes)]).sources[0].format.clone();
        let format = format.unwrap_or_else(|| panic!("no reader knows the sample {name}"));
        by_format.entry(format).or_default().push(bytes);
    }
    by_format
}

/// A linear congruential generator.
///
/// SOURCE: multiplier and increment are Knuth's MMIX (TAOCP vol. 2).
struct Random(u64);

fn below(random: &mut Random, n: usize) -> usize {
    random.0 = random.0.wrapping_mul(6_364_136_223_846_793_005);
    random.0 = random.0.wrapping_add(1_442_695_040_888_963_407);
    (random.0 >> 33) as usize % n.max(1)
}

/// One to four changes: bits, bytes, pieces, lines; and now and then the end is missing.
fn damage(random: &mut Random, seeds: &[Vec<u8>]) -> Vec<u8> {
    let mut bytes = seeds[below(random, seeds.len())].clone();
    for _ in 0..=below(random, 4) {
        let at = below(random, bytes.len());
        let end = (at + below(random, 80)).min(bytes.len());
        match below(random, 9) {
            0 if at < bytes.len() => bytes[at] ^= 1 << below(random, 8),
            1 => drop(bytes.drain(at..end)),
            2 => bytes.truncate(at),
            3 => {
                let piece = PIECES[below(random, PIECES.len())];
                bytes.splice(at..at, piece.iter().copied());
            }
            4 => {
                let piece = PIECES[below(random, PIECES.len())];
                bytes.splice(at..end, piece.iter().copied());
            }
            5 => {
                let again = bytes[at..end].to_vec();
                bytes.splice(at..at, again);
            }
            6 => swap_lines(random, &mut bytes),
            7 => {
                let other = &seeds[below(random, seeds.len())];
                let from = below(random, other.len());
                let until = (from + 200).min(other.len());
                bytes.splice(at..at, other[from..until].iter().copied());
            }
            _ => change_number(random, &mut bytes, at),
        }
    }
    bytes
}

fn swap_lines(random: &mut Random, bytes: &mut Vec<u8>) {
    let mut lines: Vec<&[u8]> = bytes.split(|byte| *byte == b'\n').collect();
    let (a, b) = (below(random, lines.len()), below(random, lines.len()));
    lines.swap(a, b);
    *bytes = lines.join(&b'\n');
}

/// Put another digit at the first digit after `at`.
fn change_number(random: &mut Random, bytes: &mut [u8], at: usize) {
    if let Some(digit) = bytes[at..].iter_mut().find(|byte| byte.is_ascii_digit()) {
        *digit = b'0' + below(random, 10) as u8;
    }
}
