//! `smpquery vlarb LID PORT`: how a port shares its cable among virtual lanes.
//!
//! SOURCE: what infiniband-diags 44.0 prints; the InfiniBand Architecture Specification, volume 1,
//! VL arbitration: a lane and a weight in units of 64 bytes.

use crate::read::format::{Format, MAX_TEXT_BYTES};
use crate::read::lines::Lines;
use crate::subnet::Arbitration;
use crate::subnet::records::{ArbitrationRecord, Gathered, Who};
use std::io;

const HEADER: &str = "a port: '# VLArbitration tables: Lid 3 port 1 LowCap 8 HighCap 8'";
const ROWS: &str = "lanes and as many weights below them: 'VL    : |0x0 |', 'WEIGHT: |0x40|'";
const BOTH: &str = "the tables of low and of high priority";

/// A block a port: a header, then for low and for high priority rows of lanes and weights.
pub(crate) const FORMAT: Format =
    Format { name: "smpquery vlarb", is_it, max_bytes: MAX_TEXT_BYTES, read };

fn is_it(head: &str) -> bool {
    head.lines().any(|line| line.starts_with("# VLArbitration tables: Lid "))
}

/// A port that is being read: whether the next rows are of high priority, lanes whose weights come
/// next, and whether rows of low and of high priority came.
struct Open {
    record: ArbitrationRecord,
    is_high: bool,
    lanes: Option<Vec<u8>>,
    came: [bool; 2],
}

fn read(lines: &mut Lines<'_>, gathered: &mut Gathered) -> io::Result<()> {
    let mut open: Option<Open> = None;
    while let Some((place, text)) = lines.next_full()? {
        if text.starts_with("# VLArbitration") {
            close(open.take(), gathered);
            open = header(&text).map(|(lid, port)| {
                let arbitration = Arbitration::default();
                let record = ArbitrationRecord { place, who: Who::Lid(lid), port, arbitration };
                Open { record, is_high: false, lanes: None, came: [false; 2] }
            });
            if open.is_none() {
                gathered.unread(place, &text, HEADER);
            }
            continue;
        }
        let Some(port) = &mut open else {
            gathered.unread(place, &text, HEADER);
            continue;
        };
        match (numbers(&text), port.lanes.take()) {
            (_, None) if text.ends_with("priority VL Arbitration Table:") => {
                port.is_high = text.starts_with("# High");
            }
            (Some(row), None) if text.starts_with("VL") => port.lanes = Some(row),
            (Some(row), Some(lanes)) if text.starts_with("WEIGHT") && row.len() == lanes.len() => {
                let arbitration = &mut port.record.arbitration;
                let high = port.is_high;
                let table = if high { &mut arbitration.high } else { &mut arbitration.low };
                table.extend(lanes.into_iter().zip(row).filter(|(_, weight)| *weight > 0));
                port.came[usize::from(high)] = true;
            }
            _ => gathered.unread(place, &text, ROWS),
        }
    }
    close(open, gathered);
    Ok(())
}

/// A half of the tables is none: the other may go first.
fn close(open: Option<Open>, gathered: &mut Gathered) {
    match open {
        Some(Open { record, came: [true, true], .. }) => gathered.arbitration.push(record),
        Some(Open { record, .. }) => {
            gathered.unread(record.place, "a port without both tables", BOTH);
        }
        None => {}
    }
}

/// LID and port of a block.
fn header(line: &str) -> Option<(u16, u8)> {
    let mut words = line.strip_prefix("# VLArbitration tables: Lid ")?.split(' ');
    let lid = words.next()?.parse().ok()?;
    (words.next()? == "port").then_some((lid, words.next()?.parse().ok()?))
}

/// `VL    : |0x0 |0x1 |`
fn numbers(line: &str) -> Option<Vec<u8>> {
    let (_, cells) = line.split_once(": |")?;
    let number = |cell: &str| u8::from_str_radix(cell.trim().strip_prefix("0x")?, 16).ok();
    cells.trim_end().strip_suffix('|')?.split('|').map(number).collect()
}
