//! Logs across the border: files in, what was said out.

use crate::interrupt::interruptible;
use crate::progress::{Counted, InFiles};
use crate::subnet::with_path;
use pyo3::prelude::*;
use pyo3::pybacked::PyBackedBytes;
use std::fs::File;
use std::io::{self, BufRead, BufReader, Cursor};
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
    let named = logs.iter().filter(|(_, content)| content.is_none());
    let of = InFiles::of(named.map(|(name, _)| name.as_str()));
    let said = interruptible(
        py,
        || of.share_read(),
        |stop| {
            let mut facts = Facts::default();
            for (name, content) in &logs {
                let mut input: Box<dyn BufRead> = match content {
                    Some(content) => Box::new(Cursor::new(content)),
                    None if name == "-" => Box::new(io::stdin().lock()),
                    None => {
                        let file = File::open(name).map_err(|error| with_path(name, &error))?;
                        let input = Counted { input: file, of: &of };
                        Box::new(BufReader::with_capacity(BUFFER_BYTES, input))
                    }
                };
                weft_logs::read(name, &mut *input, &mut facts, stop)
                    .map_err(|error| with_path(name, &error))?;
            }
            as_json(&mut facts)
        },
    )?;
    Ok(said?)
}

fn as_json(facts: &mut Facts) -> io::Result<String> {
    serde_json::to_string(&facts.to_document()).map_err(io::Error::from)
}
