//! Slurm's `topology.conf` for the tree plugin, and what `scontrol show topology` prints of it.
//!
//! SOURCE: SchedMD, topology.conf(5): keys in any case of letters, comments from '#', a backslash
//! at the end goes on with the next line.

use super::format::{Format, MAX_TEXT_BYTES};
use super::lines::Lines;
use crate::node_set::{MAX_NAMES, expand_at_most};
use crate::subnet::records::{Gathered, Place, TreeSwitch};
use std::io;

pub(crate) const FORMAT: Format =
    Format { name: "topology.conf", is_it, max_bytes: MAX_TEXT_BYTES, read };

const EXPECTED: &str = "SwitchName=NAME with Nodes=SET or Switches=SET, such as Nodes=c[001-044]";
/// A line with all that continue it.
const MAX_STATEMENT_BYTES: usize = 1 << 22;

fn is_it(head: &str) -> bool {
    let lines = head.lines().map(|line| line.split('#').next().unwrap_or_default().trim());
    let first = lines.into_iter().find(|line| !line.is_empty()).unwrap_or_default();
    first.get(..11).is_some_and(|key| key.eq_ignore_ascii_case("SwitchName="))
}

fn read(lines: &mut Lines<'_>, gathered: &mut Gathered) -> io::Result<()> {
    // A file of many lines may not name more than one line may.
    let mut left = MAX_NAMES;
    while let Some((place, statement)) = statement(lines)? {
        if statement.trim().is_empty() {
            continue;
        }
        match switch(&statement, &mut left) {
            Ok(switch) => gathered.tree.push(switch),
            Err(expected) => gathered.unread(place, &statement, expected),
        }
    }
    Ok(())
}

/// The next line with those that continue it, without comments, and the place of its first.
fn statement(lines: &mut Lines<'_>) -> io::Result<Option<(Place, String)>> {
    let mut whole = String::new();
    let mut first = None;
    while let Some((place, text)) = lines.next_text()? {
        let first = *first.get_or_insert(place);
        let plain = text.split('#').next().unwrap_or_default().trim_end();
        let (plain, goes_on) = match plain.strip_suffix('\\') {
            Some(before) => (before, true),
            None => (plain, false),
        };
        whole.push_str(plain);
        if !goes_on || whole.len() > MAX_STATEMENT_BYTES {
            return Ok(Some((first, whole)));
        }
        whole.push(' ');
    }
    Ok(first.map(|place| (place, whole)))
}

/// The switch of a statement, or what was expected instead; its sets may have so many names more.
fn switch(statement: &str, left: &mut usize) -> Result<TreeSwitch, String> {
    let mut switch = TreeSwitch::default();
    let mut level = 0u32;
    for word in statement.split_whitespace() {
        let (key, value) = word.split_once('=').ok_or(EXPECTED)?;
        let value = value.trim_matches('"');
        let mut set = || {
            let names = expand_at_most(value, *left);
            let names = names.map_err(|what| format!("a set of names: {what}"))?;
            *left -= names.len();
            Ok::<_, String>(names)
        };
        match key.to_ascii_lowercase().as_str() {
            "switchname" if switch.name.is_empty() => switch.name = value.to_owned(),
            "nodes" if switch.nodes.is_empty() => switch.nodes = set()?,
            "switches" if switch.switches.is_empty() => switch.switches = set()?,
            "linkspeed" if switch.link_speed.is_none() => {
                switch.link_speed = Some(value.parse().map_err(|_| "LinkSpeed as a number")?);
            }
            "level" => level = value.parse().map_err(|_| "Level as a number")?,
            "switchname" | "nodes" | "switches" | "linkspeed" => {
                return Err(format!("{key} once in a line"));
            }
            _ => return Err(EXPECTED.to_owned()),
        }
    }
    if level > 0 && !switch.switches.is_empty() {
        // scontrol lists all nodes below, not only those on the switch.
        switch.nodes.clear();
    }
    if switch.name.is_empty() || (switch.nodes.is_empty() && switch.switches.is_empty()) {
        return Err(EXPECTED.to_owned());
    }
    Ok(switch)
}
