//! The forwarding tables of a file, each filled line by line.

use crate::subnet::MULTICAST_LID;
use crate::subnet::lfts::NO_PORT;
use crate::subnet::records::{Gathered, Kind, NodeRecord, Place, TableRecord, Who};

/// Room that a file's tables may always take, and so much more for each entry: an entry
/// for the highest LID alone takes 48 KiB, and a damaged file may have a million such tables.
const ROOM: u64 = 64 << 20;
const ROOM_FOR_ENTRY: u64 = 64;

/// A table that is being read.
pub(crate) struct Table {
    place: Place,
    pub(crate) guid: u64,
    lid: Option<u16>,
    description: Option<String>,
    ports: Vec<u8>,
    /// How many of its lines were read.
    pub(crate) n_lines: u64,
}

/// The switch or port that the dump of a file begins with.
#[derive(Default)]
pub(crate) struct First(Option<u64>);

impl First {
    /// Whether this one begins a second dump. That is reported, and reading ends there: a pipe may
    /// repeat a dump for ever.
    pub(crate) fn comes_again(&mut self, guid: u64, place: Place, gathered: &mut Gathered) -> bool {
        let is_second = self.0 == Some(guid);
        self.0.get_or_insert(guid);
        if is_second {
            let what = "a second dump begins here; it and all after it was left out";
            gathered.unread(place, what, "one dump a file: split it before this line");
        }
        is_second
    }
}

/// The tables of a file, one after the other.
#[derive(Default)]
pub(crate) struct TableDump {
    first: First,
    /// Whether a second dump has begun.
    pub(crate) is_over: bool,
    /// The table that is being read.
    pub(crate) open: Option<Table>,
    room: Room,
}

impl TableDump {
    /// Begin a table, unless a second dump begins with it.
    pub(crate) fn begin(&mut self, table: Table, gathered: &mut Gathered) {
        self.is_over = self.first.comes_again(table.guid, table.place, gathered);
        self.open = Some(table).filter(|_| !self.is_over);
    }
}

/// The room that the tables of a file took.
#[derive(Default)]
pub(crate) struct Room {
    taken: u64,
    n_entries: u64,
}

impl Room {
    /// Whether there is room for a table of so many ports, of which so many were written.
    pub(crate) fn has(&mut self, n_ports: usize, n_entries: u64) -> bool {
        self.taken += n_ports as u64;
        self.n_entries += n_entries;
        self.taken <= ROOM + ROOM_FOR_ENTRY * self.n_entries
    }
}

impl Table {
    /// The table of a switch, which begins here.
    pub(crate) fn new(place: Place, guid: u64, lid: Option<u16>, name: Option<&str>) -> Table {
        let description = name.map(str::to_owned);
        Table { place, guid, lid, description, ports: Vec::new(), n_lines: 0 }
    }

    /// An entry; or, where it is wrong, what would have been right.
    #[inline]
    pub(crate) fn set(&mut self, lid: u16, port: u8) -> Result<(), &'static str> {
        if lid >= MULTICAST_LID {
            return Err("a unicast LID, below 0xc000");
        }
        let at = usize::from(lid);
        if self.ports.len() <= at {
            self.ports.resize(at + 1, NO_PORT);
        }
        let first = std::mem::replace(&mut self.ports[at], port);
        if first != NO_PORT && first != port {
            self.ports[at] = first;
            return Err("one port for a LID");
        }
        // Port 0 is the switch itself.
        if port == 0 && lid > 0 {
            self.lid = self.lid.or(Some(lid));
        }
        Ok(())
    }

    /// The switch and its table, as records.
    pub(crate) fn hand_over(self, tables: &mut TableDump, gathered: &mut Gathered) {
        let who = Who::Node(self.guid);
        let switch = NodeRecord {
            kind: Some(Kind::Switch),
            description: self.description,
            lid: self.lid,
            ..NodeRecord::of(self.place, who)
        };
        gathered.nodes.push(switch);
        if !tables.room.has(self.ports.len(), self.n_lines) {
            let what = format!("the table of {:#018x}: few entries for high LIDs", self.guid);
            gathered.unread(self.place, &what, "tables with entries for most LIDs");
            return;
        }
        gathered.tables.push(TableRecord { place: self.place, who, ports: self.ports });
    }
}

/// A number of exactly so many digits (8 at most) at the beginning, and what follows.
#[inline]
pub(crate) fn digits(text: &[u8], radix: u32, n_digits: usize) -> Option<(u32, &[u8])> {
    let (number, behind) = text.split_at_checked(n_digits)?;
    let add = |sum: u32, digit: &u8| Some(sum * radix + char::from(*digit).to_digit(radix)?);
    Some((number.iter().try_fold(0, add)?, behind))
}
