//! How far the engine's call is, for another thread of Python's to ask.

use pyo3::prelude::*;
use std::io::{self, Read};
use std::sync::atomic::{AtomicU64, Ordering};

/// Millionths that are done of the call that wrote last, and one more; 0 while there is none.
static DONE: AtomicU64 = AtomicU64::new(0);
const WHOLE: f64 = 1e6;

/// The part of a call that is done; none is known any more once this is dropped.
pub(crate) struct Share;

impl Share {
    pub(crate) fn write(&self, share: f64) {
        DONE.store((share.clamp(0.0, 1.0) * WHOLE) as u64 + 1, Ordering::Relaxed);
    }
}

impl Drop for Share {
    fn drop(&mut self) {
        DONE.store(0, Ordering::Relaxed);
    }
}

/// The part, from 0 to 1, that is done of a simulation or of logs that another thread asked for;
/// None while there is no such call.
#[pyfunction]
pub(crate) fn share_done() -> Option<f64> {
    let done = DONE.load(Ordering::Relaxed);
    (done > 0).then(|| (done - 1) as f64 / WHOLE)
}

/// Bytes that are counted as they are read.
pub(crate) struct Counted<'a, R> {
    pub(crate) input: R,
    pub(crate) n_bytes: &'a AtomicU64,
}

impl<R: Read> Read for Counted<'_, R> {
    fn read(&mut self, buffer: &mut [u8]) -> io::Result<usize> {
        let n = self.input.read(buffer)?;
        self.n_bytes.fetch_add(n as u64, Ordering::Relaxed);
        Ok(n)
    }
}
