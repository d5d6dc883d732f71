//! The calls of a program: done in their order, with what they leave open, or refused with the
//! line.

use crate::executor;
use proptest::prelude::*;
use serde_json::json;
use weft_traffic::{Blocks, Exchange, Phase, Rows, StepDocument, TrafficError, Wait};

fn read(text: &str, n: u32) -> Result<Phase, TrafficError> {
    let step = json!({"benchmark": "schedule", "format": "calls", "text": text});
    let step: StepDocument = serde_json::from_value(step).expect("a step");
    step.check("work[0]", n)?;
    step.phase("work[0]", 0, 0, n)
}

fn calls(text: &str, n: u32) -> Phase {
    read(text, n).expect("calls that can be")
}

fn moves(phase: &Phase, rank: u32) -> Vec<Exchange> {
    (0..).map_while(|index| phase.exchange(rank, index)).collect()
}

fn waits(phase: &Phase, rank: u32) -> Vec<Wait> {
    moves(phase, rank).iter().map(|moved| moved.wait).collect()
}

fn channels(phase: &Phase, rank: u32) -> Vec<Blocks> {
    let ends = moves(phase, rank).into_iter().flat_map(|moved| [moved.recv, moved.send]);
    ends.flatten().map(|end| end.blocks).collect()
}

#[test]
fn computing_between_a_send_and_its_wait_overlaps_with_it() {
    let text = "num_ranks 2\nrank 0 {\nr: irecv from 1\ns: isend 8b to 1\ncalc 50\nwait r s\n}\n\
                rank 1 {\nsend 16b to 0\nrecv from 0\n}\n";
    let phase = calls(text, 2);
    let zero = moves(&phase, 0);
    assert_eq!(waits(&phase, 0), [Wait::No, Wait::No, Wait::No, Wait::All]);
    assert_eq!((zero[2].compute_ps, zero[1].send.map(|send| send.size_bytes)), (50_000, Some(8)));
    assert_eq!(waits(&phase, 1), [Wait::All, Wait::All]);
}

#[test]
fn a_call_waits_for_its_own_message_whatever_else_is_open() {
    let text = "num_ranks 3\nrank 0 {\na: irecv from 1\nb: irecv from 1\nrecv from 2\n\
                send 8b to 1\ns: isend 8b to 2\nwait b\nwait a s\n}\nrank 1 {\nsend 1b to 0\n\
                send 1b to 0\nrecv from 0\n}\nrank 2 {\nsend 1b to 0\nrecv from 0\n}\n";
    let phase = calls(text, 3);
    let Blocks::Channel(one) = channels(&phase, 0)[0] else { panic!("a channel") };
    let Blocks::Channel(two) = channels(&phase, 0)[2] else { panic!("a channel") };
    assert_ne!(one, two);
    let sent = Wait::AtMost { receives: u32::MAX, sends: 0 };
    let expected = [
        Wait::No,
        Wait::No,
        Wait::Received { channel: two, n: 1 },
        sent,
        Wait::No,
        Wait::Received { channel: one, n: 2 },
        Wait::All,
    ];
    assert_eq!(waits(&phase, 0), expected);
    assert_eq!(phase.channel_source(two), Some(2));
}

#[test]
fn tags_and_collectives_have_channels_of_their_own() {
    let text = "num_ranks 2\nrank 0 {\nx: irecv from 1 tag 5\nbarrier\nrecv from 1\nwait x\n}\n\
                rank 1 {\nsend 1b to 0\nbarrier\nsend 2b to 0 tag 5\n}\n";
    let phase = calls(text, 2);
    let [tagged, collective, _, plain] = channels(&phase, 0)[..] else { panic!("four ends") };
    assert!(tagged != plain && plain != collective && tagged != collective);
    let Blocks::Channel(of_barrier) = collective else { panic!("a channel") };
    assert_eq!(
        waits(&phase, 0)[1..3],
        [
            Wait::AtMost { receives: u32::MAX, sends: 0 },
            Wait::Received { channel: of_barrier, n: 1 }
        ]
    );
    assert_eq!(channels(&phase, 1)[0], plain);
    assert_eq!(channels(&phase, 1).last(), Some(&tagged));
}

