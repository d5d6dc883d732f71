//! ibdiagnet's `ibdiagnet2.far`: adaptive routing of every switch, its groups of ports and by LID
//! the static port and the group.
//!
//! SOURCE: readers of the file in public repositories (tests/fixtures/fabric/README.md). Not
//! checked against the tool itself.

use crate::read::columns::number;
use crate::read::format::{Format, MAX_TABLE_BYTES};
use crate::read::forwarding_table::{First, Room};
use crate::read::lines::Lines;
use crate::subnet::lfts::NO_PORT;
use crate::subnet::records::{AdaptiveRecord, Gathered, Place, TableRecord, Who};
use std::io;

const GROUPS: &str = "Groups Definition:";
const TABLE: &str = "LFT Definition:";
const EXPECTED: &str = "'Switch 0x...', 'Groups Definition:', 'LFT Definition:' or a row below one";
const GROUP_ROW: &str = "a group: its number, subgroup, WHBF and ports, '1 0 0 5,6,7,8'";
const TABLE_ROW: &str = "a LID with its static port, state and group: '0x0001 5 Free 1'";

/// `1  0  0  5,6,7,8` below 'Groups Definition:', `0x0001  5  Free  1` below 'LFT Definition:'.
pub(crate) const FORMAT: Format =
    Format { name: "ibdiagnet2.far", is_it, max_bytes: MAX_TABLE_BYTES, read };

fn is_it(head: &str) -> bool {
    let begins = |mark: &str| head.lines().any(|line| line.starts_with(mark));
    (begins(GROUPS) || begins(TABLE)) && begins("Switch 0x")
}

fn read(lines: &mut Lines<'_>, gathered: &mut Gathered) -> io::Result<()> {
    let (mut first, mut room) = (First::default(), Room::default());
    let mut switch: Option<Switch> = None;
    while let Some((place, line)) = lines.next_full()? {
        let text = line.trim();
        if let Some(name) = text.strip_prefix("Switch ") {
            hand_over(switch.take(), &mut room, gathered);
            match name.split_whitespace().next().and_then(number) {
                Some(guid) if first.comes_again(guid, place, gathered) => break,
                Some(guid) => switch = Some(Switch::new(place, guid)),
                None => gathered.unread(place, &line, "the GUID of a switch: 'Switch 0x...'"),
            }
            continue;
        }
        let expected = match &mut switch {
            Some(switch) => switch.line(text),
            None if text.starts_with('#') => None,
            None => Some(EXPECTED),
        };
        // A row that was cut off may have lost digits.
        let expected = expected.or((!lines.is_ended).then_some("a line's end"));
        if let Some(expected) = expected {
            gathered.unread(place, &line, expected);
        }
    }
    hand_over(switch.take(), &mut room, gathered);
    Ok(())
}

/// The part of a switch's lines.
#[derive(Clone, Copy, PartialEq)]
enum Part {
    None,
    Groups,
    Table,
    /// The table of another private LFT: only the first one is read.
    Further,
}

/// A switch while its lines come.
struct Switch {
    place: Place,
    guid: u64,
    part: Part,
    /// Whether names of columns may come still.
    in_header: bool,
    has_table: bool,
    record: AdaptiveRecord,
    ports: Vec<u8>,
}

impl Switch {
    fn new(place: Place, guid: u64) -> Switch {
        Switch {
            place,
            guid,
            part: Part::None,
            in_header: false,
            has_table: false,
            record: AdaptiveRecord::default(),
            ports: Vec::new(),
        }
    }

    /// The text expected instead of a line, if any.
    fn line(&mut self, text: &str) -> Option<&'static str> {
        if text.starts_with(GROUPS) {
            (self.part, self.in_header) = (Part::Groups, true);
            return None;
        }
        if text.starts_with(TABLE) {
            let is_further = std::mem::replace(&mut self.has_table, true);
            self.part = if is_further { Part::Further } else { Part::Table };
            self.in_header = true;
            return is_further.then_some("one table a switch; the first one is used");
        }
        if text.starts_with("---") {
            self.in_header = false;
            return None;
        }
        match self.part {
            _ if self.in_header && (text.starts_with("Group") || text.starts_with("LID")) => None,
            Part::Groups => self.group(text).is_none().then_some(GROUP_ROW),
            Part::Table => self.entry(text).is_none().then_some(TABLE_ROW),
            Part::Further => None,
            Part::None => Some(EXPECTED),
        }
    }

    /// Ports of all subgroups are the group's.
    fn group(&mut self, text: &str) -> Option<()> {
        let mut words = text.split_whitespace();
        let group = u32::try_from(number(words.next()?)?).ok()?;
        let _ = (number(words.next()?)?, words.next()?);
        let mut ports = Vec::new();
        for port in words.flat_map(|word| word.split(',')).filter(|port| !port.is_empty()) {
            ports.push(port.parse::<u8>().ok().filter(|port| (1..NO_PORT).contains(port))?);
        }
        let of_group = self.record.groups.entry(group).or_default();
        of_group.extend(ports);
        of_group.sort_unstable();
        of_group.dedup();
        Some(())
    }

    fn entry(&mut self, text: &str) -> Option<()> {
        let mut words = text.split_whitespace();
        let lid = u16::try_from(number(words.next()?)?).ok()?;
        let port: u8 = words.next()?.parse().ok()?;
        let state = words.next()?;
        let at = usize::from(lid);
        self.ports.resize(self.ports.len().max(at + 1), NO_PORT);
        self.ports[at] = port;
        if state != "Static" {
            let group = u32::try_from(number(words.next()?)?).ok()?;
            self.record.group_of_lid.insert(lid, group);
        }
        Some(())
    }
}

fn hand_over(switch: Option<Switch>, room: &mut Room, gathered: &mut Gathered) {
    let Some(mut switch) = switch else { return };
    let (place, who) = (switch.place, Who::Node(switch.guid));
    let groups = &switch.record.groups;
    let (known, undefined): (Vec<_>, Vec<_>) =
        switch.record.group_of_lid.iter().partition(|(_, group)| groups.contains_key(group));
    if let Some((lid, group)) = undefined.first() {
        let what = format!(
            "{} LIDs of groups without a definition: LID {lid}, group {group}",
            undefined.len()
        );
        gathered.unread(place, &what, "every group under 'Groups Definition:'");
    }
    let group_of_lid = known.into_iter().map(|(lid, group)| (*lid, *group)).collect();
    switch.record.group_of_lid = group_of_lid;
    let n_entries = switch.ports.iter().filter(|port| **port != NO_PORT).count() as u64;
    if !room.has(switch.ports.len(), n_entries) {
        gathered.unread(place, "few entries for high LIDs", "tables with entries for most LIDs");
    } else if switch.has_table {
        let ports = switch.ports;
        gathered.tables.push(TableRecord { place, who, ports });
    } else {
        gathered.unread(place, "a switch without a table", "'LFT Definition:' and its rows");
    }
    gathered.adaptive.push((place, who, switch.record));
}
