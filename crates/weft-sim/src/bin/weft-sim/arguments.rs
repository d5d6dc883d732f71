//! The command line.

const USAGE: &str = "weft-sim [--output FILE] [--threads N] [--quiet] SCENARIO...";

const HELP: &str = "
Run each scenario (a file, or - for standard input) and print its outcome, one JSON object a line.

  --output FILE   write there; the file appears when it is whole
  --threads N     scenarios to run at the same time, one a core without it
  --quiet         no progress on the terminal
  --help, --version

Exit codes: 0 done, 2 the input is wrong, 3 the outcome cannot be written, 4 a simulation ended in
a deadlock, a stall, a failure or at its limit, 130 interrupted: what was simulated is written.
";

/// The scenarios to run, and how.
#[derive(Debug, Default)]
pub(crate) struct Arguments {
    pub(crate) scenarios: Vec<String>,
    pub(crate) output: Option<String>,
    /// 0 is one a core.
    pub(crate) threads: usize,
    pub(crate) quiet: bool,
}

/// The request of the command line.
#[derive(Debug)]
pub(crate) enum Asked {
    Run(Arguments),
    /// Only this text.
    Text(String),
}

impl Arguments {
    pub(crate) fn read(words: impl Iterator<Item = String>) -> Result<Asked, String> {
        let mut words = words;
        let mut arguments = Arguments::default();
        while let Some(word) = words.next() {
            match word.as_str() {
                "--help" | "-h" => return Ok(Asked::Text(format!("usage: {USAGE}\n{HELP}"))),
                "--version" => {
                    let version = env!("CARGO_PKG_VERSION");
                    return Ok(Asked::Text(format!("weft-sim {version}\n")));
                }
                "--quiet" | "-q" => arguments.quiet = true,
                "--output" | "-o" => arguments.output = Some(value(&word, words.next())?),
                "--threads" => arguments.threads = number(&word, &value(&word, words.next())?)?,
                "-" => arguments.scenarios.push(word),
                _ if word.starts_with('-') => return Err(refuse(&word, "no such option")),
                _ => arguments.scenarios.push(word),
            }
        }
        if arguments.scenarios.is_empty() {
            return Err(refuse("arguments", "there is no scenario"));
        }
        if arguments.scenarios.iter().filter(|path| *path == "-").count() > 1 {
            return Err(refuse("-", "standard input can be read once"));
        }
        Ok(Asked::Run(arguments))
    }
}

fn value(option: &str, word: Option<String>) -> Result<String, String> {
    word.ok_or_else(|| refuse(option, "its value is missing"))
}

fn number(option: &str, word: &str) -> Result<usize, String> {
    let good = word.parse().ok().filter(|number| (1..=4096).contains(number));
    good.ok_or_else(|| refuse(option, &format!("'{word}' is no number from 1 to 4096")))
}

fn refuse(place: &str, what: &str) -> String {
    format!("{place}: {what}\n  expected: {USAGE}")
}
