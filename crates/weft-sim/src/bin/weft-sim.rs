//! `weft-sim scenario.json`: the outcome as JSON on standard output.
//!
//! Exit codes: 0 done, 2 the input is wrong, 4 the simulation ended in a deadlock or at its limit.
#![forbid(unsafe_code)]

use std::process::ExitCode;
use weft_sim::{Status, ValidScenario, simulate};

fn main() -> ExitCode {
    let arguments: Vec<String> = std::env::args().skip(1).collect();
    let [path] = arguments.as_slice() else {
        eprintln!("weft-sim: {} arguments\n  expected: weft-sim scenario.json", arguments.len());
        return ExitCode::from(2);
    };
    let text = match std::fs::read_to_string(path) {
        Ok(text) => text,
        Err(error) => {
            eprintln!("weft-sim: {path}: {error}\n  expected: a scenario document");
            return ExitCode::from(2);
        }
    };
    match ValidScenario::parse(&text) {
        Ok(scenario) => print(&scenario),
        Err(error) => {
            eprintln!("weft-sim: {path}: {error}");
            ExitCode::from(2)
        }
    }
}

fn print(scenario: &ValidScenario) -> ExitCode {
    let outcome = simulate(scenario);
    let text = serde_json::to_string(&outcome).expect("columns of numbers and names");
    // A reader that has gone (`weft-sim ... | head`) has seen what it wanted.
    let _ = std::io::Write::write_all(&mut std::io::stdout(), format!("{text}\n").as_bytes());
    if outcome.status == Status::Complete {
        return ExitCode::SUCCESS;
    }
    eprintln!("weft-sim: {}", outcome.message);
    ExitCode::from(4)
}
