//! Schedules from elsewhere: what they say is done, in an order every rank can keep, or refused
//! with the line.

use crate::executor;
use proptest::prelude::*;
use serde_json::json;
use weft_traffic::{Exchange, Phase, StepDocument, TrafficError, Wait};

fn read(format: &str, text: &str, n: u32, size_bytes: u64) -> Result<Phase, TrafficError> {
    let step = json!({"benchmark": "schedule", "format": format, "text": text,
                      "size_bytes": size_bytes});
    let step: StepDocument = serde_json::from_value(step).expect("a step");
    step.check("work[0]", n)?;
    step.phase("work[0]", 0, 0, n)
}

fn goal(text: &str, n: u32) -> Phase {
    read("goal", text, n, 0).expect("a schedule that can be")
}

fn refusal(format: &str, text: &str) -> String {
    read(format, text, 3, 1000).expect_err("a schedule that cannot be").to_string()
}

fn moves(phase: &Phase, rank: u32) -> Vec<Exchange> {
    (0..).map_while(|index| phase.exchange(rank, index)).collect()
}

fn completes(phase: &Phase) {
    let mut states = vec![(); phase.n_ranks() as usize];
    let next = |rank, index| phase.exchange(rank, index);
    executor::run("a schedule", &mut states, next, |_, _, _| (), |_, _, _, _| ());
}

const PING_PONG: &str = "num_ranks 2
// rank 0 computes, sends, and hears back
rank 0 {
l1: calc 100 cpu 0
l2: send 8b to 1 tag 7 cpu 0 nic 0
l3: recv 16 b from 1
l2 requires l1
l3 requires l2
}
rank 1 { /* two
  lines */
a: recv 8b from 0 tag 7
b: send 16b to 0
b requires a
}
";

#[test]
fn a_ping_pong_in_goal_is_what_it_says() {
    let phase = goal(PING_PONG, 3);
    completes(&phase);
    let zero = moves(&phase, 0);
    assert_eq!(zero[0].compute_ps, 100_000);
    let send = zero[1].send.expect("the ping");
    assert_eq!((send.peer, send.size_bytes, zero[1].wait), (1, 8, Wait::All));
    assert_eq!(zero[2].recv.map(|recv| recv.size_bytes), Some(16));
    assert_eq!((zero.len(), moves(&phase, 1).len(), moves(&phase, 2).len()), (3, 2, 0));
    assert_eq!((phase.timed_row(0), phase.n_rows()), (Some(0), 1));
}

#[test]
fn what_is_independent_is_running_together_and_starts_are_enough_for_irequires() {
    let text = "num_ranks 3\nrank 0 {\na: send 1b to 1\nb: send 2b to 2\nb irequires a\n}\n\
                rank 1 { \nrecv 1b from 0\n}\nrank 2 {\nrecv 2b from 0\n}\n";
    let zero = moves(&goal(text, 3), 0);
    assert_eq!(zero.iter().map(|moved| moved.wait).collect::<Vec<_>>(), [Wait::No, Wait::All]);
    // With 'requires' the second waits for the first.
    let zero = moves(&goal(&text.replace("irequires", "requires"), 3), 0);
    assert_eq!(zero.iter().map(|moved| moved.wait).collect::<Vec<_>>(), [Wait::All, Wait::All]);
}

#[test]
fn tags_decide_which_messages_meet_whatever_the_order_they_are_written_in() {
    let text = "num_ranks 2\nrank 0 {\nsend 1b to 1 tag 1\nsend 2b to 1 tag 2\n}\n\
                rank 1 {\nb: recv 2b from 0 tag 2\na: recv 1b from 0 tag 1\na requires b\n}\n";
    completes(&goal(text, 2));
}

