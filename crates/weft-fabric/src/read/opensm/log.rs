//! OpenSM's log: the routing engine that made the tables, errors, ports that left.
//!
//! SOURCE: logs of OpenSM 3.3.23; `osm_ucast_mgr.c` and `osm_opensm.c`, where it speaks of engines.

use crate::read::format::{Format, MAX_TABLE_BYTES};
use crate::read::lines::Lines;
use crate::subnet::records::{Gathered, Place, SmLog};
use std::collections::HashSet;
use std::io;

/// So many different errors are kept, and so many ports that left; the log may go on for years.
const MAX_KEPT: usize = 1000;
/// Lines that belong to an error after its first one.
const MAX_LINES_OF_ERROR: usize = 4;
const MESSAGE: &str = "a message: 'Nov 21 02:38:50 235575 [5AE916C0] 0x02 -> ...'";

/// `Nov 21 02:38:50 235575 [5AE916C0] 0x02 -> osm_ucast_mgr_process: minhop tables configured ...`
pub(crate) const FORMAT: Format =
    Format { name: "opensm.log", is_it, max_bytes: MAX_TABLE_BYTES, read };

fn is_it(head: &str) -> bool {
    head.lines().take(50).any(|line| message(line).is_some())
}

fn read(lines: &mut Lines<'_>, gathered: &mut Gathered) -> io::Result<()> {
    let mut log = Log::default();
    while let Some((place, line)) = lines.next_bytes()? {
        let text = String::from_utf8_lossy(line);
        match message(&text) {
            Some((level, message)) => {
                log.finish(place, gathered);
                log.begun = true;
                log.message(level, message, place, gathered);
            }
            None => log.further(&text, place, gathered),
        }
    }
    let end = lines.place();
    log.finish(end, gathered);
    gathered.sm_logs.push(log.facts);
    Ok(())
}

/// Level and text of a message.
fn message(line: &str) -> Option<(u32, &str)> {
    let (head, text) = line.split_once(" -> ")?;
    let (head, level) = head.rsplit_once(" 0x")?;
    let (date, thread) = head.split_once(" [")?;
    let thread = thread.strip_suffix(']')?;
    let is_date = date.split_whitespace().count() == 4 && date.contains(':');
    let is_thread = !thread.is_empty() && thread.bytes().all(|byte| byte.is_ascii_hexdigit());
    if !is_date || !is_thread {
        return None;
    }
    Some((u32::from_str_radix(level, 16).ok()?, text))
}

/// Facts of a log so far.
#[derive(Default)]
struct Log {
    facts: SmLog,
    begun: bool,
    seen: HashSet<String>,
    /// The error whose further lines may come, and how many came.
    open: Option<(String, usize)>,
    /// Whether the excess of errors was reported.
    is_full: bool,
}

impl Log {
    fn message(&mut self, level: u32, text: &str, place: Place, gathered: &mut Gathered) {
        if text.starts_with("SUBNET UP") {
            self.facts.n_sweeps += 1;
        } else if let Some(text) = text.strip_suffix(" tables configured on all switches") {
            let engine = text.rsplit_once(": ").map_or(text, |(_, engine)| engine);
            note(&mut self.facts.engines_used, engine);
        } else if let Some((_, port)) = text.split_once("Removed port with GUID:") {
            let removed = &mut self.facts.removed;
            match removed.len() < MAX_KEPT {
                true => removed.push(port.to_owned()),
                false => self.full(place, gathered),
            }
        } else if let Some(engine) = asked(text) {
            note(&mut self.facts.engines_asked, engine);
        }
        if let Some((_, error)) = text.split_once(": ERR ") {
            self.open = Some((error.to_owned(), 0));
        } else if level == 1 && !text.starts_with("log_trap_info: ") {
            // Notices of switches are logged at the level of errors.
            self.open = Some((text.to_owned(), 0));
        }
    }

    /// A line that is no message: it belongs to the one before.
    fn further(&mut self, text: &str, place: Place, gathered: &mut Gathered) {
        if let Some(engines) = text.trim().strip_prefix("Activate '") {
            // The program prints this on its standard output.
            let engines = engines.split('\'').next().unwrap_or_default();
            for engine in engines.split([',', ' ']).filter(|engine| !engine.is_empty()) {
                note(&mut self.facts.engines_asked, engine);
            }
        } else if let Some((error, n_lines)) = &mut self.open {
            *n_lines += 1;
            if *n_lines <= MAX_LINES_OF_ERROR && !text.trim().is_empty() {
                error.push_str("; ");
                error.push_str(text.trim());
            }
        } else if !self.begun && !text.trim().is_empty() {
            gathered.unread(place, text, MESSAGE);
        }
    }

    /// No line more will come for the error that is open.
    fn finish(&mut self, place: Place, gathered: &mut Gathered) {
        let Some((error, _)) = self.open.take() else { return };
        let error = crate::error::clipped(&error);
        if self.facts.errors.len() >= MAX_KEPT {
            if !self.seen.contains(&error) {
                self.full(place, gathered);
            }
        } else if self.seen.insert(error.clone()) {
            self.facts.errors.push(error);
        }
    }

    fn full(&mut self, place: Place, gathered: &mut Gathered) {
        if !std::mem::replace(&mut self.is_full, true) {
            let what = "more different errors or removed ports than are kept";
            gathered.unread(place, what, format!("at most {MAX_KEPT}"));
        }
    }
}

/// Note an engine, unless it is the one noted last.
fn note(engines: &mut Vec<String>, engine: &str) {
    if engines.last().is_none_or(|last| last != engine) && engines.len() < MAX_KEPT {
        engines.push(engine.to_owned());
    }
}

/// The engine that a message shows was asked for: it failed.
fn asked(text: &str) -> Option<&str> {
    let failed = [": cannot build lid matrices", ": cannot build fwd tables"];
    if let Some(text) = failed.iter().find_map(|end| text.trim_end().strip_suffix(end)) {
        return Some(text.rsplit_once(": ").map_or(text, |(_, engine)| engine));
    }
    let (_, engine) = text.split_once("etup routing engine '")?;
    engine.split('\'').next()
}
