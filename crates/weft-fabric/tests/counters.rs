//! Counters of ports as `perfquery` and `ibqueryerrors` print them.

use crate::common::damage;
use crate::common::samples::{read, subnet, text};
use std::collections::BTreeMap;
use weft_fabric::subnet::records::{Gathered, ReadingRecord, Who};
use weft_fabric::subnet::{End, Kind, Misfit, Subnet};

const LEAF0: u64 = 0x506b_4b03_0000_0110;
const SAMPLES: [(&str, usize); 6] = [
    ("counters/perfquery.out", 2),
    ("counters/perfquery-a.out", 0),
    ("counters/perfquery-E.out", 1),
    ("counters/ibqueryerrors.out", 2),
    ("counters/ibqueryerrors-r-data.out", 2),
    ("counters/ibqueryerrors-counters.out", 69),
];

fn count(reading: &ReadingRecord, name: &str) -> Option<u64> {
    reading.counters.get(name).copied()
}

/// What was read, without the lines it stands in.
fn placeless(gathered: &Gathered) -> Vec<(Who, u8, BTreeMap<String, u64>)> {
    let readings = gathered.readings.iter();
    readings.map(|reading| (reading.who, reading.port, reading.counters.clone())).collect()
}

#[test]
fn every_sample_is_read_whole() {
    for (name, n_readings) in SAMPLES {
        let gathered = read(text(name));
        assert_eq!((gathered.readings.len(), gathered.unread.len()), (n_readings, 0), "{name}");
    }
}

#[test]
fn both_outputs_of_a_port_are_one_reading_and_64_bits_hold() {
    let gathered = read(text("counters/perfquery.out"));
    let port5 = &gathered.readings[0];
    assert_eq!((port5.who, port5.port, port5.place.line), (Who::Lid(3), 5, 1));
    let names = ["SymbolErrorCounter", "LinkDownedCounter", "PortXmitData", "PortRcvData"];
    let counts = names.map(|name| count(port5, name));
    assert_eq!(counts, [Some(42), Some(3), Some(987_654_321_012_345), Some(48_096)]);
    assert_eq!(count(port5, "PortSelect"), None);
    assert_eq!(count(port5, "CounterSelect2"), None);
    assert_eq!(count(&gathered.readings[1], "PortXmitDiscards"), Some(7));
}

#[test]
fn an_output_of_one_kind_twice_is_two_readings_in_time() {
    let once = text("counters/perfquery.out");
    let twice = format!("{once}{}", once.replace("..42\n", "..43\n"));
    let gathered = read(&twice);
    let errors: Vec<Option<u64>> =
        gathered.readings.iter().map(|r| count(r, "SymbolErrorCounter")).collect();
    assert_eq!(errors, [Some(42), Some(0), Some(43), Some(0)]);
}

#[test]
fn all_ports_together_are_kept_aside_and_not_counted_again() {
    for (name, what) in [
        ("counters/perfquery-a.out", "counters of all ports together of LID 3"),
        (
            "counters/ibqueryerrors.out",
            "counters of all ports together of 'MF0;leaf000:MQM8700/U1'",
        ),
    ] {
        let gathered = read(text(name));
        assert_eq!(gathered.kept.len(), 1, "{name}");
        assert_eq!(gathered.kept[0].1, what);
        assert!(gathered.readings.iter().all(|reading| reading.port != 255), "{name}");
    }
    let gathered = read(text("counters/ibqueryerrors.out"));
    let downed = gathered.readings.iter().filter_map(|r| count(r, "LinkDownedCounter"));
    assert_eq!(downed.sum::<u64>(), 3);
}

#[test]
fn counts_are_the_raw_ones_not_those_in_parentheses() {
    let gathered = read(text("counters/ibqueryerrors-r-data.out"));
    let port5 = &gathered.readings[0];
    assert_eq!((port5.who, port5.port), (Who::Port(LEAF0), 5));
    assert_eq!(count(port5, "PortXmitData"), Some(987_654_321_038_985));
    assert_eq!(count(port5, "PortRcvPkts"), Some(950));
    assert_eq!(count(&gathered.readings[1], "PortXmitDiscards"), Some(7));
    let links = &gathered.kept[1];
    assert_eq!((links.1.as_str(), links.2.len()), ("links of ports with errors", 2));
}

#[test]
fn counters_find_their_ports_by_lid_and_by_guid() {
    let names = [
        "opensm/opensm-lfts.dump",
        "counters/perfquery.out",
        "counters/ibqueryerrors.out",
        "counters/ibqueryerrors-counters.out",
    ];
    let subnet = subnet(&names);
    assert_eq!(subnet.misfits, []);
    let leaf0 = subnet.node_of_guid(LEAF0).expect("leaf 0");
    let of = |port| subnet.readings.iter().filter(move |r| r.end == End { node: leaf0, port });
    let sources: Vec<u32> = of(5).map(|reading| reading.source).collect();
    assert_eq!(sources, [1, 2, 3]);
    assert_eq!(subnet.nodes[leaf0 as usize].kind, Kind::Switch);
    assert_eq!(subnet.nodes[leaf0 as usize].ports.len(), 8);
}

