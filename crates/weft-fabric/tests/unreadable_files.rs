//! Files that are no sample: without an end, packed, with only noise, with terminal codes.

use crate::common::samples;
use std::io::{self, Read};
use weft_fabric::read;
use weft_fabric::subnet::records::NodeRecord;
use weft_fabric::subnet::records::{CableRecord, Who};
use weft_fabric::subnet::{Gathered, Misfit, Place, Subnet};

/// A file that begins anew whenever it ends.
struct Endless<'a> {
    text: &'a [u8],
    at: usize,
}

impl Read for Endless<'_> {
    fn read(&mut self, buffer: &mut [u8]) -> io::Result<usize> {
        let n = (&self.text[self.at..]).read(buffer)?;
        self.at = (self.at + n) % self.text.len();
        Ok(n)
    }
}

#[test]
fn a_dump_that_begins_anew_for_ever_is_left_at_its_second_beginning() {
    for (name, from_line) in [
        ("opensm/opensm-lfts.dump", 145),
        ("opensm/opensm.fdbs", 145),
        ("opensm_lmc1/dump_fts-a.out", 289),
        ("opensm_dfsssp/opensm-sl2vl.dump", 559),
    ] {
        let text = std::fs::read(samples::folder().join(name)).expect("a sample");
        let once = samples::gathered(&[(name, &text)]);
        let mut endless = Gathered::default();
        let mut input = Endless { text: &text, at: 0 };
        read::read(name, &mut input, &mut endless).expect("memory can be read");
        let begun: Vec<(u32, &str)> =
            endless.unread.iter().map(|unread| (unread.place.line, &unread.what[..])).collect();
        let what = "a second dump begins here; it and all after it was left out";
        assert_eq!(begun, [(from_line, what)], "{name}");
        assert_eq!(endless.tables, once.tables, "{name}");
        assert_eq!(endless.sl2vl.len(), once.sl2vl.len(), "{name}");
    }
}

#[test]
fn of_a_file_that_no_one_knows_the_first_line_of_its_own_is_shown() {
    let what = |bytes: &[u8]| samples::gathered(&[("x", bytes)]).unread[0].what.clone();
    let warning = b"ibwarn: [17718] sim_connect: attached as client 0\n";
    let failed = [&warning[..], b"Query SA failed: Connection timed out\n"].concat();
    assert_eq!(what(&failed), "Query SA failed: Connection timed out");
    assert_eq!(what(warning), "only warnings of the tool: it printed no result");
    assert_eq!(what(b" \n\t\n"), "only white space");
    assert_eq!(what(b""), "the file is empty");
    let packed = b"\x1f\x8b\x08\x00\x00\x00\x00\x00";
    assert_eq!(what(packed), "a compressed file: unpack it first (zcat)");
}

#[test]
fn what_a_terminal_would_obey_is_shown_as_an_escape() {
    let reported = samples::gathered(&[("x", b"a\x1b[2Jb\tc\x07")]);
    assert_eq!(reported.unread[0].what, "a\\u{1b}[2Jb\tc\\u{7}");
}

#[test]
fn a_cable_from_a_port_to_itself_is_none() {
    let place = Place { source: 0, line: 3 };
    let ends = [(Who::Node(1), 2), (Who::Node(1), 2)];
    let nodes = vec![NodeRecord::of(place, Who::Node(1))];
    let cables = vec![CableRecord { place, ends, rate: None }];
    let subnet = Subnet::of(Gathered { nodes, cables, ..Gathered::default() });
    assert_eq!(subnet.cables().count(), 0);
    let port = ("0x0000000000000001".to_owned(), 2);
    assert_eq!(subnet.misfits, [Misfit::PortUsedTwice { place, port }]);
}

#[test]
fn keys_are_not_shown() {
    let keys = b"0x506b4b0300000110 0x00000000c0ffee42\n\n0x506b4b0300000120 0x00000000c0ffee42\n";
    let unread = &samples::gathered(&[("guid2mkey", keys)]).unread;
    assert_eq!(unread.len(), 1);
    assert!(unread[0].what.starts_with("a file of management keys"));
    assert!(!format!("{unread:?}").contains("c0ffee42"));
}
