//! SHARP (`SHARP_COLL_LOG_LEVEL=3`): trees that a job was given, groups made of them, errors.
//!
//! SOURCE: logs of SHARP 2.x and 3.x that users posted (NVIDIA/nccl#1219, #1460;
//! Mellanox/nccl-rdma-sharp-plugins#151; NVIDIA/nccl-tests#311). The sources are not public.

use crate::facts::{Kind, Statement, Understood};
use crate::line::{number_after, word_after};

/// `[host:0:588 - comm.c:392] INFO [group#:0] ... tree_type:LLT ... group size:4 ...`
pub(crate) fn read(line: &str, statement: &mut Statement<'_>) -> Understood {
    if !(line.contains(" - ") || line.contains(" unique id ")) {
        return None;
    }
    let ends = ["] INFO ", "] ERROR "];
    let (head, text) = ends.iter().find_map(|end| line.split_once(end))?;
    let (host, pid, from) = process(head)?;
    statement.speaker = statement.facts.speakers.process(host, pid);
    let kind = word_after(text, "tree_type:").unwrap_or_default();
    if line.contains("] ERROR ") {
        statement.note(Kind::SharpError, &[from, text.trim()])
    } else if text.contains("sharp_job_id:") {
        statement.note(Kind::SharpTree, &[kind])
    } else {
        let size = number_after(text, "group size:")?;
        statement.note(Kind::SharpGroup, &[kind, &size.to_string()])
    }
}

/// Host, process and place in the source: of `[host:rank:pid - file.c:line`, a date may follow.
fn process(head: &str) -> Option<(&str, &str, &str)> {
    let (who, from) = head.split(['[', ']']).find_map(|inside| {
        let unique = || inside.split_once(" unique id ").map(|(who, _)| (who, ""));
        inside.split_once(" - ").or_else(unique)
    })?;
    let (who, pid) = who.rsplit_once(':')?;
    let (host, _) = who.rsplit_once(':')?;
    pid.bytes().all(|byte| byte.is_ascii_digit()).then_some((host, pid, from))
}
