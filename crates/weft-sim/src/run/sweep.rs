//! Many scenarios at once, nothing shared between them.

use crate::error::SimError;
use crate::model::scenario::ValidScenario;
use crate::run::monitor::Monitor;
use crate::run::simulate::simulate_watched;
use crate::state::columns::outcome::Outcome;
use rayon::prelude::*;
use rayon::{ThreadPool, ThreadPoolBuilder};
use std::sync::atomic::AtomicBool;

/// The outcome of each scenario text, in order, on `threads` threads (0: one a core), until
/// `stop` is set.
///
/// # Errors
/// The first scenario that is wrong, its number in front.
pub fn simulate_many(
    texts: &[String],
    threads: usize,
    stop: &AtomicBool,
) -> Result<Vec<Outcome>, SimError> {
    let monitors: Vec<Monitor> = texts.iter().map(|_| Monitor::default()).collect();
    simulate_many_watched(texts, threads, stop, &monitors)
}

/// As [`simulate_many`]; each run reports to its monitor where it stands.
///
/// # Errors
/// The first scenario that is wrong, its number in front.
pub fn simulate_many_watched(
    texts: &[String],
    threads: usize,
    stop: &AtomicBool,
    monitors: &[Monitor],
) -> Result<Vec<Outcome>, SimError> {
    assert_eq!(texts.len(), monitors.len(), "one monitor a scenario");
    let run = |(index, (text, monitor)): (usize, (&String, &Monitor))| {
        let scenario = ValidScenario::parse(text).map_err(|error| numbered(index, &error))?;
        Ok(simulate_watched(&scenario, stop, monitor))
    };
    // One at a time: of a few together, one core would keep the long ones to itself.
    let each = texts.par_iter().zip(monitors).enumerate().with_max_len(1);
    pool(threads, texts.len())?.install(|| each.map(run).collect())
}

/// Check every scenario text, without running any.
///
/// # Errors
/// The first that is wrong: its number and why.
pub fn check_many(texts: &[String], threads: usize) -> Result<(), (usize, SimError)> {
    let check = |(index, text): (usize, &String)| match ValidScenario::parse(text) {
        Ok(_) => Ok(()),
        Err(error) => Err((index, error)),
    };
    let pool = pool(threads, texts.len()).map_err(|error| (texts.len(), error))?;
    pool.install(|| texts.par_iter().enumerate().map(check).collect::<Vec<_>>())
        .into_iter()
        .collect()
}

/// So many threads (0: one a core), but none that would have nothing to do.
fn pool(threads: usize, n_scenarios: usize) -> Result<ThreadPool, SimError> {
    let threads = threads.min(n_scenarios.max(1));
    ThreadPoolBuilder::new().num_threads(threads).build().map_err(|error| {
        SimError::document("threads", error.to_string(), "a number of threads that can start")
    })
}

fn numbered(index: usize, error: &SimError) -> SimError {
    let text = error.to_string();
    let (what, expected) = text.split_once("\n  expected: ").unwrap_or((&text, ""));
    SimError::document(format!("scenarios[{index}]"), what, expected)
}
