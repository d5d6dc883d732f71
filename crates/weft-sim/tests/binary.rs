//! The `weft-sim` binary: exit codes, standard output, standard error, signals.

use crate::common::*;
use serde_json::{Value, json};
use std::io::{Read, Write};
use std::path::PathBuf;
use std::process::{Child, Command, Output, Stdio};
use std::time::Duration;

const PROGRAM: &str = env!("CARGO_BIN_EXE_weft-sim");

/// A file of this test that is gone afterwards.
struct Scratch(PathBuf);

impl Scratch {
    fn new(name: &str, text: &[u8]) -> Scratch {
        let path = std::env::temp_dir().join(format!("weft-sim-{}-{name}", std::process::id()));
        std::fs::write(&path, text).expect("a temporary file");
        Scratch(path)
    }

    fn path(&self) -> &str {
        self.0.to_str().expect("a plain name")
    }
}

impl Drop for Scratch {
    fn drop(&mut self) {
        let _ = std::fs::remove_file(&self.0);
    }
}

/// The files next to an output that hold a part of it.
fn parts_of(path: &str) -> Vec<String> {
    let path = PathBuf::from(path);
    let name = path.file_name().expect("a name").to_str().expect("a plain name").to_owned();
    let beside = std::fs::read_dir(path.parent().expect("a folder")).expect("it is there");
    beside
        .map(|entry| entry.expect("an entry").file_name().to_string_lossy().into_owned())
        .filter(|other| other.starts_with(&name) && other.ends_with(".part"))
        .collect()
}

fn weft_sim(arguments: &[&str]) -> Output {
    Command::new(PROGRAM).args(arguments).output().expect("it runs")
}

fn run_text(name: &str, text: &str) -> Output {
    let file = Scratch::new(name, text.as_bytes());
    weft_sim(&[file.path()])
}

fn text_of(bytes: &[u8]) -> String {
    String::from_utf8(bytes.to_vec()).expect("UTF-8")
}

fn small() -> Value {
    scenario(tree(4, 2, 1, 100 * GBPS, 0), json!([{"benchmark": "barrier"}]))
}

/// A scenario that would take for ever.
fn endless() -> Value {
    let work = json!([{"benchmark": "alltoall", "size_bytes": 100_000, "iterations": 9_000_000}]);
    scenario(tree(4, 2, 1, 100 * GBPS, 0), work)
}

#[test]
fn a_scenario_is_answered_with_its_outcome_as_json() {
    let output = run_text("good", &small().to_string());
    assert_eq!(output.status.code(), Some(0));
    assert!(output.stderr.is_empty(), "no progress where nobody sees it");
    let outcome: Value = serde_json::from_slice(&output.stdout).expect("JSON");
    assert_eq!(outcome["status"], "complete");
    assert_eq!(outcome["rows"]["duration_ps"][0], durations(&small())[0]);
    assert_eq!(outcome["tenants"]["role"][0], "victim");
}

#[test]
fn standard_input_is_read_and_a_file_written_when_asked_for() {
    let answer = Scratch::new("answer", b"old");
    let mut child = Command::new(PROGRAM)
        .args(["-", "--output", answer.path(), "--quiet"])
        .stdin(Stdio::piped())
        .stdout(Stdio::piped())
        .spawn()
        .expect("it runs");
    child.stdin.take().unwrap().write_all(small().to_string().as_bytes()).expect("it reads");
    let output = child.wait_with_output().expect("it ends");
    assert_eq!((output.status.code(), output.stdout.len()), (Some(0), 0));
    let outcome: Value = serde_json::from_slice(&std::fs::read(&answer.0).unwrap()).expect("JSON");
    assert_eq!(outcome["status"], "complete");
    assert_eq!(parts_of(answer.path()), [""; 0]);
}

#[test]
fn several_scenarios_are_answered_in_order_one_line_each() {
    let one = Scratch::new("one", small().to_string().as_bytes());
    let other = with(small(), "work", json!([{"benchmark": "latency", "iterations": 3}]));
    let other = Scratch::new("other", other.to_string().as_bytes());
    let output = weft_sim(&["--threads", "2", one.path(), other.path(), one.path()]);
    assert_eq!(output.status.code(), Some(0));
    let lines: Vec<Value> =
        text_of(&output.stdout).lines().map(|line| serde_json::from_str(line).unwrap()).collect();
    let n_rows: Vec<usize> =
        lines.iter().map(|line| line["rows"]["step"].as_array().unwrap().len()).collect();
    assert_eq!(n_rows, [1, 3, 1]);
    assert_eq!(lines[0], lines[2]);
}

