//! Scenario documents: read whole, or refused with what they are instead.

use std::fs::{File, FileType};
use std::io::Read;
use std::os::unix::fs::FileTypeExt;

/// Most bytes of a scenario: a fabric of 8,008 nodes with its tables has 12.6 million.
const MAX_SCENARIO_BYTES: u64 = 1 << 28;
/// Where the system keeps the open files of a process: such a pipe has a writer.
const OPEN: [&str; 3] = ["/dev/fd/", "/dev/stdin", "/proc/"];

/// The text of a scenario; `-` is standard input.
pub(crate) fn read_scenario(path: &str) -> Result<String, String> {
    let mut bytes = Vec::new();
    if path == "-" {
        read_limited(&mut std::io::stdin().lock(), &mut bytes)?;
    } else {
        refuse_endless(path)?;
        read_limited(&mut File::open(path).map_err(|error| error.to_string())?, &mut bytes)?;
    }
    String::from_utf8(bytes).map_err(|error| {
        let at = error.utf8_error().valid_up_to();
        format!("byte {at} begins no UTF-8 character")
    })
}

/// A pipe without a writer would hold up the program before it opens, a device never ends.
fn refuse_endless(path: &str) -> Result<(), String> {
    let file = std::fs::metadata(path).map_err(|error| error.to_string())?;
    let kind = file.file_type();
    if kind.is_fifo() && OPEN.iter().any(|place| path.starts_with(place)) {
        return Ok(());
    }
    if file.is_file() {
        return if file.len() > MAX_SCENARIO_BYTES { Err(too_large()) } else { Ok(()) };
    }
    Err(format!("it is {}", word_of(kind)))
}

fn word_of(kind: FileType) -> &'static str {
    if kind.is_dir() {
        "a directory"
    } else if kind.is_fifo() {
        "a pipe"
    } else if kind.is_socket() {
        "a socket"
    } else {
        "a device"
    }
}

fn read_limited(input: &mut impl Read, bytes: &mut Vec<u8>) -> Result<(), String> {
    let mut limited = input.take(MAX_SCENARIO_BYTES + 1);
    limited.read_to_end(bytes).map_err(|error| error.to_string())?;
    if bytes.len() as u64 > MAX_SCENARIO_BYTES { Err(too_large()) } else { Ok(()) }
}

fn too_large() -> String {
    format!("it is larger than {} MiB", MAX_SCENARIO_BYTES >> 20)
}
