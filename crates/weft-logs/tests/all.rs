//! All tests of the crate, one binary.

mod fuzz;
mod libraries;
mod message_forms;
mod nccl;

use serde_json::Value;
use std::io;
use std::sync::atomic::AtomicBool;
use weft_logs::Facts;

/// What a log says, as the document that crosses the border.
fn read(log: &[u8]) -> io::Result<Value> {
    let mut facts = Facts::default();
    weft_logs::read("job.log", &mut io::Cursor::new(log), &mut facts, &AtomicBool::new(false))?;
    Ok(serde_json::to_value(facts.to_document()).expect("a document"))
}

/// A line, the kind of fact, its words.
type Case = (&'static str, &'static str, Vec<&'static str>);

/// The cases of a table: a line, and behind `=>` the kind of fact and its words, `|` between them.
/// What begins with `#` is a remark.
fn cases(table: &'static str) -> Vec<Case> {
    let mut found = Vec::new();
    let mut line = "";
    for row in table.lines().filter(|row| !(row.is_empty() || row.starts_with('#'))) {
        let Some(fact) = row.strip_prefix("=> ") else {
            line = row;
            continue;
        };
        let (kind, words) = fact.split_once('|').expect("a kind and words");
        found.push((line, kind.trim(), words.split('|').map(str::trim).collect()));
    }
    found
}

fn facts(log: &str) -> Value {
    read(log.as_bytes()).expect("a log")
}
