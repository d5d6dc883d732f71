//! `ibqueryerrors`: counters of the ports that have errors, or of all of them.
//!
//! SOURCE: what infiniband-diags 44.0 prints; `ibqueryerrors.c`: lines under "Errors for" name a
//! port's GUID, those under "Data Counters for" the node's.

use super::counter_readings::CounterReadings;
use crate::read::format::{Format, MAX_TEXT_BYTES};
use crate::read::lines::Lines;
use crate::subnet::records::{Gathered, Kind, NodeRecord, Place, ReadingRecord, Who};
use std::collections::BTreeMap;
use std::io;

const NODE: &str = "a node: 'Errors for 0x... \"name\"' or 'Data Counters for 0x... \"name\"'";
const PORT: &str = "a port: 'GUID 0x... port 5: [SymbolErrorCounter == 42]'";

/// `Errors for 0x... "name"`, then `   GUID 0x... port 5: [SymbolErrorCounter == 42]`
pub(crate) const FORMAT: Format =
    Format { name: "ibqueryerrors", is_it, max_bytes: MAX_TEXT_BYTES, read };

fn is_it(head: &str) -> bool {
    let is_summary = |line: &str| line.starts_with("## Summary: ") && line.contains("bad nodes");
    head.lines().any(|line| header(line).is_some() || is_summary(line))
}

fn read(lines: &mut Lines<'_>, gathered: &mut Gathered) -> io::Result<()> {
    let mut report = Report::default();
    while let Some((place, text)) = lines.next_full()? {
        let line = text.trim();
        if let Some(node) = header(line) {
            report.node = Some(node);
        } else if line.starts_with("GUID 0x") {
            report.port(line, place, gathered);
        } else if line.starts_with("Link info: ") {
            report.links.push((place, line.to_owned()));
        } else if !line.starts_with("##") {
            gathered.unread(place, &text, NODE);
        }
    }
    if let Some((place, _)) = report.links.first() {
        let rows = report.links.iter().map(|(_, line)| line.clone()).collect();
        gathered.kept.push((*place, "links of ports with errors".to_owned(), rows));
    }
    Ok(())
}

/// A report in the making.
#[derive(Default)]
struct Report {
    readings: CounterReadings,
    /// Whether it is a list of data counters, and the node's name.
    node: Option<(bool, String)>,
    links: Vec<(Place, String)>,
}

impl Report {
    fn port(&mut self, line: &str, place: Place, gathered: &mut Gathered) {
        let Some((is_data, name)) = &self.node else {
            return gathered.unread(place, line, NODE);
        };
        let Some((guid, port, text)) = port(line) else {
            return gathered.unread(place, line, PORT);
        };
        let who = if *is_data { Who::Node(guid) } else { Who::Port(guid) };
        // Only a switch has a port 0 and counters of all its ports together.
        let kind = port.is_none_or(|port| port == 0).then_some(Kind::Switch);
        let description = Some(name.clone());
        gathered.nodes.push(NodeRecord { kind, description, ..NodeRecord::of(place, who) });
        let (counters, is_whole) = counters(text);
        if !is_whole {
            gathered.unread(place, line, PORT);
        }
        let Some(port) = port else {
            let title = format!("counters of all ports together of '{name}'");
            gathered.kept.push((place, title, vec![line.to_owned()]));
            return;
        };
        let record = ReadingRecord { place, who, port, counters, ratios: BTreeMap::new() };
        let kind = if *is_data { "data" } else { "errors" };
        self.readings.add(kind, *is_data, record, gathered);
    }
}

/// Whether it begins a list of data counters, and the node's name.
fn header(line: &str) -> Option<(bool, String)> {
    let (is_data, tail) = match line.strip_prefix("Errors for ") {
        Some(tail) => (false, tail),
        None => (true, line.strip_prefix("Data Counters for ")?),
    };
    let (_, name) = tail.split_once('"')?;
    Some((is_data, name.trim_end().strip_suffix('"')?.to_owned()))
}

/// GUID, port (none for all of them together) and counters of a line.
fn port(line: &str) -> Option<(u64, Option<u8>, &str)> {
    let (guid, tail) = line.strip_prefix("GUID 0x")?.split_once(" port ")?;
    let (port, tail) = tail.split_once(':')?;
    let port = match port {
        "ALL" => None,
        port => Some(port.parse::<u8>().ok().filter(|port| *port < 255)?),
    };
    Some((u64::from_str_radix(guid, 16).ok()?, port, tail))
}

/// `[PortXmitData == 1440 (5.625KB)]`, as many as there are; what is in parentheses is the same
/// count in another unit. And whether all of the text was understood.
fn counters(mut text: &str) -> (BTreeMap<String, u64>, bool) {
    let mut found = BTreeMap::new();
    loop {
        text = text.trim_start();
        if text.is_empty() {
            return (found, true);
        }
        let counter = text.strip_prefix('[').and_then(|text| text.split_once(']'));
        let Some((counter, tail)) = counter else { return (found, false) };
        let Some((name, count)) = counter.split_once(" == ") else { return (found, false) };
        let Some(Ok(count)) = count.split(' ').next().map(str::parse) else {
            return (found, false);
        };
        found.insert(name.to_owned(), count);
        text = tail;
    }
}
