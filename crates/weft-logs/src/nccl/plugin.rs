//! Plug-ins: requested, found and loaded ones, with the version of their interface.
//!
//! SOURCE: NVIDIA/nccl, tags v2.14.3-1 to v2.30.7-1, net.cc and plugin/*.cc; Mellanox
//! nccl-rdma-sharp-plugins (`P2P plugin`); logs of RCCL.

use crate::facts::{Facts, Kind, Said};
use crate::line::between;

/// Whether the message was about a plug-in.
pub(crate) fn read(text: &str, said: Said<'_>, facts: &mut Facts) -> bool {
    for beginning in [
        "Plugin name set by env to ",
        "NET/Plugin: Plugin name set by env to ",
        "NCCL_NET_PLUGIN set by environment to ",
        "Plugin Path : ",
        "Successfully loaded external network plugin ",
    ] {
        if let Some(name) = text.strip_prefix(beginning) {
            facts.note(said, Kind::PluginAsked, &[name]);
            // The variable itself is an echo, too.
            return !beginning.starts_with("NCCL_");
        }
    }
    if let Some(name) = text.strip_prefix("P2P plugin ") {
        facts.note(said, Kind::PluginLoaded, &["net", name, ""]);
        return true;
    }
    if let Some(rest) = text.strip_prefix("External network plugin ") {
        let name = rest.split(" is unsupported").next().unwrap_or(rest);
        facts.note(said, Kind::PluginRefused, &[name]);
        return true;
    }
    if let Some(name) = text.strip_prefix("Failed to initialize NET plugin ") {
        facts.note(said, Kind::PluginFailed, &[name]);
        return true;
    }
    let of_plugin = ["NET/Plugin", "TUNER/Plugin", "PROFILER/Plugin", "ENV/Plugin"];
    let Some(beginning) = of_plugin.into_iter().find(|beginning| text.starts_with(beginning))
    else {
        return false;
    };
    let rest = text[beginning.len()..].trim_start_matches([' ', ':']);
    match beginning {
        "NET/Plugin" => of_network(rest, said, facts),
        _ => of_other(beginning, rest, said, facts),
    }
}

fn of_network(rest: &str, said: Said<'_>, facts: &mut Facts) -> bool {
    if let Some((file, reason)) = not_opened(rest) {
        facts.note(said, Kind::PluginMissing, &[file, reason]);
    } else if let Some((kind, name, version)) = loaded(rest) {
        facts.note(said, Kind::PluginLoaded, &[kind, name, version]);
    } else if let Some(symbol) = between(rest, "Failed to find ", " symbol") {
        facts.note(said, Kind::PluginSymbol, &[symbol]);
    } else {
        return false;
    }
    true
}

/// File and reason, in the words of each version.
fn not_opened(rest: &str) -> Option<(&str, &str)> {
    if let Some(rest) = rest.strip_prefix("Plugin load (") {
        // 2.14 to 2.20: Plugin load (FILE) returned 2 : REASON
        let (file, rest) = rest.split_once(')')?;
        return Some((file, rest.split_once(" : ").map_or("", |(_, reason)| reason)));
    }
    if let Some(rest) = rest.strip_prefix("Plugin load returned ") {
        // 2.21 to 2.23: Plugin load returned 2 : REASON : when loading FILE
        let (_, rest) = rest.split_once(" : ")?;
        let (reason, file) = rest.rsplit_once(" : when loading ").unwrap_or((rest, ""));
        return Some((file, reason));
    }
    if let Some(rest) = rest.strip_prefix("Could not find: ") {
        // From 2.24 on: Could not find: NAME FILE. Using internal network plugin.
        let files = rest.split(". ").next().unwrap_or(rest);
        let file = files.trim_end_matches('.').rsplit(' ').find(|word| !word.is_empty());
        return Some((file.unwrap_or_default(), "not found"));
    }
    if let Some(rest) = rest.strip_prefix("No plugin found") {
        let file = between(rest, "(", ")").unwrap_or_default();
        return Some((file, "not found"));
    }
    // From 2.28 on: FILE: REASON, as the dynamic linker says it.
    let (file, reason) = rest.split_once(": ")?;
    let is_file = file.contains(".so") && !file.contains(' ');
    is_file.then_some((file, reason))
}

/// `Loaded net plugin AWS Libfabric (v6)`.
fn loaded(rest: &str) -> Option<(&str, &str, &str)> {
    let (kind, rest) = rest.strip_prefix("Loaded ")?.split_once(" plugin ")?;
    let kind = if kind.starts_with("coll") { "collnet" } else { kind };
    let (name, version) = rest.rsplit_once(" (").unwrap_or((rest, ""));
    Some((kind, name, version.trim_end_matches(')')))
}

/// Names that NCCL looks for by default.
const DEFAULT_PLUGINS: [&str; 3] = ["libnccl-tuner.so", "libnccl-profiler.so", "libnccl-env.so"];

/// Plug-ins that are not the network: what was loaded, and what was asked for and is not there.
fn of_other(beginning: &str, rest: &str, said: Said<'_>, facts: &mut Facts) -> bool {
    let kind = match beginning {
        "TUNER/Plugin" => "tuner",
        "PROFILER/Plugin" => "profiler",
        _ => "env",
    };
    if let Some((file, _)) = not_opened(rest).filter(|(file, _)| !DEFAULT_PLUGINS.contains(file)) {
        facts.note(said, Kind::Fallback, &[&format!("{kind} plug-in not found: {file}")]);
        return true;
    }
    let Some(using) = rest.strip_prefix("Using ") else {
        return false;
    };
    let using = using.trim_start_matches("tuner plugin ");
    let (name, version) = using.rsplit_once(" (").unwrap_or((using, ""));
    let version = version.trim_end_matches(')');
    facts.note(said, Kind::PluginLoaded, &[kind, name, version]);
    true
}
