//! Readers of the output of a cluster's own tools: one module a format, chosen by content.
//!
//! A reader takes lines and adds records to [`Gathered`]. Bad content is never an
//! error: the reader reports the line's number and what it expected, and continues.

mod columns;
mod cursor;
mod diags;
mod fabric_document;
mod format;
mod forwarding_table;
mod host;
mod ibdiagnet;
mod lines;
mod opensm;
mod slurm_topology;

pub use format::{Format, MAX_HOST_BYTES, MAX_TABLE_BYTES, MAX_TEXT_BYTES, Reader};
pub use host::hwloc::{PciDevice, PciTree, pci_tree};
pub use lines::{Lines, MAX_LINE_BYTES};

use crate::subnet::records::{Gathered, Place, Source};
use std::io::{self, BufRead, BufReader, Cursor, Read};

/// How much of a file's beginning decides its format.
const HEAD_BYTES: usize = 1 << 16;

/// All formats, the most telling beginnings first.
pub const FORMATS: &[Format] = &[
    opensm::dump_fts::LFTS_DUMP,
    opensm::dump_fts::DUMP_FTS,
    opensm::fdbs::FORMAT,
    opensm::sl2vl::FORMAT,
    opensm::log::FORMAT,
    diags::perfquery::FORMAT,
    diags::ibqueryerrors::FORMAT,
    diags::smpquery_vlarb::FORMAT,
    diags::saquery::FORMAT,
    host::ibstat::FORMAT,
    host::rdma_link::TEXT,
    host::rdma_link::JSON,
    host::mlxlink::JSON,
    host::mlxlink::TEXT,
    host::cxi_stat::FORMAT,
    fabric_document::FORMAT,
    opensm::guid2lid::FORMAT,
    slurm_topology::FORMAT,
    host::hwloc::FORMAT,
    diags::ibnetdiscover::FORMAT,
    diags::port_list::FORMAT,
    diags::node_list::FORMAT,
    diags::iblinkinfo::FORMAT,
    opensm::subnet_lst::FORMAT,
    ibdiagnet::db_csv::FORMAT,
    ibdiagnet::net_dump::FORMAT,
    ibdiagnet::net_dump_ext::FORMAT,
    ibdiagnet::adaptive_routing::FORMAT,
];

/// Read one file into `gathered`, by its content; `name` is what messages call it.
pub fn read(name: &str, input: &mut dyn Read, gathered: &mut Gathered) -> io::Result<()> {
    let mut head = Vec::new();
    (&mut *input).take(HEAD_BYTES as u64).read_to_end(&mut head)?;
    let text = String::from_utf8_lossy(&head);
    let is_content = |line: &&str| !lines::is_noise(line.as_bytes());
    let text: String = text.split_inclusive('\n').filter(is_content).collect();
    let format = FORMATS.iter().find(|format| (format.is_it)(&text));
    let source = gathered.sources.len() as u32;
    gathered.sources.push(Source {
        name: name.to_owned(),
        format: format.map(|format| format.name.to_owned()),
        n_lines: 0,
        n_bytes: 0,
        n_unread: 0,
    });
    let Some(format) = format else {
        let what = unknown(&head, &text);
        let names: Vec<&str> = FORMATS.iter().map(|format| format.name).collect();
        gathered.unread(Place { source, line: 1 }, what, format!("one of {}", names.join(", ")));
        return Ok(());
    };
    let mut buffered: Box<dyn BufRead> =
        Box::new(Cursor::new(head).chain(BufReader::with_capacity(HEAD_BYTES, input)));
    let mut lines = Lines::new(&mut *buffered, source, format.max_bytes);
    (format.read)(&mut lines, gathered)?;
    close(&lines, gathered, source);
    Ok(())
}

/// Beginnings of compressed files, and what unpacks them.
const COMPRESSED: [(&[u8], &str); 4] = [
    (b"\x1f\x8b", "a compressed file: unpack it first (zcat)"),
    (b"\xfd7zXZ\0", "a compressed file: unpack it first (xzcat)"),
    (b"BZh", "a compressed file: unpack it first (bzcat)"),
    (b"\x28\xb5\x2f\xfd", "a compressed file: unpack it first (zstdcat)"),
];

/// The kind of a compressed file by its beginning, and the tool that unpacks it.
pub fn compressed(head: &[u8]) -> Option<&'static str> {
    COMPRESSED.iter().find(|(mark, _)| head.starts_with(mark)).map(|(_, what)| *what)
}

/// The description of a file without a reader: in words, or the first line of `text`, which is its
/// head without warnings.
fn unknown<'a>(head: &[u8], text: &'a str) -> &'a str {
    if head.is_empty() {
        return "the file is empty";
    }
    if let Some(what) = compressed(head) {
        return what;
    }
    let blank = match head.trim_ascii().is_empty() {
        true => "only white space",
        false => "only warnings of the tool: it printed no result",
    };
    match text.lines().find(|line| !line.trim().is_empty()) {
        Some(line) if is_key(line) => {
            "a file of management keys, which weft neither reads nor shows"
        }
        Some(line) => line,
        None => blank,
    }
}

/// A line of OpenSM's `guid2mkey`: a port GUID and the key that opens the port to any manager.
fn is_key(line: &str) -> bool {
    let is_number = |word: &str| {
        word.strip_prefix("0x").is_some_and(|digits| {
            digits.len() == 16 && digits.bytes().all(|digit| digit.is_ascii_hexdigit())
        })
    };
    let words: Vec<&str> = line.split_whitespace().collect();
    words.len() == 2 && words.into_iter().all(is_number)
}

/// Report on the whole file after its reader has ended.
fn close(lines: &Lines<'_>, gathered: &mut Gathered, source: u32) {
    if let Some(line) = lines.cut {
        let expected = format!("lines of at most {MAX_LINE_BYTES} bytes");
        gathered.unread(lines.at(line), "a line that is too long; its end was cut", expected);
    }
    if lines.endless {
        let what = "the file does not end; later lines were left out";
        gathered.unread(lines.place(), what, "a file with an end");
    }
    let source = &mut gathered.sources[source as usize];
    (source.n_lines, source.n_bytes) = (u64::from(lines.number), lines.n_bytes);
}
