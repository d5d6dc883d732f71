//! The reader of a whole log, line by line.

use crate::facts::{Facts, Kind, Source, Statement, Understood};
use crate::library::{libfabric, message, mpi, mvapich, sharp, ucx};
use crate::line::{self, Message, MessageSeverity, Needle, needle};
use crate::nccl::{channel, communicator, network, plugin, variables, warning};
use aho_corasick::{AhoCorasick, MatchKind};
use std::io::{self, BufRead};
use std::sync::LazyLock;
use std::sync::atomic::{AtomicBool, Ordering};
use weft_fabric::read::{Lines, compressed};
use weft_fabric::subnet::Place;

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
    let source = facts.sources.len() as u32;
    facts.sources.push(Source { name: name.to_owned(), ..Source::default() });
    let mut lines = Lines::new(input, source, MAX_BYTES);
    while let Some((place, bytes)) = lines.next_bytes()? {
        if place.line % LOOK_EVERY == 0 && stop.load(Ordering::Relaxed) {
            break;
        }
        if !ANY.is_match(bytes) {
            continue;
        }
        let understood = if line::MARK.within(bytes).is_some() {
            marked(&line::plain(bytes), place, facts)
        } else {
            let known = OTHERS.iter().find_map(|(needle, read)| {
                needle.within(bytes)?;
                read(&line::plain(bytes), &mut Statement::new(place, facts))
            });
            known.or_else(|| message::read(&line::plain(bytes), &mut Statement::new(place, facts)))
        };
        facts.sources[source as usize].n_understood += u64::from(understood.is_some());
    }
    let read = &mut facts.sources[source as usize];
    (read.n_lines, read.n_bytes) = (lines.number, lines.n_bytes);
    (read.cut, read.endless) = (lines.cut, lines.endless);
    Ok(())
}

/// Whether a line has any mark: most lines of a job's log have none.
static ANY: LazyLock<AhoCorasick> = LazyLock::new(|| {
    let others = OTHERS.iter().map(|(needle, _)| needle.text());
    let messages = message::PARTS.iter().map(|part| part.as_bytes());
    let marks = others.chain(messages).chain([line::MARK.text()]);
    let search = AhoCorasick::builder().match_kind(MatchKind::LeftmostFirst).build(marks);
    search.expect("a few short texts")
});

/// Reads a line that has no mark of NCCL's.
type Other = fn(&str, &mut Statement<'_>) -> Understood;

/// Marks of such lines, each with its reader.
static OTHERS: [(Needle, Other); 19] = [
    (needle!("CCL version"), versions),
    (needle!("HIP version"), versions),
    (needle!("ROCm version"), versions),
    (needle!("Librccl path"), versions),
    (needle!("UCX  "), ucx::read),
    (needle!("libfabric"), libfabric::read),
    (needle!("sharp_job_id:"), sharp::read),
    (needle!("[group#:"), sharp::read),
    (needle!("] ERROR "), sharp::read),
    (needle!("elect"), mpi::read),
    (needle!(" open function failed"), mpi::read),
    (needle!("MPI startup()"), mpi::read),
    (needle!("[LOG_CAT_"), mpi::read),
    (needle!("netmod Capability"), mpi::read),
    (needle!("MVAPICH2-"), mvapich::version),
    (needle!("Pid "), message::listed),
    (needle!("] INFO "), without_mark),
    (needle!("WARN "), without_mark),
    (needle!(" : "), mvapich::read),
];

/// A line with a mark of NCCL's.
fn marked(line: &str, place: Place, facts: &mut Facts) -> Understood {
    let Some(message) = line::message(line) else {
        let mut statement = Statement::new(place, facts);
        return versions(line, &mut statement).or_else(|| message::read(line, &mut statement));
    };
    facts.sources[place.source as usize].n_torn += u64::from(message.tore);
    let speaker = facts.speakers.number(message.head);
    said(&message, &mut Statement { facts, speaker, place, from: "" })
}

/// A line of NCCL 2.2, which names a process and its GPU before its level.
fn without_mark(line: &str, statement: &mut Statement<'_>) -> Understood {
    let message = line::old_message(line)?;
    let speaker = Some(statement.facts.speakers.number(message.head)?);
    let (facts, place) = (&mut *statement.facts, statement.place);
    said(&message, &mut Statement { facts, speaker, place, from: "" })
}

fn said<'a>(message: &Message<'a>, statement: &mut Statement<'a>) -> Understood {
    let is_warning = message.severity == MessageSeverity::Warning;
    statement.from = if is_warning { warning::place(message.head) } else { "" };
    let understood = understand(message.text, statement);
    // NCCL calls a network that it does without ATTN: where a reader knows the message, it is no
    // warning.
    let is_unknown = understood.is_none() && message.severity == MessageSeverity::Attention;
    if is_warning || is_unknown {
        let from = warning::place(message.head);
        return statement.note(Kind::Warning, &["NCCL", from, message.text]);
    }
    understood
}

/// A message: the first reader that knows it takes it.
fn understand(text: &str, statement: &mut Statement<'_>) -> Understood {
    let readers = [
        channel::read,
        plugin::read,
        variables::read,
        network::read,
        communicator::read,
        warning::failed,
    ];
    readers.iter().find_map(|read| read(text, statement))
}

/// A line without a mark that names a version, perhaps behind a launcher's prefix.
fn versions(line: &str, statement: &mut Statement<'_>) -> Understood {
    const BEGINNINGS: [&str; 5] =
        ["NCCL version", "RCCL version", "HIP version", "ROCm version", "Librccl path"];
    let start = BEGINNINGS.iter().find_map(|beginning| line.find(beginning))?;
    if start > 0 && !line[..start].trim_end().ends_with([':', '>', ']', ')']) {
        return None;
    }
    communicator::version(&line[start..], statement)
}
