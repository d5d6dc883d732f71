//! The sections of `ibdiagnet2.db_csv` about the fabric itself.

use crate::read::columns::{Row, number};
use crate::subnet::link::{LinkRate, LogicalState, PhysicalState, Speed, Width};
use crate::subnet::records::{
    CableRecord, Gathered, Kind, NodeRecord, Place, PortRecord, ReadingRecord, Who,
};
use std::collections::{BTreeMap, HashMap};

/// A row of a section.
pub(crate) struct Entry<'a> {
    pub(crate) row: Row<'a>,
    pub(crate) place: Place,
    pub(crate) gathered: &'a mut Gathered,
    /// Kinds of nodes from earlier sections, by node GUID.
    pub(crate) kinds: &'a mut HashMap<u64, Kind>,
}

/// An error is the expected text.
type Outcome = Result<(), &'static str>;

pub(crate) type Handler = fn(&mut Entry<'_>) -> Outcome;

/// The handler of a section's rows, and whether the section is also kept as it is.
pub(crate) fn handler(name: &str) -> (Option<Handler>, bool) {
    match name {
        "NODES" => (Some(node), false),
        "PORTS" => (Some(port), false),
        "LINKS" => (Some(link), false),
        "SWITCHES" => (Some(switch), true),
        "PM_INFO" => (Some(counters), false),
        "CABLE_INFO" => (Some(cable), false),
        _ => (None, true),
    }
}

const NODE: &[&str] = &["nodeguid"];
const PORT_GUID: &[&str] = &["portguid"];
const PORT: &[&str] = &["portnum", "portnumber"];
const WHOSE: &str = "the GUID of a node (NodeGUID) and the number of a port (PortNum)";

fn node(entry: &mut Entry<'_>) -> Outcome {
    let guid = entry.row.number(NODE).ok_or("the GUID of a node (NodeGUID)")?;
    // SOURCE: InfiniBand Architecture Specification vol. 1, NodeInfo: NodeType.
    let kind = match entry.row.number::<u8>(&["nodetype"]) {
        Some(1) => Kind::Ca,
        Some(2) => Kind::Switch,
        Some(3) => Kind::Router,
        _ => return Err("a NodeType: 1 adapter, 2 switch, 3 router"),
    };
    entry.kinds.insert(guid, kind);
    let port_guid = entry.row.number(PORT_GUID).filter(|_| kind == Kind::Switch);
    entry.gathered.nodes.push(NodeRecord {
        kind: Some(kind),
        guid: Some(guid),
        system_guid: entry.row.number(&["systemimageguid"]),
        n_ports: entry.row.number(&["numports"]),
        description: entry.row.text(&["nodedesc"]).map(str::to_owned),
        vendor: entry.row.number(&["vendorid"]),
        device: entry.row.number(&["deviceid"]),
        is_entry: true,
        ..NodeRecord::of(entry.place, port_guid.map_or(Who::Node(guid), Who::Port))
    });
    Ok(())
}

/// Facts of a port's row that other tools lack: the fact's name, and the column's.
const FACTS: [(&str, &str); 3] =
    [("FECActv", "fecactv"), ("RetransActv", "retransactv"), ("NMTU", "nmtu")];

fn port(entry: &mut Entry<'_>) -> Outcome {
    let (guid, number) = entry.row.number(NODE).zip(entry.row.number::<u8>(PORT)).ok_or(WHOSE)?;
    let (lid, lmc) = (entry.row.number(&["lid"]), entry.row.number(&["lmc"]));
    if number == 0 {
        entry.kinds.insert(guid, Kind::Switch);
        let kind = Some(Kind::Switch);
        let record = NodeRecord::of(entry.place, Who::Node(guid));
        entry.gathered.nodes.push(NodeRecord { kind, lid, lmc, ..record });
        return Ok(());
    }
    let mut record = PortRecord::of(entry.place, Who::Node(guid), number);
    if entry.kinds.get(&guid) != Some(&Kind::Switch) {
        (record.guid, record.lid, record.lmc) = (entry.row.number(PORT_GUID), lid, lmc);
    }
    record.logical = entry.row.number(&["portstate"]).and_then(LogicalState::of_number);
    record.physical = entry.row.number(&["portphystate"]).and_then(PhysicalState::of_number);
    if record.logical != Some(LogicalState::Down) {
        record.rate = rate(&entry.row, ["linkwidthactv", "linkspeedactv"]);
    }
    record.supported = rate(&entry.row, ["linkwidthsup", "linkspeedsup"]);
    for (name, column) in FACTS {
        let fact = entry.row.text(&[column]);
        record.facts.extend(fact.map(|fact| (name.to_owned(), fact.to_owned())));
    }
    entry.gathered.ports.push(record);
    Ok(())
}

fn rate(row: &Row<'_>, [width, speed]: [&str; 2]) -> Option<LinkRate> {
    let width = Width::widest_of(row.number(&[width])?)?;
    Some(LinkRate { width, speed: fastest_of(row.number(&[speed])?)? })
}

/// The fastest of a mask of speeds.
///
/// SOURCE: ibutils2, IBLinkSpeed: the first byte as PortInfo's LinkSpeed, the second as its
/// LinkSpeedExt, the third the vendor's, the fourth as LinkSpeedExt2. EDR20 is none of ours.
fn fastest_of(mask: u64) -> Option<Speed> {
    let bits = [
        (1 << 24, Speed::Xdr),
        (8 << 8, Speed::Ndr),
        (4 << 8, Speed::Hdr),
        (2 << 8, Speed::Edr),
        (1 << 8, Speed::Fdr),
        (1 << 16, Speed::Fdr10),
        (4, Speed::Qdr),
        (2, Speed::Ddr),
        (1, Speed::Sdr),
    ];
    bits.into_iter().find(|(bit, _)| mask & bit != 0).map(|(_, speed)| speed)
}

fn link(entry: &mut Entry<'_>) -> Outcome {
    const ENDS: &str = "two nodes and two ports (NodeGuid1, PortNum1, NodeGuid2, PortNum2)";
    let end = |node: &str, port: &str| {
        Some((Who::Node(entry.row.number(&[node])?), entry.row.number(&[port])?))
    };
    let ends = end("nodeguid1", "portnum1").zip(end("nodeguid2", "portnum2")).ok_or(ENDS)?;
    entry.gathered.cables.push(CableRecord {
        place: entry.place,
        ends: [ends.0, ends.1],
        rate: None,
    });
    Ok(())
}

fn switch(entry: &mut Entry<'_>) -> Outcome {
    let guid = entry.row.number(NODE).ok_or("the GUID of a switch (NodeGUID)")?;
    entry.kinds.insert(guid, Kind::Switch);
    let record = NodeRecord::of(entry.place, Who::Node(guid));
    entry.gathered.nodes.push(NodeRecord { kind: Some(Kind::Switch), ..record });
    Ok(())
}

/// Counters of 32 bits and fewer stick at their limit: the long one of the same name, marked 'Ext'
/// or 'Extended', stands for both.
fn counters(entry: &mut Entry<'_>) -> Outcome {
    let (guid, port) = entry.row.number(NODE).zip(entry.row.number(PORT)).ok_or(WHOSE)?;
    let (mut short, mut long) = (BTreeMap::new(), BTreeMap::new());
    let mut ratios = BTreeMap::new();
    let mut is_whole = true;
    for (name, value) in entry.row.all() {
        if is_key(name) {
            continue;
        }
        let base = name.strip_suffix("Extended").or_else(|| name.strip_suffix("Ext"));
        match (number(value), value.parse::<f64>()) {
            (Some(count), _) => {
                let counters = if base.is_some() { &mut long } else { &mut short };
                counters.insert(base.unwrap_or(name).to_owned(), count);
            }
            (None, Ok(ratio)) if ratio.is_finite() => {
                ratios.insert(name.to_owned(), ratio);
            }
            _ => is_whole = false,
        }
    }
    short.extend(long);
    let who = Who::Node(guid);
    entry.gathered.readings.push(ReadingRecord {
        place: entry.place,
        who,
        port,
        counters: short,
        ratios,
    });
    if is_whole { Ok(()) } else { Err("numbers or 'N/A' in the columns of counters") }
}

fn is_key(name: &str) -> bool {
    [NODE, PORT_GUID, PORT].iter().any(|keys| keys.iter().any(|key| key.eq_ignore_ascii_case(name)))
}

/// Labels and measurements of a cable.
fn cable(entry: &mut Entry<'_>) -> Outcome {
    const WRITTEN: &str = "Vendor PN SN Rev LengthSMFiber LengthOM5 LengthOM4 LengthOM3 LengthOM2 \
                           LengthOM1 LengthCopperOrActive LengthDesc TypeDesc SupportedSpeedDesc \
                           Temperature";
    let (guid, number) = entry.row.number(NODE).zip(entry.row.number(PORT)).ok_or(WHOSE)?;
    let mut record = PortRecord::of(entry.place, Who::Node(guid), number);
    for (name, value) in entry.row.all() {
        let known = WRITTEN.split(' ').find(|fact| fact.eq_ignore_ascii_case(name));
        record.facts.extend(known.map(|fact| (fact.to_owned(), value.to_owned())));
    }
    entry.gathered.ports.push(record);
    Ok(())
}
