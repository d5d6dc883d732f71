//! Slurm's `topology.conf` for its tree plugin.
//!
//! Slurm wants a tree. Switches of one level that have a host or a switch below them in common are
//! one line, so every line is below one other: the spines of a pod, the boards of a director.

use super::Export;
use crate::node_set::fold;
use crate::subnet::host::{
    factory_sentences, is_aggregation_node, is_factory_description, named_host,
};
use crate::subnet::{Kind, Subnet};
use std::collections::{BTreeMap, BTreeSet, HashMap};
use std::fmt::Write;

/// Names of switches that a comment lists.
const MOST_LISTED: usize = 3;

/// The subnet as Slurm's tree of switches and hosts.
pub fn slurm(subnet: &Subnet) -> Export {
    let mut tree = SlurmTree::of(subnet);
    tree.join_roots();
    tree.leave_out_single_steps();
    tree.write()
}

/// Switches that are one line of the file.
#[derive(Default)]
struct Line {
    level: u32,
    switches: Vec<u32>,
    hosts: BTreeSet<String>,
    below: BTreeSet<usize>,
    /// Left out: what is below stands for itself.
    is_step: bool,
    /// 'The fabric', which no switch is.
    is_top: bool,
    /// Hosts of a switch above leaves: Slurm's line has hosts or switches.
    is_guests: bool,
}

struct SlurmTree<'a> {
    subnet: &'a Subnet,
    lines: Vec<Line>,
    changed: Vec<String>,
}

