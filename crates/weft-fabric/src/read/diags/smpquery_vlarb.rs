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

/// A block a port: a header, then for low and for high priority rows of lanes and weights.
pub(crate) const FORMAT: Format =
    Format { name: "smpquery vlarb", is_it, max_bytes: MAX_TEXT_BYTES, read };

fn is_it(head: &str) -> bool {
    head.lines().any(|line| line.starts_with("# VLArbitration tables: Lid "))
}

fn read(lines: &mut Lines<'_>, gathered: &mut Gathered) -> io::Result<()> {
    let (mut port, mut is_high, mut lanes) = (None, false, None);
    while let Some((place, text)) = lines.next_full()? {
        if text.starts_with("# VLArbitration") {
            gathered.arbitration.extend(port.take());
            (is_high, lanes) = (false, None);
            port = header(&text).map(|(lid, port)| {
                let arbitration = Arbitration::default();
                ArbitrationRecord { place, who: Who::Lid(lid), port, arbitration }
            });
            if port.is_none() {
                gathered.unread(place, &text, HEADER);
            }
            continue;
        }
        match (&mut port, numbers(&text), lanes.take()) {
            (Some(_), _, None) if text.ends_with("priority VL Arbitration Table:") => {
                is_high = text.starts_with("# High");
            }
            (Some(_), Some(row), None) if text.starts_with("VL") => lanes = Some(row),
            (Some(port), Some(row), Some(lanes))
                if text.starts_with("WEIGHT") && row.len() == lanes.len() =>
            {
                let arbitration = &mut port.arbitration;
                let table = if is_high { &mut arbitration.high } else { &mut arbitration.low };
                table.extend(lanes.into_iter().zip(row).filter(|(_, weight)| *weight > 0));
            }
            (Some(_), ..) => gathered.unread(place, &text, ROWS),
            (None, ..) => gathered.unread(place, &text, HEADER),
        }
    }
    gathered.arbitration.extend(port);
    Ok(())
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
