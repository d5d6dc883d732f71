//! The `weft-sim` binary: exit codes, standard output, standard error.

mod common;

use common::*;
use serde_json::{Value, json};
use std::process::{Command, Output};

fn weft_sim(name: &str, text: &str) -> Output {
    let path = std::env::temp_dir().join(format!("weft-sim-{}-{name}.json", std::process::id()));
    std::fs::write(&path, text).expect("a temporary file");
    let output = Command::new(env!("CARGO_BIN_EXE_weft-sim")).arg(&path).output().expect("it runs");
    std::fs::remove_file(&path).expect("the temporary file");
    output
}

#[test]
fn a_scenario_is_answered_with_its_outcome_as_json() {
    let case = scenario(tree(4, 2, 1, 100 * GBPS, 0), json!([{"benchmark": "barrier"}]));
    let output = weft_sim("good", &case.to_string());
    assert_eq!(output.status.code(), Some(0));
    let outcome: Value = serde_json::from_slice(&output.stdout).expect("JSON");
    assert_eq!(outcome["status"], "complete");
    assert_eq!(outcome["rows"]["duration_ps"][0], durations(&case)[0]);
}

#[test]
fn a_wrong_scenario_says_what_and_where_and_exits_2() {
    let output = weft_sim("bad", r#"{"schema": "weft.scenario/1"}"#);
    assert_eq!(output.status.code(), Some(2));
    assert!(output.stdout.is_empty());
    let text = String::from_utf8(output.stderr).unwrap();
    assert!(text.contains("scenario: missing field `fabric`"), "{text}");
    assert!(text.contains("expected: "), "{text}");
}

#[test]
fn a_missing_file_and_a_missing_argument_exit_2() {
    for arguments in [&["/nonexistent/scenario.json"][..], &[]] {
        let mut command = Command::new(env!("CARGO_BIN_EXE_weft-sim"));
        let output = command.args(arguments).output().expect("it runs");
        assert_eq!(output.status.code(), Some(2));
        assert!(String::from_utf8(output.stderr).unwrap().contains("expected: "));
    }
}

#[test]
fn a_run_that_is_stopped_still_prints_what_it_has_and_exits_4() {
    let case = scenario(tree(4, 2, 1, 100 * GBPS, 0), messages([(0, 3, 1_000_000)]));
    let case = with(case, "limits", json!({"max_events": 10}));
    let output = weft_sim("stopped", &case.to_string());
    assert_eq!(output.status.code(), Some(4));
    let outcome: Value = serde_json::from_slice(&output.stdout).expect("JSON");
    assert_eq!(outcome["status"], "stopped");
    assert!(String::from_utf8(output.stderr).unwrap().contains("stopped after 10 events"));
}
