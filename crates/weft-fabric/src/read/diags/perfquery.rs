//! `perfquery`: the counters of a port, basic (32 bits) and extended (64 bits).
//!
//! SOURCE: what infiniband-diags 44.0 prints; `perfquery.c`.

use super::counter_readings::CounterReadings;
use crate::read::format::{Format, MAX_TEXT_BYTES};
use crate::read::lines::Lines;
use crate::subnet::records::{Gathered, Place, ReadingRecord, Who};
use std::collections::BTreeMap;
use std::io;

const HEADER: &str = "an output: '# Port counters: Lid 3 port 5 (CapMask: 0x1300)'";
const COUNTER: &str = "a counter: 'PortXmitData:....................5040'";
/// The port that stands for all of them together: counting it too would count twice.
const ALL_PORTS: u8 = 255;

/// `# Port counters: Lid 3 port 5 (CapMask: 0x1300)`, then `PortXmitData:....................5040`
pub(crate) const FORMAT: Format =
    Format { name: "perfquery", is_it, max_bytes: MAX_TEXT_BYTES, read };

fn is_it(head: &str) -> bool {
    head.lines().any(|line| header(line).is_some())
}

fn read(lines: &mut Lines<'_>, gathered: &mut Gathered) -> io::Result<()> {
    let (mut readings, mut output) = (CounterReadings::default(), None);
    while let Some((place, text)) = lines.next_full()? {
        if let Some((kind, lid, port)) = header(&text) {
            close(output.take(), &mut readings, gathered);
            output = Some(Output { place, kind: kind.to_owned(), lid, port, rows: Vec::new() });
        } else if text.starts_with('#') {
            close(output.take(), &mut readings, gathered);
            gathered.unread(place, &text, HEADER);
        } else {
            let counter = counter(&text).filter(|_| lines.is_ended);
            match (&mut output, counter) {
                (Some(output), Some((name, count))) => output.rows.push((name, count)),
                (Some(_), None) => gathered.unread(place, &text, COUNTER),
                (None, _) => gathered.unread(place, &text, HEADER),
            }
        }
    }
    close(output, &mut readings, gathered);
    Ok(())
}

/// One output of the tool.
struct Output {
    place: Place,
    kind: String,
    lid: u16,
    port: u8,
    rows: Vec<(String, u64)>,
}

fn close(output: Option<Output>, readings: &mut CounterReadings, gathered: &mut Gathered) {
    let Some(Output { place, kind, lid, port, rows }) = output else { return };
    if port == ALL_PORTS {
        let title = format!("counters of all ports together of LID {lid}");
        let rows = rows.into_iter().map(|(name, count)| format!("{name} {count}")).collect();
        gathered.kept.push((place, title, rows));
        return;
    }
    let selects = ["PortSelect", "CounterSelect", "CounterSelect2"];
    let counters: BTreeMap<String, u64> =
        rows.into_iter().filter(|(name, _)| !selects.contains(&name.as_str())).collect();
    let (who, ratios) = (Who::Lid(lid), BTreeMap::new());
    let record = ReadingRecord { place, who, port, counters, ratios };
    readings.add(&kind, kind.contains("extended"), record, gathered);
}

/// Kind, LID and port of an output.
fn header(line: &str) -> Option<(&str, u16, u8)> {
    let (kind, tail) = line.strip_prefix("# Port")?.split_once("counters: Lid ")?;
    let (lid, tail) = tail.split_once(" port ")?;
    let port = tail.split(' ').next()?;
    Some((kind, lid.parse().ok()?, port.parse().ok()?))
}

fn counter(line: &str) -> Option<(String, u64)> {
    let (name, count) = line.split_once(':')?;
    let count = count.trim_start_matches('.').trim();
    let count = match count.strip_prefix("0x") {
        Some(hex) => u64::from_str_radix(hex, 16).ok()?,
        None => count.parse().ok()?,
    };
    let is_name = !name.is_empty() && name.bytes().all(|byte| byte.is_ascii_alphanumeric());
    is_name.then(|| (name.to_owned(), count))
}
