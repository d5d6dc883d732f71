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

/// The part, from 0 to 1, that is done of a simulation or of files that another thread asked for;
/// None while there is no such call.
#[pyfunction]
pub(crate) fn share_done() -> Option<f64> {
    let done = DONE.load(Ordering::Relaxed);
    (done > 0).then(|| (done - 1) as f64 / WHOLE)
}

/// Bytes that are counted as they are read, of all that there are in files.
pub(crate) struct InFiles {
    n_all: u64,
    n_read: AtomicU64,
    share: Share,
}

impl InFiles {
    pub(crate) fn of<'a>(paths: impl Iterator<Item = &'a str>) -> InFiles {
        let size = |path| std::fs::metadata(path).map_or(0, |file| file.len());
        InFiles { n_all: paths.map(size).sum(), n_read: AtomicU64::new(0), share: Share }
    }

    /// The part that was read; 0 where no file has a size.
    pub(crate) fn share_read(&self) -> f64 {
        match self.n_all {
            0 => 0.0,
            n_all => self.n_read.load(Ordering::Relaxed) as f64 / n_all as f64,
        }
    }
}

/// One of these files.
pub(crate) struct Counted<'a, R> {
    pub(crate) input: R,
    pub(crate) of: &'a InFiles,
}

impl<R: Read> Read for Counted<'_, R> {
    fn read(&mut self, buffer: &mut [u8]) -> io::Result<usize> {
        let n = self.input.read(buffer)?;
        self.of.n_read.fetch_add(n as u64, Ordering::Relaxed);
        self.of.share.write(self.of.share_read());
        Ok(n)
    }
}
