//! UCX (`UCX_LOG_LEVEL=info`): version, variables, and the lanes of its end points.
//!
//! SOURCE: what UCX 1.13.1 and 1.20.1 print; openucx/ucx, ucp_worker.c and parser.c.

use crate::facts::{Facts, Kind, Place, Said};

/// `[1795405239.468810] [host:8479 :0]  parser.c:1916 UCX  INFO  ...`; whether it was UCX's.
pub(crate) fn read(line: &str, place: Place, facts: &mut Facts) -> bool {
    let Some((head, rest)) = line.split_once("UCX  ") else {
        return false;
    };
    let Some((level, text)) = rest.split_once(' ') else {
        return false;
    };
    let from = head.split_ascii_whitespace().next_back().unwrap_or_default();
    let speaker = process(head).and_then(|(host, pid)| facts.speakers.process(host, pid));
    let said = Said { speaker, place, from };
    let text = text.trim();
    match level {
        "INFO" => information(text, said, facts),
        "WARN" | "ERROR" => {
            let beginnings = ["unused env variable", "unused environment variable"];
            match beginnings.iter().find_map(|beginning| text.strip_prefix(beginning)) {
                Some(names) => unused(names, said, facts),
                // The hint below the names.
                None if text.starts_with("(set UCX_WARN_UNUSED_ENV_VARS") => {}
                None => facts.note(said, Kind::Warning, &["UCX", from, text]),
            }
            true
        }
        _ => false,
    }
}

/// Of `[time] [host:pid:thread] ...`.
fn process(head: &str) -> Option<(&str, &str)> {
    let inside = head.rsplit_once('[')?.1.split(']').next()?;
    let (host, rest) = inside.split_once(':')?;
    let pid = rest.split([':', ' ']).next()?;
    Some((host, pid))
}

fn information(text: &str, said: Said<'_>, facts: &mut Facts) -> bool {
    if let Some(rest) = text.strip_prefix("Version ") {
        let version = rest.split(' ').next().unwrap_or(rest);
        facts.note(said, Kind::Version, &["UCX", version]);
        return true;
    }
    let variables = ["UCX_* env variables: ", "UCX_* env variable: "];
    if let Some(all) = variables.iter().find_map(|beginning| text.strip_prefix(beginning)) {
        for (name, value) in all.split(' ').filter_map(|word| word.split_once('=')) {
            facts.note(said, Kind::Echo, &[name, value]);
        }
        return true;
    }
    let Some(lanes) = tagged(text) else {
        return false;
    };
    let between = ["intra-node", "inter-node", "self"];
    let whom = between.into_iter().find(|whom| text.contains(&format!(" {whom} cfg#")));
    facts.note(said, Kind::Lanes, &[whom.unwrap_or_default(), lanes]);
    true
}

/// `ep_cfg[1]: tag(tcp/lo)`, `ucp_context_0 inter-node cfg#2 tag(rc_mlx5/mlx5_0:1) rma(...)`.
fn tagged(text: &str) -> Option<&str> {
    if !text.contains("cfg") {
        return None;
    }
    let (_, rest) = text.split_once("tag(")?;
    rest.split(')').next().map(str::trim)
}

/// `: UCX_FOO (set UCX_WARN_UNUSED_ENV_VARS=n ...)`, `s: UCX_FOO (maybe: UCX_TLS?); UCX_BAR`: what
/// is in brackets is not a name that was set.
fn unused(names: &str, said: Said<'_>, facts: &mut Facts) {
    let outside = names.split('(').map(|part| part.split_once(')').map_or(part, |(_, rest)| rest));
    for (index, part) in outside.enumerate() {
        // Behind the last bracket nothing follows, also where it is not closed.
        if index > 0 && !names.contains(')') {
            break;
        }
        for name in part.split([' ', ',', ';', ':']).filter(|name| name.starts_with("UCX_")) {
            let name = name.split('=').next().unwrap_or(name);
            facts.note(said, Kind::Unused, &[name]);
        }
    }
}