#[test]
fn a_report_of_errors_alone_names_its_switches() {
    let subnet = subnet(&["counters/ibqueryerrors.out"]);
    let node = &subnet.nodes[0];
    assert_eq!((node.kind, node.guid), (Kind::Switch, LEAF0));
    assert_eq!(node.description, "MF0;leaf000:MQM8700/U1");
    assert_eq!((subnet.readings.len(), subnet.misfits.len()), (2, 0));
}

#[test]
fn counters_of_a_lid_that_no_one_describes_are_reported() {
    let subnet = subnet(&["counters/perfquery.out"]);
    let reported: Vec<&str> = subnet
        .misfits
        .iter()
        .map(|misfit| match misfit {
            Misfit::Stranger { what, .. } => what.as_str(),
            _ => "something else",
        })
        .collect();
    assert_eq!(reported, ["LID 3", "LID 3"]);
    assert_eq!(subnet.readings.len(), 0);
}

#[test]
fn an_adapter_is_named_without_a_guid_where_it_has_errors() {
    let report = "Errors for \"c101-001 HCA-1\"\n   GUID 0x98039b0300000011 port 1: \
                  [PortRcvErrors == 11]\n";
    let subnet = Subnet::of(read(report));
    assert_eq!(
        (subnet.nodes[0].kind, subnet.nodes[0].description.as_str()),
        (Kind::Ca, "c101-001 HCA-1")
    );
    assert_eq!(subnet.readings[0].counters["PortRcvErrors"], 11);
}

#[test]
fn lines_that_cannot_be_are_reported_and_the_rest_is_read() {
    let perfquery = "# Port counters: Lid 3 port 5 (CapMask: 0x1300)\nQP1Dropped:...1\n";
    let report = "Errors for 0x1 \"s\"\n   GUID 0x1 port 5: [LinkDownedCounter == 1]\n";
    for (begin, line, expected) in [
        (perfquery, "PortXmitData:....99999999999999999999", "a counter: "),
        (perfquery, "PortXmitData:....", "a counter: "),
        (perfquery, "what is this", "a counter: "),
        (perfquery, "# Port counters: Lid 70000 port 5", "an output: "),
        (perfquery, "# Port counters: Lid 3 port 256", "an output: "),
        (report, "   GUID 0x1 port 256: [LinkDownedCounter == 1]", "a port: "),
        (report, "   GUID 0x1 port 6: [LinkDownedCounter == -1]", "a port: "),
        (report, "   GUID 0x1 port 6: [LinkDownedCounter =", "a port: "),
        (report, "   GUID 0x12345678123456789 port 6: [LinkDownedCounter == 1]", "a port: "),
        (report, "what is this", "a node: "),
    ] {
        let gathered = read(format!("{begin}{line}\n"));
        assert_eq!(gathered.unread.len(), 1, "{line}");
        assert_eq!(gathered.unread[0].place.line, 3, "{line}");
        assert!(gathered.unread[0].expected.starts_with(expected), "{line}");
        assert_eq!(gathered.readings[0].counters.len(), 1, "{line}");
        assert_eq!(gathered.readings[0].counters.values().sum::<u64>(), 1, "{line}");
    }
}

#[test]
fn carriage_returns_and_warnings_between_the_lines_change_nothing() {
    for (name, _) in SAMPLES {
        let text = text(name);
        let clean = placeless(&read(&text));
        for damage in [damage::with_carriage_returns(&text), damage::with_warnings(&text)] {
            let gathered = read(&damage);
            assert_eq!((placeless(&gathered), &gathered.unread[..]), (clean.clone(), &[][..]));
        }
    }
}

#[test]
fn truncated_outputs_give_no_counter_that_is_not_in_the_whole() {
    for (name, _) in SAMPLES {
        let text = text(name);
        let is_given = |name: &str, count: u64| {
            let (dots, count) = (format!(".{count}"), format!("[{name} == {count}"));
            let begins = |line: &&str| line.strip_prefix(name).is_some_and(|l| l.starts_with(':'));
            text.lines().filter(begins).any(|line| line.ends_with(&dots))
                || text.contains(&format!("{count}]"))
                || text.contains(&format!("{count} ("))
        };
        for beginning in damage::beginnings(&text) {
            for (_, _, counters) in placeless(&read(beginning)) {
                for (counter, count) in counters {
                    assert!(is_given(&counter, count), "{name}: {counter} {count}");
                }
            }
        }
    }
}