impl SlurmTree<'_> {
    fn of(subnet: &Subnet) -> SlurmTree<'_> {
        let levels = subnet.levels();
        let mut tree = SlurmTree { subnet, lines: Vec::new(), changed: Vec::new() };
        let mut hosts = tree.hosts_of_switches(&levels);
        let guests = tree.add_guests(&levels, &mut hosts);
        let mut line_of: HashMap<u32, usize> = HashMap::new();
        let highest = levels.iter().flatten().copied().max().unwrap_or(0);
        for level in 1..=highest {
            let is_here = |index: &u32| levels[*index as usize] == Some(level);
            let switches: Vec<u32> = (0..subnet.nodes.len() as u32).filter(is_here).collect();
            let mut below: Vec<BTreeSet<String>> = Vec::new();
            for switch in &switches {
                below.push(match level {
                    1 => hosts.get(switch).cloned().unwrap_or_default(),
                    _ => tree
                        .lines_below(level, *switch, &line_of)
                        .iter()
                        .map(usize::to_string)
                        .collect(),
                });
            }
            for group in joined(&below) {
                let mut line = Line { level, ..Line::default() };
                for member in group {
                    let switch = switches[member];
                    line.switches.push(switch);
                    line.hosts.extend(hosts.remove(&switch).unwrap_or_default());
                    if level > 1 {
                        line.below.extend(tree.lines_below(level, switch, &line_of));
                        line.below.extend(guests.get(&switch));
                    }
                }
                for switch in &line.switches {
                    line_of.insert(*switch, tree.lines.len());
                }
                tree.lines.push(line);
            }
        }
        tree
    }

    /// A line for the hosts of each switch above leaves, by switch; those on a leaf are there.
    fn add_guests(
        &mut self,
        levels: &[Option<u32>],
        hosts: &mut HashMap<u32, BTreeSet<String>>,
    ) -> BTreeMap<u32, usize> {
        let is_leaf = |switch: &u32| levels[*switch as usize] == Some(1);
        let leaves = hosts.iter().filter(|(switch, _)| is_leaf(switch));
        let mut placed: BTreeSet<String> = leaves.flat_map(|(_, names)| names.clone()).collect();
        let above: BTreeSet<u32> = hosts.keys().copied().filter(|it| !is_leaf(it)).collect();
        let mut guests = BTreeMap::new();
        for switch in above {
            let mut own = hosts.remove(&switch).unwrap_or_default();
            own.retain(|name| placed.insert(name.clone()));
            if !own.is_empty() {
                guests.insert(switch, self.lines.len());
                let (level, switches, is_guests) = (1, vec![switch], true);
                self.lines.push(Line { level, switches, hosts: own, is_guests, ..Line::default() });
            }
        }
        guests
    }

    /// By switch the hosts on it.
    fn hosts_of_switches(&mut self, levels: &[Option<u32>]) -> HashMap<u32, BTreeSet<String>> {
        let mut hosts: HashMap<u32, BTreeSet<String>> = HashMap::new();
        let mut without = 0;
        let mut alike: BTreeMap<&str, u32> = BTreeMap::new();
        for node in self.subnet.nodes.iter().filter(|node| node.kind == Kind::Ca) {
            if is_aggregation_node(&node.description) {
                continue;
            }
            let (host, _) = named_host(node);
            if !is_factory_description(&node.description) {
                *alike.entry(&node.description).or_default() += 1;
            }
            let name = plain(&host);
            if name != host {
                self.changed.push(format!("host '{host}' is written as '{name}'"));
            }
            let peers = node.ports.iter().filter_map(|port| port.peer);
            let there = peers.filter(|peer| levels[peer.node as usize].is_some_and(|it| it > 0));
            let there: BTreeSet<u32> = there.map(|peer| peer.node).collect();
            without += u32::from(there.is_empty());
            for switch in there {
                hosts.entry(switch).or_default().insert(name.clone());
            }
        }
        self.changed.extend(factory_sentences(&self.subnet.nodes));
        for (name, n_adapters) in alike.into_iter().filter(|(_, n)| *n > 1) {
            let what = format!("{n_adapters} adapters are called '{name}', which Slurm takes for");
            self.changed.push(format!("{what} one host: name them first"));
        }
        if without > 0 {
            self.changed
                .push(format!("{without} adapters without a cable to a switch are left out"));
        }
        hosts
    }

    /// Lines of lower levels that a switch has cables to.
    fn lines_below(
        &self,
        level: u32,
        switch: u32,
        line_of: &HashMap<u32, usize>,
    ) -> BTreeSet<usize> {
        let ports = self.subnet.nodes[switch as usize].ports.iter();
        let peers = ports.filter_map(|port| port.peer);
        let lines = peers.filter_map(|peer| line_of.get(&peer.node)).copied();
        lines.filter(|line| self.lines[*line].level < level).collect()
    }

    /// Lines that nothing is above: those of one part of the fabric, as groups of a dragonfly are,
    /// get a line above them.
    fn join_roots(&mut self) {
        let parts = self.subnet.parts();
        let children: BTreeSet<usize> =
            self.lines.iter().flat_map(|line| line.below.iter().copied()).collect();
        let mut roots: BTreeMap<u32, BTreeSet<usize>> = BTreeMap::new();
        for (index, line) in self.lines.iter().enumerate() {
            if !children.contains(&index) {
                roots.entry(parts[line.switches[0] as usize]).or_default().insert(index);
            }
        }
        if roots.len() > 1 {
            let n = roots.len();
            self.changed.push(format!("the fabric has {n} parts without a cable between them"));
        }
        for below in roots.into_values().filter(|below| below.len() > 1) {
            let level = 1 + below.iter().map(|line| self.lines[*line].level).max().unwrap_or(0);
            let n = below.len();
            let what = format!("{n} switches (or groups of them) are joined to one another");
            self.changed.push(format!("{what}: the line 'fabric' stands for that"));
            self.lines.push(Line { level, below, is_top: true, ..Line::default() });
        }
    }

    /// A line above one other adds nothing to that one: the spine boards above all line
    /// boards, a switch without hosts at the leaves' level.
    fn leave_out_single_steps(&mut self) {
        for index in 0..self.lines.len() {
            let below = self.lines[index].below.clone();
            let own = |line: usize| match self.lines[line].is_step {
                true => self.lines[line].below.iter().next().copied(),
                false => Some(line),
            };
            let below: BTreeSet<usize> = below.into_iter().filter_map(own).collect();
            let line = &mut self.lines[index];
            line.is_step = line.level > 1 && below.len() <= 1;
            line.below = below;
        }
    }

    fn names(&self) -> Vec<String> {
        let mut taken = BTreeSet::new();
        let mut names = Vec::new();
        for line in &self.lines {
            let wanted = match &line.switches[..] {
                [only] if line.is_guests => {
                    format!("{}-hosts", short(&self.subnet.nodes[*only as usize].description))
                }
                [only] => short(&self.subnet.nodes[*only as usize].description),
                _ if line.is_top => "fabric".to_owned(),
                _ => format!("level{}", line.level),
            };
            let many = line.switches.len() > 1;
            let numbered = (1..).map(|n| match (n, many) {
                (1, false) => wanted.clone(),
                _ => format!("{wanted}-{n}"),
            });
            let free = numbered.into_iter().find(|name| !taken.contains(name));
            let name = free.expect("numbers do not end");
            taken.insert(name.clone());
            names.push(name);
        }
        names
    }

    fn write(mut self) -> Export {
        let names = self.names();
        let mut text = "# A tree of switches and hosts for Slurm's topology/tree.\n".to_owned();
        for (line, name) in self.lines.iter().zip(&names).filter(|(line, _)| !line.is_step) {
            if line.switches.len() > 1 {
                let listed: Vec<String> = line
                    .switches
                    .iter()
                    .take(MOST_LISTED)
                    .map(|switch| short(&self.subnet.nodes[*switch as usize].description))
                    .collect();
                let n = line.switches.len();
                let listed = listed.join(", ");
                let more = if n > MOST_LISTED { ", ..." } else { "" };
                let _ = writeln!(text, "# {name}: {n} switches: {listed}{more}");
                self.changed
                    .push(format!("{n} switches of level {} are one line, '{name}'", line.level));
            }
            let _ = write!(text, "SwitchName={name}");
            if !line.hosts.is_empty() {
                let _ = write!(text, " Nodes={}", fold(line.hosts.iter().map(String::as_str)));
            }
            if !line.below.is_empty() {
                let below = line.below.iter().map(|below| &names[*below][..]);
                let _ = write!(text, " Switches={}", fold(below));
            }
            text.push('\n');
        }
        Export { text, changed: self.changed }
    }
}

