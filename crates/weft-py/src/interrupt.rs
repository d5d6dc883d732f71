//! Ctrl-C while the engine runs: the work has its own thread, and Python's signals are polled.

use crate::progress::Share;
use pyo3::prelude::*;
use std::sync::atomic::{AtomicBool, Ordering};
use std::sync::mpsc::{RecvTimeoutError, channel};
use std::time::Duration;

const LOOK_EVERY: Duration = Duration::from_millis(50);

/// The result of `work`, computed with the GIL released.
///
/// A signal sets the flag that `work` looks at; once it has stopped, the signal's exception is
/// raised (KeyboardInterrupt, unless the program says otherwise). `share_done` tells how far the
/// work is.
pub(crate) fn interruptible<T, Work>(
    py: Python<'_>,
    share_done: impl Fn() -> f64,
    work: Work,
) -> PyResult<T>
where
    T: Send,
    Work: FnOnce(&AtomicBool) -> T + Send,
{
    let share = Share;
    let stop = AtomicBool::new(false);
    let (sender, mut receiver) = channel();
    std::thread::scope(|scope| {
        let flag = &stop;
        let worker = scope.spawn(move || {
            // The receiver is gone only after an interrupt: the result is not wanted then.
            let _ = sender.send(work(flag));
        });
        loop {
            let result;
            (receiver, result) = py.detach(move || {
                let result = receiver.recv_timeout(LOOK_EVERY);
                (receiver, result)
            });
            match result {
                Ok(done) => return Ok(done),
                Err(RecvTimeoutError::Disconnected) => {
                    let panic = worker.join().expect_err("only a panic drops the sender unused");
                    std::panic::resume_unwind(panic);
                }
                Err(RecvTimeoutError::Timeout) => share.write(share_done()),
            }
            if let Err(interrupt) = py.check_signals() {
                stop.store(true, Ordering::Relaxed);
                return Err(interrupt);
            }
        }
    })
}