#[test]
fn collectives_of_groups_are_those_of_their_members_with_the_root_where_it_is() {
    let all = "barrier\nallreduce 8b in odd by ring\nbroadcast 100b in odd root 1\n";
    let text = format!(
        "num_ranks 6\ngroup odd 5 3 1\nrank 0 {{\nbarrier\n}}\nrank 2 {{\nbarrier\n}}\nrank 4 {{\n\
         barrier\n}}\nrank 1 {{\n{all}}}\nrank 3 {{\n{all}}}\nrank 5 {{\n{all}}}\n"
    );
    let phase = calls(&text, 6);
    let sends = |rank, size_bytes| {
        let sends = moves(&phase, rank).into_iter().filter_map(|moved| moved.send);
        let to = sends.filter(|send| send.size_bytes == size_bytes).map(|send| send.peer);
        to.collect::<Vec<_>>()
    };
    // The root is the second member, rank 3: it sends to the farthest of the others first.
    assert_eq!((sends(3, 100), sends(1, 100), sends(5, 100)), (vec![5, 1], vec![], vec![]));
    let ring: Vec<u32> =
        moves(&phase, 5).iter().filter_map(|moved| moved.send).map(|send| send.peer).collect();
    assert_eq!(ring[3..], [3, 3, 3, 3], "a ring of members, behind the barrier of all ranks");
}

#[test]
fn a_row_lasts_from_one_mark_to_the_next() {
    let rank = "calc 5\nmark\ncalc 7\nmark\ncalc 1\n";
    let phase = calls(&format!("num_ranks 2\nrank 0 {{\n{rank}}}\nrank 1 {{\n{rank}}}\n"), 2);
    assert_eq!((phase.rows, phase.n_rows(), phase.timed_row(1)), (Rows::Interval, 3, Some(2)));
    let marks: Vec<Option<u32>> = (0..5).map(|index| phase.mark(1, index)).collect();
    assert_eq!(marks, [None, Some(0), None, Some(1), None]);
}