/// Groups of sets that have members in common, directly or through others; in order.
fn joined(sets: &[BTreeSet<String>]) -> Vec<Vec<usize>> {
    let mut group: Vec<usize> = (0..sets.len()).collect();
    fn root(group: &mut [usize], mut at: usize) -> usize {
        while group[at] != at {
            group[at] = group[group[at]];
            at = group[at];
        }
        at
    }
    let mut first: HashMap<&str, usize> = HashMap::new();
    for (index, set) in sets.iter().enumerate() {
        for member in set {
            let other = *first.entry(member).or_insert(index);
            let (a, b) = (root(&mut group, index), root(&mut group, other));
            group[a.max(b)] = a.min(b);
        }
    }
    let mut groups: BTreeMap<usize, Vec<usize>> = BTreeMap::new();
    for index in 0..sets.len() {
        groups.entry(root(&mut group, index)).or_default().push(index);
    }
    groups.into_values().collect()
}

/// A switch's name for Slurm: of 'MF0;leaf01:MQM8700/U1' the name, with the board of a director.
fn short(description: &str) -> String {
    let parts = description.strip_prefix("MF0;").and_then(|tail| tail.split_once(':'));
    let Some((name, model)) = parts else { return plain(description) };
    match model.split('/').collect::<Vec<_>>()[..] {
        [_, board, _] => plain(&format!("{name}-{board}")),
        _ => plain(name),
    }
}

/// A name of letters that mean nothing to Slurm.
fn plain(name: &str) -> String {
    let letter = |c: char| if c.is_ascii_alphanumeric() || "-_.".contains(c) { c } else { '-' };
    name.chars().map(letter).collect()
}