#[test]
fn what_a_goal_text_may_not_say_is_refused_with_its_line() {
    let ranks = |zero: &str, one: &str| {
        format!("num_ranks 2\nrank 0 {{\n{zero}\n}}\nrank 1 {{\n{one}\n}}\n")
    };
    for (text, what) in [
        (String::new(), "line 1: no 'num_ranks'"),
        ("num_ranks 4".into(), "line 1: 4 ranks in a job of 3"),
        ("num_ranks x".into(), "line 1: 'x' is no number"),
        ("num_ranks 1\nrank 0 {\ncalc 1".into(), "line 3: the braces of rank 0 are open"),
        ("num_ranks 1\n}".into(), "line 2: a '}' too many"),
        ("num_ranks 1\ncalc 5".into(), "line 2: 'calc' outside of a rank"),
        ("num_ranks 1\nrank 0 {\nrank 1 {".into(), "line 3: a rank inside another"),
        ("num_ranks 1\nrank 0 {\ncalc 1\n}\nrank 0 {".into(), "line 5: rank 0 again"),
        ("num_ranks 1\nrank 9 {".into(), "line 2: there is no rank 9"),
        (ranks("jump 3", ""), "line 3: 'jump 3' is no operation"),
        (ranks("calc 99999999999999999999", ""), "line 3: '99999999999999999999' is no number"),
        (ranks("calc 9999999999999999999", ""), "line 3: 9999999999999999999 ns"),
        (ranks("calc 1 cpu 1", ""), "line 3: cpu 1: a rank has one"),
        (ranks("calc 1 gpu 1", ""), "line 3: 'gpu'"),
        (ranks("calc 1 cpu", ""), "line 3: 'cpu' without a value"),
        (ranks("send to 1", ""), "line 3: 'to' is no number"),
        (ranks("send 8b", ""), "line 3: no 'to'"),
        (ranks("send 8b from 1", ""), "line 3: 'from' after the size"),
        (ranks("send 8b to 0", ""), "line 3: a message of a rank to itself"),
        (ranks("send 9999999999999b to 1", ""), "line 3: a message of 9999999999999 bytes"),
        (ranks("a requires b", ""), "line 3: there is no label 'a' above"),
        (ranks("a: calc 1\na: calc 1", ""), "line 4: label 'a' again"),
        (ranks("a: calc 1\na requires a", ""), "line 3: an operation that never begins"),
        (ranks("send 8b to 1", ""), "line 3: no rank receives the 8 bytes to rank 1 with tag 0"),
        (ranks("recv 8b from 1", ""), "line 3: no rank sends the 8 bytes from rank 1 with tag 0"),
        (
            ranks("send 8b to 1", "recv 9b from 0"),
            "line 6: a receive of 9 bytes meets the send of 8 bytes in line 3",
        ),
        (
            ranks(
                "a: recv 1b from 1\nb: send 1b to 1\nb requires a",
                "a: recv 1b from 0\nb: send 1b to 0\nb requires a",
            ),
            "line 3: no rank sends",
        ),
    ] {
        let refused = refusal("goal", &text);
        assert!(refused.starts_with(&format!("work[0].text, {what}")), "{refused}");
        assert!(refused.contains("\n  expected: "), "{refused}");
    }
}

/// An allgather of two GPUs, and a third that only copies.
const EXCHANGE: &str = r#"<algo name="x" nchunksperloop="2" ngpus="3" coll="allgather">
  <gpu id="0" i_chunks="1" o_chunks="2" s_chunks="0">
    <tb id="0" send="1" recv="1" chan="0">
      <step s="0" type="s" srcbuf="i" srcoff="0" dstbuf="o" dstoff="0" cnt="1" depid="1" deps="0"/>
      <step s="1" type="rrcs" srcbuf="i" srcoff="0" dstbuf="o" cnt="2" depid="-1" deps="-1"/>
    </tb>
    <tb id="1" send="-1" recv="-1" chan="0">
      <step s="0" type="cpy" cnt="1" depid="-1" deps="-1"/>
    </tb>
  </gpu>
  <gpu id="1">
    <tb id="0" send="0" recv="0" chan="0">
      <step s="0" type="r" cnt="1" depid="-1" deps="-1"/>
      <step s="1" type="s" cnt="2" depid="-1" deps="-1"/>
      <step s="2" type="r" cnt="2" depid="-1" deps="-1"/>
    </tb>
  </gpu>
