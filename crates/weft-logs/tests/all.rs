//! All tests of the crate, one binary.

mod fuzz;
mod nccl;
mod others;

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

fn facts(log: &str) -> Value {
    read(log.as_bytes()).expect("a log")
}
