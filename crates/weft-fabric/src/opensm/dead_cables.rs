//! Tables after cables died, of a subnet manager that goes on.
//!
//! SOURCE: OpenSM 3.3.23, osm_switch.c: an entry that is still one of the best stays; and
//! osm_ucast_mgr.c: minhop routes where an engine gives up.

use super::error::RouteError;
use super::minhop::{MinHops, NO_PATH};
use super::switches::Switches;
use super::{OpensmEngine, Options, route_from};
use crate::subnet::lfts::NO_PORT;
use crate::subnet::{End, Lfts, Subnet};

/// New tables, and what filled them.
#[derive(Clone, Debug, PartialEq)]
pub struct Rerouted {
    /// The tables.
    pub lfts: Lfts,
    /// The engine, minhop where the one that was asked for gave up; none where only entries over
    /// dead cables moved.
    pub engine: Option<OpensmEngine>,
}

/// The tables of a subnet once the cables at the ports `dead` are down, by an engine of OpenSM; by
/// none of its engines, entries over these cables move to the port with the fewest entries of those
/// with the fewest hops.
pub fn reroute(
    subnet: &Subnet,
    before: &Lfts,
    engine: Option<OpensmEngine>,
    options: &Options,
    dead: &[End],
) -> Result<Rerouted, RouteError> {
    let cut = without(subnet, dead);
    let Some(engine) = engine else {
        return Ok(Rerouted { lfts: moved(&cut, before)?, engine: None });
    };
    let routed = route_from(&cut, engine, options, Some(before));
    let (routed, engine) = match routed {
        Ok(routed) => (routed, engine),
        Err(_) => {
            let engine = OpensmEngine::Minhop;
            (route_from(&cut, engine, &Options::default(), Some(before))?, engine)
        }
    };
    Ok(Rerouted { lfts: routed.lfts, engine: Some(engine) })
}

fn without(subnet: &Subnet, dead: &[End]) -> Subnet {
    let mut cut = subnet.clone();
    let both = dead.iter().flat_map(|end| [Some(*end), subnet.peer(*end)]);
    for end in both.flatten() {
        let ports = &mut cut.nodes[end.node as usize].ports;
        if let Some(port) = ports.get_mut(usize::from(end.port).wrapping_sub(1)) {
            port.peer = None;
        }
    }
    cut
}

/// Tables whose entries lead over cables that are there; of a destination that they then send in a
/// circle, all entries lead by the fewest hops.
fn moved(cut: &Subnet, before: &Lfts) -> Result<Lfts, RouteError> {
    let switches = Switches::new(cut)?;
    let mut rows: Vec<Vec<u8>> = switches
        .nodes
        .iter()
        .map(|node| before.row(*node as usize).unwrap_or(&[]).to_vec())
        .collect();
    let mut counts = counts_of(&switches, &rows);
    let mut hops = MinHops::new(&switches);
    for to in 0..switches.len() {
        let least = hops.least(to).to_vec();
        let own = switches.ends[to].iter().map(|end| (end.lid, 1u16 << end.lmc));
        let lids = own.chain([(switches.lids[to], 1)]).flat_map(|(lid, n)| lid..lid + n);
        for lid in lids.filter(|lid| *lid > 0) {
            let mut table = Moves { switches: &switches, least: &least, counts: &mut counts, lid };
            let broken: Vec<usize> =
                (0..rows.len()).filter(|at| table.is_broken(&rows, *at, to)).collect();
            broken.iter().for_each(|at| table.choose(&mut rows, *at));
            if !broken.is_empty() && !table.all_arrive(&rows, to) {
                (0..rows.len()).filter(|at| *at != to).for_each(|at| table.choose(&mut rows, at));
            }
        }
    }
    let mut lfts = Lfts::new(cut.nodes.len());
    for (node, row) in switches.nodes.iter().zip(rows) {
        lfts.set_row(*node as usize, row);
    }
    Ok(lfts)
}

/// By switch and port: how many entries lead there.
fn counts_of(switches: &Switches, rows: &[Vec<u8>]) -> Vec<[u32; 256]> {
    let mut counts = vec![[0u32; 256]; switches.len()];
    for (count, row) in counts.iter_mut().zip(rows) {
        row.iter().for_each(|port| count[usize::from(*port)] += 1);
    }
    counts
}

/// The entries of one LID.
struct Moves<'a> {
    switches: &'a Switches,
    /// By switch the fewest hops to the LID's.
    least: &'a [u8],
    counts: &'a mut [[u32; 256]],
    lid: u16,
}

impl Moves<'_> {
    fn port(&self, rows: &[Vec<u8>], at: usize) -> Option<u8> {
        rows[at].get(usize::from(self.lid)).copied().filter(|port| *port != NO_PORT)
    }

    /// Whether an entry leads over no cable that is there, and another port would lead on.
    fn is_broken(&self, rows: &[Vec<u8>], at: usize, to: usize) -> bool {
        let Some(port) = self.port(rows, at).filter(|_| at != to) else { return false };
        self.least[at] != NO_PATH && !self.switches.links_of(at).iter().any(|it| it.port == port)
    }

    /// Take the port with the fewest entries of those with the fewest hops, unless the entry is one
    /// of them.
    fn choose(&mut self, rows: &mut [Vec<u8>], at: usize) {
        let now = self.port(rows, at);
        let counts = &mut self.counts[at];
        let links = self.switches.links_of(at).iter();
        let next = self.least[at].wrapping_sub(1);
        let closer = links.filter(|link| self.least[link.to as usize] == next);
        if closer.clone().any(|link| Some(link.port) == now) {
            return;
        }
        let least = closer.min_by_key(|link| counts[usize::from(link.port)]);
        let Some(link) = least else { return };
        if let Some(entry) = rows[at].get_mut(usize::from(self.lid)) {
            counts[usize::from(*entry)] -= 1;
            counts[usize::from(link.port)] += 1;
            *entry = link.port;
        }
    }

    fn all_arrive(&self, rows: &[Vec<u8>], to: usize) -> bool {
        let arrives = |from: usize| {
            let mut at = from;
            for _ in 0..rows.len() {
                if at == to {
                    return true;
                }
                let Some(port) = self.port(rows, at) else { return true };
                let link = self.switches.links_of(at).iter().find(|link| link.port == port);
                let Some(link) = link else { return true };
                at = link.to as usize;
            }
            false
        };
        (0..rows.len()).all(arrives)
    }
}
