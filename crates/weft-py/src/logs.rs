//! Logs across the border: files in, what was said out.

use crate::interrupt::interruptible;
use crate::progress::Counted;
use crate::subnet::with_path;
use pyo3::prelude::*;
use pyo3::pybacked::PyBackedBytes;
use std::fs::File;
use std::io::{self, BufRead, BufReader, Cursor};
use std::sync::atomic::{AtomicU64, Ordering};
use weft_logs::Facts;

/// How much is read at once.
const BUFFER_BYTES: usize = 1 << 18;

/// Facts from logs, as JSON: docs/reference/doctor_log.md. Each has a name, and its content where
/// it is no file of that name ('-' is standard input). Ctrl-C ends it early.
#[pyfunction]
pub(crate) fn read_logs(
    py: Python<'_>,
    logs: Vec<(String, Option<PyBackedBytes>)>,
) -> PyResult<String> {
    let in_files = |(name, content): &(String, Option<PyBackedBytes>)| match content {
        Some(_) => 0,
        None => std::fs::metadata(name).map_or(0, |file| file.len()),
    };
    let n_all = logs.iter().map(in_files).sum::<u64>().max(1);
    let n_bytes = AtomicU64::new(0);
    let share_done = || n_bytes.load(Ordering::Relaxed) as f64 / n_all as f64;
    let said = interruptible(py, share_done, |stop| {
        let mut facts = Facts::default();
        for (name, content) in &logs {
            let mut input: Box<dyn BufRead> = match content {
                Some(content) => Box::new(Cursor::new(content)),
                None if name == "-" => Box::new(io::stdin().lock()),
                None => {
                    let file = File::open(name).map_err(|error| with_path(name, &error))?;
                    let input = Counted { input: file, n_bytes: &n_bytes };
                    Box::new(BufReader::with_capacity(BUFFER_BYTES, input))
                }
            };
            weft_logs::read(name, &mut *input, &mut facts, stop)
                .map_err(|error| with_path(name, &error))?;
        }
        as_json(&mut facts)
    })?;
    Ok(said?)
}

fn as_json(facts: &mut Facts) -> io::Result<String> {
    serde_json::to_string(&facts.to_document()).map_err(io::Error::from)
}
