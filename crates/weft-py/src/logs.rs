//! Logs across the border: files in, what was said out.

use crate::interrupt::interruptible;
use crate::subnet::with_path;
use pyo3::prelude::*;
use std::fs::File;
use std::io::{self, BufRead, BufReader};
use weft_logs::Facts;

/// How much is read at once.
const BUFFER_BYTES: usize = 1 << 18;

/// What logs say, as JSON ('-' is standard input): docs/reference/doctor_log.md. Ctrl-C ends it
/// early.
#[pyfunction]
pub(crate) fn read_logs(py: Python<'_>, paths: Vec<String>) -> PyResult<String> {
    let said = interruptible(py, |stop| {
        let mut facts = Facts::default();
        for path in &paths {
            let mut input: Box<dyn BufRead> = match path.as_str() {
                "-" => Box::new(io::stdin().lock()),
                _ => {
                    let file = File::open(path).map_err(|error| with_path(path, &error))?;
                    Box::new(BufReader::with_capacity(BUFFER_BYTES, file))
                }
            };
            weft_logs::read(path, &mut *input, &mut facts, stop)
                .map_err(|error| with_path(path, &error))?;
        }
        as_json(&mut facts)
    })?;
    Ok(said?)
}

/// The same for the content of one log.
#[pyfunction]
pub(crate) fn read_log_bytes(py: Python<'_>, name: &str, content: &[u8]) -> PyResult<String> {
    let said = interruptible(py, |stop| {
        let mut facts = Facts::default();
        weft_logs::read(name, &mut io::Cursor::new(content), &mut facts, stop)
            .map_err(|error| with_path(name, &error))?;
        as_json(&mut facts)
    })?;
    Ok(said?)
}

fn as_json(facts: &mut Facts) -> io::Result<String> {
    serde_json::to_string(&facts.to_document()).map_err(io::Error::from)
}
