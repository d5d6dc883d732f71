//! OpenSM's `opensm-sl2vl.dump`: virtual lanes by service level for every path through a port.
//!
//! SOURCE: what OpenSM 3.3.23 writes with engines that use lanes.

use crate::read::cursor::kind_of;
use crate::read::format::{Format, MAX_TABLE_BYTES};
use crate::read::forwarding_table::First;
use crate::read::lines::Lines;
use crate::subnet::records::{Gathered, NodeRecord, Place, Sl2vlRecord, Who};
use std::io;

const HEADER: &str = "a node: 'Switch 0x..., base LID 3, \"name\"'";
const ROW: &str = "ingress and egress port and 16 lanes below 16: '0   1   : 0  1 ...'";

/// A block a port: `Switch 0x..., base LID 3, "name"`, then a row for every ingress and egress.
pub(crate) const FORMAT: Format =
    Format { name: "opensm-sl2vl.dump", is_it, max_bytes: MAX_TABLE_BYTES, read };

fn is_it(head: &str) -> bool {
    head.lines().any(|line| line.starts_with("#in out :"))
}

fn read(lines: &mut Lines<'_>, gathered: &mut Gathered) -> io::Result<()> {
    let (mut guid, mut first) = (None, First::default());
    while let Some((place, line)) = lines.next_bytes()? {
        let text = String::from_utf8_lossy(line);
        if text.starts_with('#') || text.trim().is_empty() {
            continue;
        }
        if let Some((node, lid)) = header(&text, place) {
            if let Who::Port(port) = node.who {
                if first.comes_again(port, place, gathered) {
                    break;
                }
                guid = Some(port);
                gathered.lids.push((place, port, lid, lid));
            }
            gathered.nodes.push(node);
            continue;
        }
        match (guid, row(&text)) {
            (Some(guid), Some((ingress, egress, lanes))) => {
                let who = Who::Port(guid);
                gathered.sl2vl.push(Sl2vlRecord { place, who, ingress, egress, lanes });
            }
            (None, Some(_)) => gathered.unread(place, &text, HEADER),
            _ => {
                // A header that cannot be read: the rows below are not those of the node before.
                if text.starts_with(|letter: char| letter.is_alphabetic()) {
                    guid = None;
                }
                gathered.unread(place, &text, if guid.is_some() { ROW } else { HEADER });
            }
        }
    }
    Ok(())
}

/// `Channel Adapter 0x98039b0300000101, base LID 2, "c104-004 HCA-1"`; the GUID is the port's.
fn header(text: &str, place: Place) -> Option<(NodeRecord, u16)> {
    let (kind, port) = text.split_once(" 0x")?;
    let (guid, port) = port.split_once(", base LID ")?;
    let (lid, name) = port.split_once(", \"")?;
    let who = Who::Port(u64::from_str_radix(guid, 16).ok()?);
    let description = Some(name.trim_end().strip_suffix('"')?.to_owned());
    Some((
        NodeRecord { kind: Some(kind_of(kind)?), description, ..NodeRecord::of(place, who) },
        lid.parse().ok()?,
    ))
}

fn row(text: &str) -> Option<(u8, u8, [u8; 16])> {
    let (ports, row) = text.split_once(':')?;
    let mut ports = ports.split_whitespace().map(|word| word.parse::<u8>().ok());
    let (ingress, egress) = (ports.next()??, ports.next()??);
    let mut lanes = [0; 16];
    let mut words = row.split_whitespace();
    for lane in &mut lanes {
        *lane = words.next()?.parse().ok().filter(|lane| *lane < 16)?;
    }
    (ports.next().is_none() && words.next().is_none()).then_some((ingress, egress, lanes))
}
