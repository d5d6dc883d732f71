//! UCX (`UCX_LOG_LEVEL=info`): version, variables, and the lanes of its end points.
//!
//! SOURCE: what UCX 1.13.1 and 1.20.1 print; openucx/ucx, ucp_worker.c and parser.c.

use crate::facts::{Kind, Statement, Understood};

/// `[1795405239.468810] [host:8479 :0]  parser.c:1916 UCX  INFO  ...`
pub(crate) fn read(line: &str, statement: &mut Statement<'_>) -> Understood {
    let (head, text) = line.split_once("UCX  ")?;
    let (level, text) = text.split_once(' ')?;
    let from = head.split_ascii_whitespace().next_back().unwrap_or_default();
    let speakers = &mut statement.facts.speakers;
    statement.speaker = process(head).and_then(|(host, pid)| speakers.process(host, pid));
    let text = text.trim();
    match level {
        "INFO" => information(text, statement),
        "WARN" | "ERROR" | "FATAL" => {
            let beginnings = ["unused env variable", "unused environment variable"];
            match beginnings.iter().find_map(|beginning| text.strip_prefix(beginning)) {
                Some(names) => unused(names, statement),
                // The hint below the names.
                None if text.starts_with("(set UCX_WARN_UNUSED_ENV_VARS") => Some(()),
                None => statement.note(Kind::Warning, &["UCX", from, text]),
            }
        }
        _ => None,
    }
}

/// Of `[time] [host:pid:thread] ...`.
fn process(head: &str) -> Option<(&str, &str)> {
    let inside = head.rsplit_once('[')?.1.split(']').next()?;
    let (host, numbers) = inside.split_once(':')?;
    Some((host, numbers.split([':', ' ']).next()?))
}

fn information(text: &str, statement: &mut Statement<'_>) -> Understood {
    if let Some(text) = text.strip_prefix("Version ") {
        let version = text.split(' ').next().unwrap_or(text);
        return statement.note(Kind::Version, &["UCX", version]);
    }
    let variables = ["UCX_* env variables: ", "UCX_* env variable: "];
    if let Some(all) = variables.iter().find_map(|beginning| text.strip_prefix(beginning)) {
        for (name, value) in all.split(' ').filter_map(|word| word.split_once('=')) {
            statement.note(Kind::Echo, &[name, value]);
        }
        return Some(());
    }
    let lanes = tagged(text)?;
    let between = ["intra-node", "inter-node", "self"];
    let ranks = between.into_iter().find(|ranks| text.contains(&format!(" {ranks} cfg#")));
    statement.note(Kind::Lanes, &[ranks.unwrap_or_default(), lanes])
}

/// `ep_cfg[1]: tag(tcp/lo)`, `ucp_context_0 inter-node cfg#2 tag(rc_mlx5/mlx5_0:1) rma(...)`.
fn tagged(text: &str) -> Option<&str> {
    let (_, lanes) = text.split_once("tag(").filter(|_| text.contains("cfg"))?;
    lanes.split(')').next().map(str::trim)
}

/// `: UCX_FOO (set UCX_WARN_UNUSED_ENV_VARS=n ...)`, `s: UCX_FOO (maybe: UCX_TLS?); UCX_BAR`: what
/// is in brackets is not a name that was set.
fn unused(names: &str, statement: &mut Statement<'_>) -> Understood {
    let outside =
        names.split('(').map(|part| part.split_once(')').map_or(part, |(_, after)| after));
    for (index, part) in outside.enumerate() {
        // Behind the last bracket nothing follows, also where it is not closed.
        if index > 0 && !names.contains(')') {
            break;
        }
        for name in part.split([' ', ',', ';', ':']).filter(|name| name.starts_with("UCX_")) {
            let name = name.split('=').next().unwrap_or(name);
            statement.note(Kind::Unused, &[name]);
        }
    }
    Some(())
}
