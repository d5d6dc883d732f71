//! What OpenSM's log says: the engine that really routed, errors, ports that left.

use crate::common::{
    damage,
    samples::{self, text},
};
use weft_fabric::subnet::records::SmLog;

fn log(text: &str) -> SmLog {
    let mut gathered = samples::gathered(&[("osm.log", text.as_bytes())]);
    assert_eq!(gathered.sources[0].format.as_deref(), Some("opensm.log"));
    gathered.sm_logs.pop().expect("one log")
}

#[test]
fn an_engine_that_silently_fell_back_is_seen() {
    let log = log(&text("opensm_logs/ftree_falls_back.log"));
    assert_eq!(
        (&log.engines_asked[..], &log.engines_used[..]),
        (&["ftree".to_owned()][..], &["minhop".to_owned()][..])
    );
    assert_eq!(
        log.errors,
        [
            "AB0A: Different number of downward port groups on switches:; \
         GUID 0x506b4b0300002600, LID 6, Index 1.0.9 - 6 port groups; \
         GUID 0x506b4b0300002330, LID 129, Index 1.0.1 - 7 port groups",
            "AB0D: Fabric topology hasn't been identified as FatTree",
            "ucast_mgr_route: ftree: cannot build lid matrices",
        ]
    );
    assert_eq!((log.n_sweeps, log.removed.len()), (1, 0));
}

#[test]
fn sweeps_are_counted_and_ports_that_left_are_named() {
    let log = log(&text("opensm_logs/minhop.log"));
    assert_eq!(log.engines_used, ["minhop"]);
    assert_eq!((log.engines_asked.len(), log.errors.len(), log.n_sweeps), (0, 0, 4));
    let left = "0x506b4b0300000160 LID range [12, 12] of node:MF0;spine01:MQM8700/U1";
    assert_eq!(log.removed, [left]);
}

#[test]
fn what_the_program_says_of_its_engines_is_heard_where_it_is_in_the_file() {
    let activated = " Activate 'ftree,updn' routing engine(s)\n";
    let log = log(&format!("{activated}{}", text("opensm_logs/minhop.log")));
    assert_eq!(log.engines_asked, ["ftree", "updn"]);
}

#[test]
fn an_engine_is_named_again_only_where_it_changes() {
    let line = |engine: &str| {
        format!(
            "Nov 21 02:38:50 235575 [5AE916C0] 0x02 -> \
                                       osm_ucast_mgr_process: {engine} tables configured on all \
                                       switches\n"
        )
    };
    let log = log(&["updn", "updn", "minhop", "updn", "null (min-hop)"].map(line).concat());
    assert_eq!(log.engines_used, ["updn", "minhop", "updn", "null (min-hop)"]);
}

#[test]
fn errors_are_kept_once_and_only_so_many() {
    let line = |n: u32| format!("Nov 21 02:38:50 235575 [5AE916C0] 0x01 -> a: ERR 0D{n}: x\n");
    let text: String = (0..3000).map(|n| line(n % 1500)).collect();
    let gathered = samples::gathered(&[("osm.log", text.as_bytes())]);
    let errors = &gathered.sm_logs[0].errors;
    assert_eq!((errors.len(), errors[999].as_str()), (1000, "0D999: x"));
    let reported: Vec<(u32, &str)> =
        gathered.unread.iter().map(|line| (line.place.line, line.what.as_str())).collect();
    assert_eq!(reported, [(1002, "more different errors or removed ports than are kept")]);
}

#[test]
fn carriage_returns_and_warnings_between_the_lines_change_nothing() {
    for name in ["opensm_logs/minhop.log", "opensm_logs/ftree_falls_back.log"] {
        let text = text(name);
        let clean = log(&text);
        assert_eq!(log(&damage::with_carriage_returns(&text)), clean);
        assert_eq!(log(&damage::with_warnings(&text)), clean);
    }
}

#[test]
fn a_truncated_log_says_no_more_than_the_whole() {
    let text = text("opensm_logs/ftree_falls_back.log");
    let whole = log(&text);
    for beginning in damage::beginnings(&text) {
        let part = log(beginning);
        assert!(part.n_sweeps <= whole.n_sweeps);
        assert!(whole.engines_used.starts_with(&part.engines_used), "{beginning}");
        assert!(part.errors.len() <= whole.errors.len());
    }
}
