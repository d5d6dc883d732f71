//! A whole log, line by line.

use crate::facts::{Facts, Place, Said, Source};
use crate::speaker::Who;
use crate::{channel, communicator, echo, line, network, plugin, warning};
use memchr::memmem;
use std::io::{self, BufRead};
use std::sync::atomic::{AtomicBool, Ordering};
use weft_fabric::read::{Lines, compressed};

/// Most bytes that are read of one log: an endless one ends there.
const MAX_BYTES: u64 = 64 << 30;
/// Lines between two looks at whether to stop.
const LOOK_EVERY: u32 = 1 << 14;

/// Read one log into `facts`; `name` is what messages call it. `stop` ends it early.
pub fn read(
    name: &str,
    input: &mut dyn BufRead,
    facts: &mut Facts,
    stop: &AtomicBool,
) -> io::Result<()> {
    if let Some(what) = compressed(input.fill_buf()?) {
        return Err(io::Error::new(io::ErrorKind::InvalidData, what));
    }
    let nccl = memmem::Finder::new("CCL ");
    let source = facts.sources.len() as u32;
    facts.sources.push(Source {
        name: name.to_owned(),
        n_lines: 0,
        n_bytes: 0,
        n_understood: 0,
        n_torn: 0,
        cut: None,
        endless: false,
    });
    let mut lines = Lines::new(input, MAX_BYTES);
    while let Some((number, line)) = lines.next_numbered()? {
        if number % LOOK_EVERY == 0 && stop.load(Ordering::Relaxed) {
            break;
        }
        one(line, Place { source, line: number }, facts, &nccl);
    }
    let said = &mut facts.sources[source as usize];
    (said.n_lines, said.n_bytes) = (lines.number, lines.n_bytes);
    (said.cut, said.endless) = (lines.cut, lines.endless);
    Ok(())
}

fn one(bytes: &[u8], place: Place, facts: &mut Facts, finder: &memmem::Finder<'_>) {
    if finder.find(bytes).is_none() && !is_continuation(bytes) {
        return;
    }
    let line = line::plain(bytes);
    let source = place.source as usize;
    let Some(message) = line::message(&line, &memmem::Finder::new("NCCL ")) else {
        let said = Said { speaker: None, place, from: "" };
        facts.sources[source].n_understood += u64::from(unmarked(&line, said, facts));
        return;
    };
    facts.sources[source].n_torn += u64::from(message.tore);
    let speaker = Who::parse(message.head).and_then(|who| facts.speakers.number(who));
    let from = if message.is_warning { warning::place(message.head) } else { "" };
    let said = Said { speaker, place, from };
    let understood = understand(message.text, said, facts);
    if message.is_warning {
        warning::note(message.text, said, facts);
    }
    facts.sources[source].n_understood += u64::from(understood || message.is_warning);
}

/// A message: the first reader that knows it takes it.
fn understand(text: &str, said: Said<'_>, facts: &mut Facts) -> bool {
    channel::read(text, said, facts)
        || channel::multicast(text, said, facts)
        || plugin::read(text, said, facts)
        || echo::read(text, said, facts)
        || network::read(text, said, facts)
        || communicator::read(text, said, facts)
}

/// What RCCL writes below its version without a mark.
fn is_continuation(line: &[u8]) -> bool {
    line.starts_with(b"HIP ") || line.starts_with(b"ROCm ") || line.starts_with(b"Librccl ")
}

/// A line without a mark that says a version, perhaps behind a launcher's prefix.
fn unmarked(line: &str, said: Said<'_>, facts: &mut Facts) -> bool {
    let start = line.find("NCCL version").or_else(|| line.find("RCCL version"));
    let start = match start {
        Some(at) if line[..at].trim_end().ends_with([':', '>', ']']) || at == 0 => at,
        Some(_) => return false,
        None => 0,
    };
    communicator::version(&line[start..], said, facts)
}