</algo>"#;

#[test]
fn an_msccl_algorithm_moves_chunks_of_the_buffer() {
    let phase = read("msccl", EXCHANGE, 3, 1001).expect("an algorithm");
    completes(&phase);
    let sizes: Vec<u64> = moves(&phase, 0)
        .iter()
        .filter_map(|moved| moved.send)
        .map(|send| send.size_bytes)
        .collect();
    // A chunk is half of 1001 bytes, rounded up; two are all of them.
    assert_eq!(sizes, [501, 1001]);
}

#[test]
fn what_an_msccl_algorithm_may_not_say_is_refused_with_its_line() {
    for (from, to, what) in [
        ("</algo>", "", "line 1: no XML"),
        ("<algo", "<!DOCTYPE a [<!ENTITY e 'x'>]><algo", "line 1: no XML"),
        ("algo", "algorithm", "line 1: no 'algo'"),
        (r#"nchunksperloop="2""#, "", "line 1: 'algo' without 'nchunksperloop'"),
        (r#"nchunksperloop="2""#, r#"nchunksperloop="0""#, "line 1: nchunksperloop is 0"),
        (r#"gpu id="1""#, r#"gpu id="7""#, "line 11: id is 7 with 3 ranks"),
        (r#"gpu id="1""#, r#"gpu id="-1""#, "line 11: a GPU without a number"),
        (r#"gpu id="1""#, r#"gpu id="0""#, "line 11: GPU 0 again"),
        (r#"type="cpy""#, r#"type="fly""#, "line 8: a step of type 'fly'"),
        (r#"type="cpy""#, r#"type="s""#, "line 8: a step that needs another GPU in 'send'"),
        (r#"s="2" type="r" cnt="2""#, r#"s="1" type="r" cnt="2""#, "line 15: step 1 of block 0"),
        (r#"depid="1""#, r#"depid="5""#, "line 4: no step 0 of block 5 on this GPU"),
        (r#"type="s" cnt="2""#, r#"type="s" cnt="x""#, "line 14: cnt is 'x'"),
        (r#"type="s" cnt="2""#, r#"type="s" cnt="9999999999999999999""#, "line 14: "),
        (r#"type="s" cnt="2""#, r#"type="s" cnt="1""#, "line 5: a receive of 1000 bytes meets"),
    ] {
        let refused = refusal("msccl", &EXCHANGE.replace(from, to));
        assert!(refused.starts_with(&format!("work[0].text, {what}")), "{what}: {refused}");
        assert!(refused.contains("\n  expected: "), "{refused}");
    }
}

#[test]
fn an_error_shows_the_ends_of_a_very_long_line() {
    let long = "x".repeat(1_000_000);
    for text in [format!("num_ranks 2\nrank 0 {{\n{long}\n}}"), format!("num_ranks {long}9")] {
        let refused = refusal("goal", &text);
        assert!(refused.len() < 1000 && refused.contains("x ... x"), "{}", refused.len());
    }
}

#[test]
fn a_schedule_is_read_from_its_file_once() {
    let path = std::env::temp_dir().join(format!("weft-schedule-{}.goal", std::process::id()));
    std::fs::write(&path, PING_PONG).expect("a place for temporary files");
    let text = path.to_str().expect("a plain path");
    let step = json!({"benchmark": "schedule", "path": text});
    let mut step: StepDocument = serde_json::from_value(step).expect("a step");
    let unread = step.check("work[0]", 2).expect_err("not read yet").to_string();
    assert!(unread.starts_with("work[0]: 'text' is missing"), "{unread}");
    step.prepare("work[0]", 1).expect("a readable file");
    std::fs::remove_file(&path).expect("it is there");
    step.check("work[0]", 2).expect("it holds the text");
    let refused = |document| {
        let mut step: StepDocument = serde_json::from_value(document).expect("a step");
        step.prepare("work[0]", 1).expect_err("no such file").to_string()
    };
    let absent = refused(json!({"benchmark": "schedule", "path": "/nowhere/x.goal"}));
    assert!(absent.starts_with("work[0].path: cannot read '/nowhere/x.goal'"), "{absent}");
    let folder = std::env::temp_dir().to_str().expect("a plain path").to_owned();
    let no_file = refused(json!({"benchmark": "schedule", "path": folder}));
    assert!(no_file.contains("' is no file\n  expected: a file of text"), "{no_file}");
    let both = refused(json!({"benchmark": "schedule", "path": "x", "text": "y"}));
    assert!(both.starts_with("work[0].path: a schedule in a file and one in 'text'"), "{both}");
}

/// Any messages in an order every rank could keep, with computing and dependencies between.
fn schedules() -> impl Strategy<Value = String> {
    let operation = (0..4u32, 0..4u32, 0..100u64, 0..3u32, any::<bool>());
    prop::collection::vec(operation, 0..40).prop_map(|operations| {
        let mut ranks = vec![String::new(); 4];
        let mut last: Vec<Option<String>> = vec![None; 4];
        for (number, (src, dst, size, tag, waits)) in operations.into_iter().enumerate() {
            let mut add = |rank: usize, kind: &str, work: String| {
                let label = format!("{kind}{number}");
                ranks[rank] += &format!("{label}: {work}\n");
                if let Some(before) = last[rank].replace(label.clone()).filter(|_| waits) {
                    ranks[rank] += &format!("{label} requires {before}\n");
                }
            };
            if src == dst {
                add(src as usize, "c", format!("calc {size}"));
            } else {
                add(
                    src as usize,
                    "s",
                    format!("send {size}b to {dst} tag {}", 100 * tag as usize + number),
                );
                add(
                    dst as usize,
                    "r",
                    format!("recv {size}b from {src} tag {}", 100 * tag as usize + number),
                );
            }
        }
        let ranks = ranks.iter().enumerate();
        let ranks: Vec<String> =
            ranks.map(|(rank, ops)| format!("rank {rank} {{\n{ops}}}\n")).collect();
        format!("num_ranks 4\n{}", ranks.concat())
    })
}

proptest! {
    #![proptest_config(ProptestConfig::with_cases(300))]

    #[test]
    fn any_schedule_that_can_be_kept_is_carried_out(text in schedules()) {
        let phase = goal(&text, 4);
        completes(&phase);
        let sent = (0..4).flat_map(|rank| moves(&phase, rank)).filter(|moved| moved.send.is_some());
        prop_assert_eq!(sent.count(), text.matches(": send").count());
    }

    #[test]
    fn no_text_is_too_damaged_to_be_read_or_refused(
        words in prop::collection::vec(prop_oneof![
            Just("num_ranks"), Just("rank"), Just("{"), Just("}"), Just("\n"), Just("send"),
            Just("recv"), Just("calc"), Just("to"), Just("from"), Just("8b"), Just("1"), Just("0"),
            Just("a"), Just(":"), Just("requires"), Just("irequires"), Just("tag"), Just("/*"),
            Just("*/"), Just("//"), Just("é"), Just("-1"),
        ], 0..60),
    ) {
        let text = words.join(" ");
        let _ = read("goal", &text, 3, 0).map(|phase| completes(&phase));
        let _ = read("goal", &format!("num_ranks 2\nrank 0 {{\n{text}"), 3, 0);
    }

    #[test]
    fn no_damage_to_an_algorithm_does_more_than_have_it_refused(
        at in 0..EXCHANGE.len(), length in 0..30usize, with in "[<>/\"a-z0-9= -]{0,5}",
    ) {
        let end = (at + length).min(EXCHANGE.len());
        let text = format!("{}{with}{}", &EXCHANGE[..at], &EXCHANGE[end..]);
        let _ = read("msccl", &text, 3, 1000).map(|phase| completes(&phase));
    }
}