#[test]
fn one_wrong_scenario_among_several_is_named_before_anything_runs() {
    let good = Scratch::new("endless", endless().to_string().as_bytes());
    let bad = Scratch::new("wrong", b"{}");
    let output = weft_sim(&[good.path(), bad.path()]);
    assert_eq!(output.status.code(), Some(2));
    let text = text_of(&output.stderr);
    assert!(text.contains(&format!("{}: scenario: missing field", bad.path())), "{text}");
}

#[test]
fn a_wrong_scenario_says_what_and_where_and_exits_2() {
    let output = run_text("bad", r#"{"schema": "weft.scenario/1"}"#);
    assert_eq!(output.status.code(), Some(2));
    assert!(output.stdout.is_empty());
    let text = text_of(&output.stderr);
    assert!(text.contains("scenario: missing field `fabric`"), "{text}");
    assert!(text.contains("expected: "), "{text}");
}

#[test]
fn bytes_that_are_no_text_are_refused_with_their_place() {
    let file = Scratch::new("bytes", b"{\"schema\": \"\xff\"}");
    let output = weft_sim(&[file.path()]);
    assert_eq!(output.status.code(), Some(2));
    let text = text_of(&output.stderr);
    assert!(text.contains("byte 12 begins no UTF-8 character"), "{text}");
}

#[test]
fn a_wrong_command_line_exits_2_and_says_what_would_be_right() {
    let file = Scratch::new("fine", small().to_string().as_bytes());
    let cases: [(&[&str], &str); 7] = [
        (&["/nonexistent/scenario.json"], "/nonexistent/scenario.json: "),
        (&[], "arguments: there is no scenario"),
        (&["--fast", file.path()], "--fast: no such option"),
        (&[file.path(), "--threads", "0"], "--threads: '0' is no number from 1 to 4096"),
        (&[file.path(), "--threads", "x"], "--threads: 'x' is no number from 1 to 4096"),
        (&[file.path(), "--output"], "--output: its value is missing"),
        (&["-", "-"], "-: standard input can be read once"),
    ];
    for (arguments, beginning) in cases {
        let output = weft_sim(arguments);
        let text = text_of(&output.stderr);
        assert_eq!(output.status.code(), Some(2), "{text}");
        assert!(text.starts_with(&format!("weft-sim: {beginning}")), "{text}");
        assert!(text.contains("\n  expected: "), "{text}");
    }
    let nowhere = weft_sim(&[file.path(), "--output", "/nonexistent/answer.json"]);
    assert_eq!(nowhere.status.code(), Some(3));
    assert!(text_of(&nowhere.stderr).contains("/nonexistent/answer.json: "));
}

#[test]
fn what_is_no_file_is_not_replaced_and_what_is_not_whole_does_not_stay() {
    let folder = std::env::temp_dir().to_str().expect("a plain path").to_owned();
    let file = Scratch::new("whole", small().to_string().as_bytes());
    let output = weft_sim(&[file.path(), "--output", &folder]);
    assert_eq!(output.status.code(), Some(3));
    let what = format!("weft-sim: {folder}: it is no file\n  expected: a file to write");
    assert_eq!(text_of(&output.stderr).trim_end(), what);
    assert_eq!(parts_of(&folder), [""; 0]);
    // One that runs and cannot be kept: its file has become a folder meanwhile.
    let endless = Scratch::new("unkept", endless().to_string().as_bytes());
    let answer = std::env::temp_dir().join(format!("weft-sim-{}-kept", std::process::id()));
    let path = answer.to_str().expect("a plain path");
    let child = Command::new(PROGRAM)
        .args([endless.path(), "--output", path])
        .stderr(Stdio::piped())
        .spawn()
        .expect("it runs");
    std::thread::sleep(Duration::from_millis(300));
    std::fs::create_dir(&answer).expect("a folder in its place");
    signal(&child, "INT");
    let output = child.wait_with_output().expect("it ends");
    std::fs::remove_dir(&answer).expect("it is still there");
    assert_eq!(output.status.code(), Some(3), "{}", text_of(&output.stderr));
    assert_eq!(parts_of(path), [""; 0]);
}

#[test]
fn a_run_that_is_killed_leaves_no_part_of_an_outcome() {
    let endless = Scratch::new("killed", endless().to_string().as_bytes());
    let answer = Scratch::new("answer", b"an older outcome");
    let mut child = Command::new(PROGRAM)
        .args([endless.path(), "--output", answer.path()])
        .stderr(Stdio::null())
        .spawn()
        .expect("it runs");
    std::thread::sleep(Duration::from_millis(300));
    assert!(child.try_wait().expect("a child").is_none(), "it runs");
    child.kill().expect("it is killed");
    child.wait().expect("it ends");
    assert_eq!(parts_of(answer.path()), [""; 0]);
    assert_eq!(std::fs::read(answer.path()).expect("still there"), b"an older outcome");
}

#[test]
fn help_names_every_exit_code() {
    let output = weft_sim(&["--help"]);
    assert_eq!(output.status.code(), Some(0));
    let text = text_of(&output.stdout);
    for code in ["0 done", "2 the input", "3 the outcome", "4 a simulation", "130 interrupted"] {
        assert!(text.contains(code), "{text}");
    }
    let version = text_of(&weft_sim(&["--version"]).stdout);
    assert_eq!(version, format!("weft-sim {}\n", env!("CARGO_PKG_VERSION")));
}

#[test]
fn a_run_that_is_stopped_still_prints_what_it_has_and_exits_4() {
    let case = scenario(tree(4, 2, 1, 100 * GBPS, 0), messages([(0, 3, 1_000_000)]));
    let case = with(case, "limits", json!({"max_events": 10}));
    let output = run_text("stopped", &case.to_string());
    assert_eq!(output.status.code(), Some(4));
    let outcome: Value = serde_json::from_slice(&output.stdout).expect("JSON");
    assert_eq!(outcome["status"], "stopped");
    assert!(text_of(&output.stderr).contains("stopped after 10 events"));
}

/// Send a signal by name, as a shell does.
fn signal(child: &Child, name: &str) {
    let sent = Command::new("kill").args([&format!("-{name}"), &child.id().to_string()]).status();
    assert!(sent.expect("kill runs").success());
}

#[test]
fn an_interrupted_run_leaves_a_valid_outcome_and_exits_130() {
    for name in ["INT", "TERM"] {
        let file = Scratch::new(&format!("endless-{name}"), endless().to_string().as_bytes());
        let child = Command::new(PROGRAM)
            .arg(file.path())
            .stdout(Stdio::piped())
            .stderr(Stdio::piped())
            .spawn()
            .expect("it runs");
        std::thread::sleep(Duration::from_millis(700));
        signal(&child, name);
        let output = child.wait_with_output().expect("it ends");
        assert_eq!(output.status.code(), Some(130), "{name}");
        let outcome: Value = serde_json::from_slice(&output.stdout).expect("JSON");
        assert_eq!(outcome["status"], "stopped");
        let rows = outcome["rows"]["duration_ps"].as_array().unwrap();
        assert!(!rows.is_empty(), "what was timed by then is kept");
        assert!(text_of(&output.stderr).contains("stopped on request after"));
    }
}

#[test]
fn a_reader_that_goes_away_is_success() {
    // More rows than a pipe holds, so that the program meets the closed end.
    let many = json!([{"benchmark": "latency", "iterations": 20_000}]);
    let file = Scratch::new("many", with(small(), "work", many).to_string().as_bytes());
    let mut child = Command::new(PROGRAM)
        .arg(file.path())
        .stdout(Stdio::piped())
        .stderr(Stdio::piped())
        .spawn()
        .expect("it runs");
    let mut first = [0; 10];
    child.stdout.take().unwrap().read_exact(&mut first).expect("the first bytes");
    let output = child.wait_with_output().expect("it ends");
    assert_eq!((output.status.code(), text_of(&output.stderr)), (Some(0), String::new()));
}

#[test]
fn what_is_no_file_or_has_no_end_is_refused_at_once() {
    let folder = Scratch::new("special", b"");
    let pipe = format!("{}.pipe", folder.path());
    assert!(Command::new("mkfifo").arg(&pipe).status().expect("mkfifo runs").success());
    let sparse = Scratch::new("sparse", b"");
    let file = std::fs::File::options().write(true).open(sparse.path()).expect("it is there");
    file.set_len(10 << 30).expect("a file with a hole");
    let cases = [
        (pipe.as_str(), "it is a pipe"),
        ("/dev/zero", "it is a device"),
        ("/", "it is a directory"),
        (sparse.path(), "it is larger than 256 MiB"),
    ];
    for (path, what) in cases {
        let output = weft_sim(&[path]);
        assert_eq!(output.status.code(), Some(2), "{path}");
        let said = text_of(&output.stderr);
        assert_eq!(said, format!("weft-sim: {path}: {what}\n  expected: a scenario document\n"));
    }
    std::fs::remove_file(&pipe).expect("the pipe of this test");
}