#[test]
fn what_calls_may_not_say_is_refused_with_its_line() {
    let ranks = |zero: &str, one: &str| {
        format!("num_ranks 2\ngroup left 0\nrank 0 {{\n{zero}\n}}\nrank 1 {{\n{one}\n}}\n")
    };
    let refused = [
        (String::new(), "line 1: no 'num_ranks'"),
        ("num_ranks 4".into(), "line 1: 4 ranks in a job of 3"),
        ("num_ranks 2\nnum_ranks 2".into(), "line 2: 'num_ranks' again"),
        ("num_ranks 1\nrank 0 {".into(), "line 2: the braces of rank 0 are open"),
        ("num_ranks 1\n}".into(), "line 2: a '}' too many"),
        ("num_ranks 1\ncalc 5".into(), "line 2: 'calc' outside of a rank"),
        ("num_ranks 2\nrank 0 {\nrank 1 {".into(), "line 3: a rank inside another"),
        ("num_ranks 1\nrank 0 {\n}\nrank 0 {".into(), "line 4: rank 0 again"),
        ("num_ranks 1\nrank 9 {".into(), "line 2: there is no rank 9"),
        ("num_ranks 1\ngroup a 0 0".into(), "line 2: group 'a'"),
        ("num_ranks 1\ngroup world 0".into(), "line 2: group 'world' again"),
        (ranks("jump 3", ""), "line 4: 'jump 3' is no call"),
        (ranks("latency 3b", ""), "line 4: 'latency 3b' is no call"),
        (ranks("calc -1", ""), "line 4: '-1' is no number"),
        (ranks("calc 9999999999999999999", ""), "line 4: 9999999999999999999 ns"),
        (ranks("send 8b to 0", ""), "line 4: a message of a rank to itself"),
        (ranks("isend 9999999999999b to 1", ""), "line 4: a message of 9999999999999 bytes"),
        (ranks("wait a", ""), "line 4: no call with label 'a' is open"),
        (ranks("a: isend 1b to 1\na: isend 1b to 1", ""), "line 5: a label that is open"),
        (ranks("a: send 1b to 1", ""), "line 4: 'a: send 1b to 1' is no call"),
        (ranks("send 8b", ""), "line 4: 'send 8b' is no message"),
        (ranks("recv 8b from 1", ""), "line 4: 'recv 8b from 1' is no message"),
        (ranks("send 8b to 1 tag", ""), "line 4: 'send 8b to 1 tag' is no message"),
        (ranks("send 8b to 1", "recv from 0 tag 1"), "line 4: rank 0 sends 1 messages to rank 1"),
        (ranks("allreduce", ""), "line 4: a allreduce without a size"),
        (ranks("allreduce 8b in right", ""), "line 4: there is no group 'right'"),
        (ranks("allreduce 8b by sharp", ""), "line 4: 'sharp' is no algorithm"),
        (ranks("allreduce 8b at once", ""), "line 4: 'at'"),
        (ranks("allreduce 8b in", ""), "line 4: 'in' without a value"),
        (ranks("broadcast 8b root 2", ""), "line 4: root 2 of 2"),
        (ranks("", "barrier in left"), "line 7: rank 1 is not in the group"),
        (ranks("barrier", "allreduce 8b"), "line 7: another collective than that of line 4"),
        (ranks("barrier\nbarrier", "barrier"), "line 5: rank 1 never comes to this collective"),
        (ranks("mark", ""), "line 8: rank 1 passes 0 marks, rank 0 1"),
        (ranks("send 8b to 1", ""), "line 4: rank 0 sends 1 messages to rank 1, which receives 0"),
    ];
    for (text, what) in refused {
        let refusal = read(&text, 3).expect_err("calls that cannot be").to_string();
        assert!(refusal.contains(what), "{what}: {refusal}");
    }
}

#[derive(Clone, Debug)]
enum Call {
    Message { src: u32, dst: u32, waits: bool },
    Collective(&'static str),
    Wait,
}

const COLLECTIVES: &[&str] =
    &["barrier", "allreduce 64b by ring", "alltoall 8b", "broadcast 9b root 1", "gather 3b"];

fn any_call(n: u32) -> impl Strategy<Value = Call> {
    let message = (0..n, 0..n - 1, any::<bool>()).prop_map(move |(src, step, waits)| {
        Call::Message { src, dst: (src + 1 + step) % n, waits }
    });
    prop_oneof![4 => message, 1 => proptest::sample::select(COLLECTIVES).prop_map(Call::Collective),
                1 => Just(Call::Wait)]
}

proptest! {
    /// What a program without deadlock does in its order is done in the order of its calls.
    #[test]
    fn a_program_that_ends_on_a_machine_ends_here(
        program in proptest::collection::vec(any_call(5), 0..60),
    ) {
        let mut ranks = vec![String::new(); 5];
        for call in &program {
            match call {
                Call::Message { src, dst, waits } => {
                    let kind = if *waits { "" } else { "i" };
                    ranks[*src as usize] += &format!("{kind}send 8b to {dst}\n");
                    ranks[*dst as usize] += &format!("{kind}recv from {src}\n");
                }
                Call::Collective(text) => {
                    ranks.iter_mut().for_each(|rank| *rank += &format!("{text}\n"));
                }
                Call::Wait => ranks.iter_mut().for_each(|rank| *rank += "wait\n"),
            }
        }
        let text: String =
            (0..).zip(&ranks).map(|(rank, calls)| format!("rank {rank} {{\n{calls}}}\n")).collect();
        let phase = calls(&format!("num_ranks 5\n{text}"), 5);
        let mut states = vec![(); 5];
        let next = |rank, index| phase.exchange(rank, index);
        executor::run("calls", &mut states, next, |_, _, _| (), |_, _, _, ()| ());
    }
}
