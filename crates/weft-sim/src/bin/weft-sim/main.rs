//! `weft-sim scenario.json`: the outcome as JSON on standard output, without Python.
//!
//! Exit codes: 0 done, 2 the input is wrong, 3 the outcome cannot be written, 4 the simulation
//! ended early (deadlock, stall, failure or limit), 130 interrupted, the outcome so far is written.
#![forbid(unsafe_code)]

mod arguments;
mod input;
mod progress;

use arguments::{Arguments, Asked};
use progress::ProgressLine;
use std::fs::File;
use std::io::{ErrorKind, Write};
use std::process::ExitCode;
use std::sync::Arc;
use std::sync::atomic::{AtomicBool, Ordering};
use weft_sim::{
    Monitor, Outcome, SimError, Status, ValidScenario, check_many, simulate_many_watched,
    simulate_watched,
};

const WRONG_INPUT: u8 = 2;
const CANNOT_WRITE: u8 = 3;
const ENDED_EARLY: u8 = 4;
const INTERRUPTED: u8 = 130;

/// Why there is no outcome: what to say, and the exit code.
struct Failure(String, u8);

fn main() -> ExitCode {
    let result = match Arguments::read(std::env::args().skip(1)) {
        Ok(Asked::Run(arguments)) => run(&arguments),
        Ok(Asked::Text(text)) => {
            let _ = std::io::stdout().write_all(text.as_bytes());
            Ok(ExitCode::SUCCESS)
        }
        Err(text) => Err(Failure(text, WRONG_INPUT)),
    };
    result.unwrap_or_else(|Failure(text, code)| {
        eprintln!("weft-sim: {text}");
        ExitCode::from(code)
    })
}

fn run(arguments: &Arguments) -> Result<ExitCode, Failure> {
    let stop = stop_on_signals()?;
    let mut texts = Vec::with_capacity(arguments.scenarios.len());
    for path in &arguments.scenarios {
        let text = input::read_scenario(path).map_err(|what| {
            Failure(format!("{path}: {what}\n  expected: a scenario document"), WRONG_INPUT)
        })?;
        texts.push(text);
    }
    let runs = Runs::read(arguments, &texts)?;
    let output = Output::open(arguments.output.as_deref())?;
    let monitors: Vec<Monitor> = texts.iter().map(|_| Monitor::default()).collect();
    let progress = ProgressLine { monitors: &monitors, quiet: arguments.quiet };
    let outcomes = progress
        .shown(|| runs.run(arguments.threads, &stop, &monitors))
        .map_err(|error| Failure(error.to_string(), WRONG_INPUT))?;
    output.write(&outcomes)?;
    Ok(judge(arguments, &outcomes, stop.load(Ordering::Relaxed)))
}

/// The scenarios to run: checked before anything runs.
enum Runs<'a> {
    One(Box<ValidScenario>),
    /// Read again when their turn comes: together they might not fit into memory.
    Many(&'a [String]),
}

impl<'a> Runs<'a> {
    fn read(arguments: &Arguments, texts: &'a [String]) -> Result<Runs<'a>, Failure> {
        let refuse = |index: usize, error: SimError| {
            let path = arguments.scenarios.get(index).map_or("--threads", String::as_str);
            Failure(format!("{path}: {error}"), WRONG_INPUT)
        };
        if let [text] = texts {
            let scenario = ValidScenario::parse(text).map_err(|error| refuse(0, error))?;
            return Ok(Runs::One(Box::new(scenario)));
        }
        check_many(texts, arguments.threads).map_err(|(index, error)| refuse(index, error))?;
        Ok(Runs::Many(texts))
    }

    fn run(
        &self,
        threads: usize,
        stop: &AtomicBool,
        monitors: &[Monitor],
    ) -> Result<Vec<Outcome>, SimError> {
        match self {
            Runs::One(scenario) => Ok(vec![simulate_watched(scenario, stop, &monitors[0])]),
            Runs::Many(texts) => simulate_many_watched(texts, threads, stop, monitors),
        }
    }
}

/// The flag that Ctrl-C or a polite kill sets; a second one ends the program at once.
fn stop_on_signals() -> Result<Arc<AtomicBool>, Failure> {
    let stop = Arc::new(AtomicBool::new(false));
    for signal in [signal_hook::consts::SIGINT, signal_hook::consts::SIGTERM] {
        let second = i32::from(INTERRUPTED);
        signal_hook::flag::register_conditional_shutdown(signal, second, Arc::clone(&stop))
            .and_then(|_| signal_hook::flag::register(signal, Arc::clone(&stop)))
            .map_err(|error| Failure(format!("signal {signal}: {error}"), CANNOT_WRITE))?;
    }
    Ok(stop)
}

/// Where outcomes go: standard output, or a file that appears only when it is whole.
struct Output<'a> {
    path: Option<&'a str>,
}

