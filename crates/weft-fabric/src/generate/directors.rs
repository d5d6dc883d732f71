//! Generated trees of leaves below directors: large switches that are trees of boards inside.

use super::Admission;
use super::draft::{CableSpec, Draft, switch};
use super::keys::{
    at_least_one, limit_links, one, port, refuse_keys, require_counts, require_key, spec,
    switch_name,
};
use crate::document::FabricDocument;
use crate::error::FabricError;
use crate::units::{BitsPerSecond, Picoseconds};
use serde::Deserialize;

spec! {
    /// `{"generate": "directors", ...}` of docs/reference/scenario.md.
    pub struct DirectorsSpec {
        /// Compute nodes.
        pub nodes: u32,
        /// HCAs a node, all on the node's leaf switch.
        #[serde(default = "one")]
        pub hcas_per_node: u32,
        /// Nodes below one leaf.
        pub nodes_per_leaf: u32,
        /// How many directors.
        pub directors: u32,
        /// Parallel cables from each leaf to each director.
        pub cables_per_director: u32,
        /// The known inside of a director.
        pub inside: Inside,
        /// Ports of a board's switch.
        pub board_ports: Option<u32>,
        /// Ports of a line board to leaves; the others lead to spine boards. Half without it.
        pub line_board_down: Option<u32>,
        /// Spine boards of a director, as many as a line board has ports up without it.
        pub spine_boards: Option<u32>,
        /// Rate of HCA cables.
        pub host_bits_per_s: BitsPerSecond,
        /// Rate of cables between leaves and directors.
        pub switch_bits_per_s: BitsPerSecond,
        /// Rate between boards, where it is another.
        pub inside_bits_per_s: Option<BitsPerSecond>,
        /// Delay of HCA cables.
        pub host_delay_ps: Picoseconds,
        /// Delay of cables between leaves and directors.
        pub switch_delay_ps: Picoseconds,
        /// Delay between boards.
        pub inside_delay_ps: Option<Picoseconds>,
    }
}

/// The model of a director.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Deserialize)]
#[serde(rename_all = "snake_case")]
pub enum Inside {
    /// Line boards below spine boards, every two of them joined.
    Boards,
    /// One switch with a port for every cable.
    OneSwitch,
}

/// The boards of every director.
struct Boards {
    ports: u32,
    /// Ports of a line board to leaves and to spine boards.
    down: u32,
    up: u32,
    lines: u32,
    spines: u32,
}

/// The document of generated leaves below directors.
pub fn directors(spec: &DirectorsSpec, admit: Admission) -> Result<FabricDocument, FabricError> {
    require_counts!(spec, nodes, hcas_per_node, nodes_per_leaf, directors, cables_per_director);
    let n_leaves = spec.nodes.div_ceil(spec.nodes_per_leaf);
    let down = u64::from(spec.nodes_per_leaf) * u64::from(spec.hcas_per_node);
    let up = u64::from(spec.directors) * u64::from(spec.cables_per_director);
    limit_links((down + up).saturating_mul(u64::from(n_leaves)))?;
    let boards = boards(spec, n_leaves * spec.cables_per_director)?;
    build(spec, n_leaves, boards.as_ref(), admit)
}

/// The boards of a director that takes so many cables; none where it is one switch.
fn boards(spec: &DirectorsSpec, n_cables: u32) -> Result<Option<Boards>, FabricError> {
    if spec.inside == Inside::OneSwitch {
        let of = "a director that is one switch";
        refuse_keys!(spec, of, board_ports, line_board_down, spine_boards, inside_bits_per_s);
        refuse_keys!(spec, of, inside_delay_ps);
        return Ok(None);
    }
    let ports = require_key!(spec, "a director of boards", board_ports);
    let down = at_least_one("line_board_down", spec.line_board_down.unwrap_or(ports / 2))?;
    let up = ports.checked_sub(down).filter(|up| *up > 0).ok_or_else(|| {
        let what = format!("{down} of {ports} ports of a line board go to leaves");
        let expected = "a port of a line board that goes up";
        FabricError::document("fabric.line_board_down", what, expected)
    })?;
    let spines = at_least_one("spine_boards", spec.spine_boards.unwrap_or(up))?;
    let lines = n_cables.div_ceil(down);
    if !up.is_multiple_of(spines) {
        let what = format!("{up} ports of a line board to {spines} spine boards");
        let expected = "equally many to each";
        return Err(FabricError::document("fabric.spine_boards", what, expected));
    }
    if u64::from(lines) * u64::from(up / spines) > u64::from(ports) {
        let what = format!("{lines} line boards below a spine board of {ports} ports");
        let expected = "a port of each spine board for each cable from a line board";
        return Err(FabricError::document("fabric.board_ports", what, expected));
    }
    let of_all = u64::from(spec.directors) * u64::from(lines) * u64::from(up);
    limit_links(of_all)?;
    Ok(Some(Boards { ports, down, up, lines, spines }))
}

