//! SHARP (`SHARP_COLL_LOG_LEVEL=3`): trees that a job was given, groups made of them, errors.
//!
//! SOURCE: logs of SHARP 2.x and 3.x that users posted (NVIDIA/nccl#1219, #1460;
//! Mellanox/nccl-rdma-sharp-plugins#151; NVIDIA/nccl-tests#311). The sources are not public.

use crate::facts::{Facts, Kind, Place, Said};
use crate::line::{number_after, word_after};

/// `[host:0:588 - comm.c:392] INFO [group#:0] ... tree_type:LLT ... group size:4 ...`; whether it
/// was SHARP's.
pub(crate) fn read(line: &str, place: Place, facts: &mut Facts) -> bool {
    if !(line.contains(" - ") || line.contains(" unique id ")) {
        return false;
    }
    let Some((head, text)) = line.split_once("] INFO ").or_else(|| line.split_once("] ERROR "))
    else {
        return false;
    };
    let Some((host, pid, from)) = process(head) else {
        return false;
    };
    let speaker = facts.speakers.process(host, pid);
    let said = Said { speaker, place, from };
    let kind = word_after(text, "tree_type:").unwrap_or_default();
    if line.contains("] ERROR ") {
        facts.note(said, Kind::SharpError, &[from, text.trim()]);
    } else if text.contains("sharp_job_id:") {
        facts.note(said, Kind::SharpTree, &[kind]);
    } else if let Some(size) = number_after(text, "group size:") {
        facts.note(said, Kind::SharpGroup, &[kind, &size.to_string()]);
    } else {
        return false;
    }
    true
}

/// Host, process and place in the source: of `[host:rank:pid - file.c:line`, a date may follow.
fn process(head: &str) -> Option<(&str, &str, &str)> {
    let (who, from) = head.split(['[', ']']).find_map(|inside| {
        let unique = || inside.split_once(" unique id ").map(|(who, _)| (who, ""));
        inside.split_once(" - ").or_else(unique)
    })?;
    let (rest, pid) = who.rsplit_once(':')?;
    let (host, _) = rest.rsplit_once(':')?;
    pid.bytes().all(|byte| byte.is_ascii_digit()).then_some((host, pid, from))
}