/// A file that is not whole: gone again where it never will be.
struct PendingFile {
    part: String,
    file: File,
}

impl Drop for PendingFile {
    fn drop(&mut self) {
        // Renamed, where all went well.
        let _ = std::fs::remove_file(&self.part);
    }
}

impl PendingFile {
    fn next_to(path: &str) -> Result<PendingFile, Failure> {
        // A folder or a device of that name is not to be replaced by a file.
        if std::fs::metadata(path).is_ok_and(|there| !there.is_file()) {
            let what = format!("{path}: it is no file\n  expected: a file to write");
            return Err(Failure(what, CANNOT_WRITE));
        }
        // Another run may write the same name, and a link of that name would lead elsewhere.
        let part = format!("{path}.{}.part", std::process::id());
        let file = File::create_new(&part).map_err(|error| cannot_write(path, &error))?;
        Ok(PendingFile { part, file })
    }
}

impl<'a> Output<'a> {
    /// Whether the file can be written is found out before the run. During the run it is not there:
    /// the program may be killed.
    fn open(path: Option<&'a str>) -> Result<Output<'a>, Failure> {
        path.map(PendingFile::next_to).transpose()?;
        Ok(Output { path })
    }

    /// One line an outcome.
    fn write(&self, outcomes: &[Outcome]) -> Result<(), Failure> {
        let Some(path) = self.path else {
            return match write_lines(&mut std::io::stdout().lock(), outcomes) {
                // A reader that has gone (`weft-sim ... | head`) has seen what it wanted.
                Err(error) if error.kind() == ErrorKind::BrokenPipe => std::process::exit(0),
                result => result.map_err(|error| cannot_write("standard output", &error)),
            };
        };
        let PendingFile { part, file } = &mut PendingFile::next_to(path)?;
        write_lines(file, outcomes)
            .and_then(|()| std::fs::rename(&*part, path))
            .map_err(|error| cannot_write(path, &error))
    }
}

fn write_lines(sink: &mut impl Write, outcomes: &[Outcome]) -> std::io::Result<()> {
    let mut sink = std::io::BufWriter::new(sink);
    for outcome in outcomes {
        serde_json::to_writer(&mut sink, outcome)?;
        sink.write_all(b"\n")?;
    }
    sink.flush()
}

fn cannot_write(place: &str, error: &std::io::Error) -> Failure {
    Failure(format!("{place}: {error}\n  expected: a place to write to"), CANNOT_WRITE)
}

fn judge(arguments: &Arguments, outcomes: &[Outcome], interrupted: bool) -> ExitCode {
    let mut early = false;
    for (path, outcome) in arguments.scenarios.iter().zip(outcomes) {
        if outcome.status != Status::Complete {
            eprintln!("weft-sim: {path}: {}", outcome.message);
            early = true;
        }
    }
    match (early, interrupted) {
        (false, _) => ExitCode::SUCCESS,
        (true, true) => ExitCode::from(INTERRUPTED),
        (true, false) => ExitCode::from(ENDED_EARLY),
    }
}