fn build(
    spec: &DirectorsSpec,
    n_leaves: u32,
    boards: Option<&Boards>,
    admit: Admission,
) -> Result<FabricDocument, FabricError> {
    let mut built = spec.draft("directors", spec.nodes, admit);
    built.document.assumed.push(guess(spec, boards));
    let down = spec.nodes_per_leaf * spec.hcas_per_node;
    let up = spec.directors * spec.cables_per_director;
    for index in 0..n_leaves {
        built.switch(switch(switch_name("leaf", index, n_leaves), down + up, 1))?;
    }
    for index in 0..spec.directors {
        let name = switch_name("director", index, spec.directors);
        match boards {
            None => built.switch(switch(name, n_leaves * spec.cables_per_director, 2))?,
            Some(boards) => add_boards(&mut built, &name, boards)?,
        }
    }
    let cable = CableSpec { rate: spec.host_bits_per_s, delay: spec.host_delay_ps };
    for index in 0..spec.nodes {
        let (leaf, place) = (index / spec.nodes_per_leaf, index % spec.nodes_per_leaf);
        let first = place * spec.hcas_per_node + 1;
        let hca = |rail| (format!("hca{rail}"), port("leaf", leaf, n_leaves, first + rail));
        built.node((0..spec.hcas_per_node).map(hca), cable);
    }
    let cable = CableSpec { rate: spec.switch_bits_per_s, delay: spec.switch_delay_ps };
    for (leaf, up) in (0..n_leaves).flat_map(|leaf| (0..up).map(move |up| (leaf, up))) {
        // Round the directors, as round the spines of a fat-tree.
        let (director, parallel) = (up % spec.directors, up / spec.directors);
        let number = leaf * spec.cables_per_director + parallel;
        let name = switch_name("director", director, spec.directors);
        let there = match boards {
            None => format!("{name}[{}]", number + 1),
            Some(boards) => {
                let line =
                    port("line", number / boards.down, boards.lines, 1 + number % boards.down);
                format!("{name}/{line}")
            }
        };
        built.cable(port("leaf", leaf, n_leaves, down + up + 1), there, cable);
    }
    if let Some(boards) = boards {
        join_boards(spec, &mut built, boards);
    }
    Ok(built.document)
}

fn guess(spec: &DirectorsSpec, boards: Option<&Boards>) -> String {
    let n = spec.directors;
    match boards {
        None => format!("the {n} directors: each is taken for one switch without an inside"),
        Some(Boards { down, up, lines, spines, .. }) => format!(
            "the inside of the {n} directors: {lines} line boards of {down} ports down and {up} \
             up, {spines} spine boards, and cables on the boards in the order of leaves"
        ),
    }
}

fn add_boards(built: &mut Draft, director: &str, boards: &Boards) -> Result<(), FabricError> {
    for (kind, count, level) in [("line", boards.lines, 2), ("spine", boards.spines, 3)] {
        for index in 0..count {
            let name = format!("{director}/{}", switch_name(kind, index, count));
            built.switch(switch(name, boards.ports, level))?;
        }
    }
    Ok(())
}

fn join_boards(spec: &DirectorsSpec, built: &mut Draft, boards: &Boards) {
    let cable = CableSpec {
        rate: spec.inside_bits_per_s.unwrap_or(spec.switch_bits_per_s),
        delay: spec.inside_delay_ps.unwrap_or(Picoseconds(0)),
    };
    let parallel = boards.up / boards.spines;
    for director in 0..spec.directors {
        let director = switch_name("director", director, spec.directors);
        for (line, up) in (0..boards.lines).flat_map(|l| (0..boards.up).map(move |up| (l, up))) {
            let (spine, number) = (up % boards.spines, line * parallel + up / boards.spines + 1);
            let here = port("line", line, boards.lines, boards.down + up + 1);
            let there = port("spine", spine, boards.spines, number);
            built.cable(format!("{director}/{here}"), format!("{director}/{there}"), cable);
        }
    }
}
