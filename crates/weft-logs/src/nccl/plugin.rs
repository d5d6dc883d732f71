//! Plug-ins: requested, found and loaded ones, with the version of their interface.
//!
//! SOURCE: NVIDIA/nccl, tags v2.14.3-1 to v2.30.7-1, net.cc and plugin/*.cc; Mellanox
//! nccl-rdma-sharp-plugins (`P2P plugin`); logs of RCCL.

use crate::facts::{Kind, Statement, Understood};
use crate::line::between;

/// Messages about the network plug-in: a beginning, and the fact of what follows it.
const BEGINNINGS: [(&str, Kind); 6] = [
    ("Plugin name set by env to ", Kind::PluginAsked),
    ("NET/Plugin: Plugin name set by env to ", Kind::PluginAsked),
    ("Plugin Path : ", Kind::PluginAsked),
    ("Successfully loaded external network plugin ", Kind::PluginAsked),
    ("External network plugin ", Kind::PluginRefused),
    ("Failed to initialize NET plugin ", Kind::PluginFailed),
];

/// A message about a plug-in.
pub(crate) fn read(text: &str, statement: &mut Statement<'_>) -> Understood {
    if let Some(name) = text.strip_prefix("NCCL_NET_PLUGIN set by environment to ") {
        statement.note(Kind::PluginAsked, &[name]);
        // The variable itself is an echo, too.
        return None;
    }
    if let Some(name) = text.strip_prefix("P2P plugin ") {
        return statement.note(Kind::PluginLoaded, &["net", name, ""]);
    }
    let known = |(beginning, kind)| Some((text.strip_prefix(beginning)?, kind));
    if let Some((name, kind)) = BEGINNINGS.into_iter().find_map(known) {
        let name = match kind {
            Kind::PluginRefused => name.split(" is unsupported").next().unwrap_or(name),
            _ => name,
        };
        return statement.note(kind, &[name]);
    }
    let (of_plugin, text) = text.split_once("/Plugin")?;
    let text = text.trim_start_matches([' ', ':']);
    match of_plugin {
        "NET" => of_network(text, statement),
        "TUNER" => of_other("tuner", text, statement),
        "PROFILER" => of_other("profiler", text, statement),
        "ENV" => of_other("env", text, statement),
        _ => None,
    }
}

fn of_network(text: &str, statement: &mut Statement<'_>) -> Understood {
    if let Some((file, reason)) = not_opened(text) {
        return statement.note(Kind::PluginMissing, &[file, reason]);
    }
    if let Some((kind, name, version)) = loaded(text) {
        return statement.note(Kind::PluginLoaded, &[kind, name, version]);
    }
    statement.note(Kind::PluginSymbol, &[between(text, "Failed to find ", " symbol")?])
}

/// File and reason, in the words of each version.
fn not_opened(text: &str) -> Option<(&str, &str)> {
    if let Some(text) = text.strip_prefix("Plugin load (") {
        // 2.14 to 2.20: Plugin load (FILE) returned 2 : REASON
        let (file, text) = text.split_once(')')?;
        return Some((file, text.split_once(" : ").map_or("", |(_, reason)| reason)));
    }
    if let Some(text) = text.strip_prefix("Plugin load returned ") {
        // 2.21 to 2.23: Plugin load returned 2 : REASON : when loading FILE
        let (_, text) = text.split_once(" : ")?;
        let (reason, file) = text.rsplit_once(" : when loading ").unwrap_or((text, ""));
        return Some((file, reason));
    }
    if let Some(text) = text.strip_prefix("Could not find: ") {
        // From 2.24 on: Could not find: NAME FILE. Using internal network plugin.
        let files = text.split(". ").next().unwrap_or(text);
        let file = files.trim_end_matches('.').rsplit(' ').find(|word| !word.is_empty());
        return Some((file.unwrap_or_default(), "not found"));
    }
    if let Some(text) = text.strip_prefix("No plugin found") {
        let file = between(text, "(", ")").unwrap_or_default();
        return Some((file, "not found"));
    }
    // From 2.28 on: FILE: REASON, in the dynamic linker's words.
    let (file, reason) = text.split_once(": ")?;
    let is_file = file.contains(".so") && !file.contains(' ');
    is_file.then_some((file, reason))
}

/// `Loaded net plugin AWS Libfabric (v6)`.
fn loaded(text: &str) -> Option<(&str, &str, &str)> {
    let (kind, plugin) = text.strip_prefix("Loaded ")?.split_once(" plugin ")?;
    let kind = if kind.starts_with("coll") { "collnet" } else { kind };
    let (name, version) = versioned(plugin);
    Some((kind, name, version))
}

/// Name and version of `AWS Libfabric (v6)`.
fn versioned(plugin: &str) -> (&str, &str) {
    let (name, version) = plugin.rsplit_once(" (").unwrap_or((plugin, ""));
    (name, version.trim_end_matches(')'))
}

/// Names that NCCL looks for by default.
const DEFAULT_PLUGINS: [&str; 3] = ["libnccl-tuner.so", "libnccl-profiler.so", "libnccl-env.so"];

/// Plug-ins that are not the network: what was loaded, and what was asked for and is not there.
fn of_other(kind: &str, text: &str, statement: &mut Statement<'_>) -> Understood {
    if let Some((file, _)) = not_opened(text).filter(|(file, _)| !DEFAULT_PLUGINS.contains(file)) {
        return statement.note(Kind::Fallback, &[&format!("{kind} plug-in not found: {file}")]);
    }
    let plugin = text.strip_prefix("Using ")?.trim_start_matches("tuner plugin ");
    let (name, version) = versioned(plugin);
    statement.note(Kind::PluginLoaded, &[kind, name, version])
}
