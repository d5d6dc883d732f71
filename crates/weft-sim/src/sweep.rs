//! Many scenarios at once, nothing shared between them.

use crate::error::SimError;
use crate::outcome::Outcome;
use crate::scenario::ValidScenario;
use crate::sim::simulate_until;
use rayon::prelude::*;
use std::sync::atomic::AtomicBool;

/// The outcome of each scenario text, in order, on `threads` threads (0: one a core), until
/// somebody sets `stop`.
///
/// # Errors
/// The first scenario that is wrong, its number in front.
pub fn simulate_many(
    texts: &[String],
    threads: usize,
    stop: &AtomicBool,
) -> Result<Vec<Outcome>, SimError> {
    let pool = rayon::ThreadPoolBuilder::new().num_threads(threads).build().map_err(|error| {
        SimError::document("threads", error.to_string(), "a number of threads that can start")
    })?;
    let run = |(index, text): (usize, &String)| {
        let scenario = ValidScenario::parse(text).map_err(|error| {
            let text = error.to_string();
            let (what, expected) = text.split_once("\n  expected: ").unwrap_or((&text, ""));
            SimError::document(format!("scenarios[{index}]"), what, expected)
        })?;
        Ok(simulate_until(&scenario, stop))
    };
    pool.install(|| texts.par_iter().enumerate().map(run).collect())
}
