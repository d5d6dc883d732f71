//! Progress: one line on a terminal's standard error, and nothing anywhere else.

use std::io::IsTerminal;
use std::sync::mpsc::{RecvTimeoutError, channel};
use std::time::{Duration, Instant};
use weft_sim::{Monitor, Standing};

const SHOW_EVERY: Duration = Duration::from_millis(500);
const CLEAR_LINE: &str = "\r\x1b[K";

/// The runs to report.
pub(crate) struct ProgressLine<'a> {
    pub(crate) monitors: &'a [Monitor],
    pub(crate) quiet: bool,
}

impl ProgressLine<'_> {
    /// The result of `work`, with reports of its progress meanwhile.
    pub(crate) fn shown<T>(&self, work: impl FnOnce() -> T) -> T {
        if self.quiet || !std::io::stderr().is_terminal() {
            return work();
        }
        let (done, waiting) = channel::<()>();
        std::thread::scope(|scope| {
            scope.spawn(move || {
                let began = Instant::now();
                while waiting.recv_timeout(SHOW_EVERY) == Err(RecvTimeoutError::Timeout) {
                    let standings: Vec<Standing> =
                        self.monitors.iter().map(Monitor::read).collect();
                    eprint!("{CLEAR_LINE}{}", line(&standings, began.elapsed()));
                }
                eprint!("{CLEAR_LINE}");
            });
            let result = work();
            drop(done);
            result
        })
    }
}

/// Where all runs stand, in one line.
fn line(standings: &[Standing], elapsed: Duration) -> String {
    let hops: u64 = standings.iter().map(|s| s.hops).sum();
    let events: u64 = standings.iter().map(|s| s.events).sum();
    let done: f64 = standings.iter().map(|s| s.done).sum();
    let share = 100.0 * done / standings.len() as f64;
    let rate = events as f64 / elapsed.as_secs_f64() / 1e6;
    let moved = format!("{:.1} M hops, {rate:.1} M events/s", hops as f64 / 1e6);
    match standings {
        [one] => format!("{share:.1} % of the work, {} us simulated, {moved}", us(one.now_ps)),
        _ => {
            let finished = standings.iter().filter(|s| s.done >= 1.0).count();
            format!("{share:.1} % of the work, {finished} of {} runs, {moved}", standings.len())
        }
    }
}

fn us(ps: u64) -> u64 {
    ps / 1_000_000
}

#[cfg(test)]
mod tests {
    use super::line;
    use std::time::Duration;
    use weft_sim::Standing;

    #[test]
    fn a_line_tells_share_time_hops_and_speed() {
        let (now_ps, hops, events, done) = (12_000_000, 1_500_000, 4_000_000, 0.25);
        let one = Standing { now_ps, hops, events, done, ..Standing::default() };
        let text = line(&[one], Duration::from_secs(2));
        assert_eq!(text, "25.0 % of the work, 12 us simulated, 1.5 M hops, 2.0 M events/s");
        let done = Standing { done: 1.0, ..one };
        let text = line(&[one, done], Duration::from_secs(2));
        assert_eq!(text, "62.5 % of the work, 1 of 2 runs, 3.0 M hops, 4.0 M events/s");
    }
}
