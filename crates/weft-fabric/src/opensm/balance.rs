//! Balance among equally good ports: a LID gets the port with the fewest paths so far.
//!
//! SOURCE: OpenSM 3.3.23, osm_ucast_mgr.c and osm_switch.c. Destinations are handed out in one
//! order for all switches: adapters' ports by switch, the switches with the most of them first, and
//! then the switches' own LIDs, which count for nothing. Further LIDs of a port (LMC) come later.

use super::switches::{HostPort, SwitchLink, Switches};
use crate::subnet::Lfts;

/// For one destination and every switch the cables that may lead there: numbers of its links.
#[derive(Debug, Default)]
pub(super) struct Choices {
    ends: Vec<u32>,
    links: Vec<u8>,
}

impl Choices {
    pub(super) fn clear(&mut self) {
        self.ends.clear();
        self.links.clear();
    }

    /// Some more for the current switch.
    pub(super) fn extend(&mut self, links: impl Iterator<Item = u8>) {
        self.links.extend(links);
    }

    /// The current switch has all; the next one follows.
    pub(super) fn close(&mut self) {
        self.ends.push(self.links.len() as u32);
    }

    fn of(&self, switch: usize) -> &[u8] {
        let first = if switch == 0 { 0 } else { self.ends[switch - 1] };
        &self.links[first as usize..self.ends[switch] as usize]
    }
}

/// The tables of all switches; `toward` gives the choices for a switch as destination. An entry of
/// the tables `before` stays if it is among its choices.
pub(super) fn rows(
    switches: &Switches,
    before: Option<&Lfts>,
    mut toward: impl FnMut(usize, &mut Choices),
) -> Vec<Vec<u8>> {
    let counts = vec![0; switches.links.len()];
    let mut hand = Hand { switches, before, counts, rows: switches.empty_rows() };
    let mut order: Vec<usize> = (0..switches.len()).collect();
    // INVARIANT: stable, as the C library's sort of so few elements is.
    order.sort_by_key(|switch| std::cmp::Reverse(switches.ends[*switch].len()));
    let mut choices = Choices::default();
    for offset in 0..1u16 << switches.lmc {
        for to in order.iter().filter(|to| !switches.ends[**to].is_empty()) {
            toward(*to, &mut choices);
            for at in 0..switches.len() {
                hand.endports(at, *to, choices.of(at), offset);
            }
        }
        // A switch has one LID: its turn is after the adapters' first ones.
        for to in (0..switches.len()).filter(|_| offset == 0) {
            toward(to, &mut choices);
            for at in 0..switches.len() {
                hand.switch(at, to, choices.of(at));
            }
        }
    }
    hand.rows
}

struct Hand<'a> {
    switches: &'a Switches,
    before: Option<&'a Lfts>,
    /// Paths by link, counted over all switches.
    counts: Vec<u32>,
    rows: Vec<Vec<u8>>,
}

impl Hand<'_> {
    /// The adapters' ports of a switch in the table of another.
    fn endports(&mut self, at: usize, to: usize, choices: &[u8], offset: u16) {
        let links = self.switches.links_of(at);
        let counts = &mut self.counts[self.switches.first[at] as usize..][..links.len()];
        let row = &mut self.rows[at];
        let reached = |end: &&HostPort| end.lid > 0 && offset < 1 << end.lmc;
        for end in self.switches.ends[to].iter().filter(reached) {
            let Some(slot) = row.get_mut(usize::from(end.lid) + usize::from(offset)) else {
                continue;
            };
            if at == to {
                *slot = end.port;
                continue;
            }
            let stays = stays(self.before, self.switches, at, end.lid + offset, choices);
            let chosen = if stays.is_some() {
                stays
            } else if offset == 0 {
                fewest(choices, counts)
            } else {
                let lid = usize::from(end.lid);
                let earlier = &row[lid..lid + usize::from(offset)];
                elsewhere(self.switches, links, choices, counts, earlier)
            };
            if let Some(chosen) = chosen {
                counts[usize::from(chosen)] += 1;
                row[usize::from(end.lid) + usize::from(offset)] = links[usize::from(chosen)].port;
            }
        }
    }

    fn switch(&mut self, at: usize, to: usize, choices: &[u8]) {
        let links = self.switches.links_of(at);
        let counts = &self.counts[self.switches.first[at] as usize..][..links.len()];
        let lid = self.switches.lids[to];
        let slot = &mut self.rows[at][usize::from(lid)];
        let stays = stays(self.before, self.switches, at, lid, choices);
        if at == to {
            *slot = 0;
        } else if let Some(chosen) = stays.or_else(|| fewest(choices, counts)) {
            *slot = links[usize::from(chosen)].port;
        }
    }
}

/// The choice that the tables before have for a LID, if it is one.
fn stays(
    before: Option<&Lfts>,
    switches: &Switches,
    at: usize,
    lid: u16,
    choices: &[u8],
) -> Option<u8> {
    let port = before?.port(switches.nodes[at] as usize, lid)?;
    let links = switches.links_of(at);
    choices.iter().copied().find(|choice| links[usize::from(*choice)].port == port)
}

/// The first of the choices with the fewest paths.
fn fewest(choices: &[u8], counts: &[u32]) -> Option<u8> {
    choices.iter().copied().min_by_key(|choice| counts[usize::from(*choice)])
}

/// The choice for a further LID of the same port: a system, or at least a switch, that no earlier
/// LID of it goes through; of such, or of all, the one with the fewest paths. Ports are tried from
/// the one after the last LID's.
fn elsewhere(
    switches: &Switches,
    links: &[SwitchLink],
    choices: &[u8],
    counts: &[u32],
    earlier: &[u8],
) -> Option<u8> {
    let taken: Vec<u32> = earlier
        .iter()
        .filter_map(|port| links.iter().find(|link| link.port == *port).map(|link| link.to))
        .collect();
    let system = |switch: u32| switches.systems[switch as usize];
    let last = *earlier.last()?;
    let start = choices.partition_point(|choice| links[usize::from(*choice)].port <= last);
    let mut best = Best::default();
    for choice in choices[start..].iter().chain(&choices[..start]).copied() {
        let there = links[usize::from(choice)].to;
        let count = counts[usize::from(choice)];
        let n_taken = taken.iter().filter(|switch| **switch == there).count();
        let same_system = taken.iter().any(|switch| system(*switch) == system(there));
        let through = match (same_system, n_taken) {
            (false, _) => best.note(Best::SYSTEM, choice, count),
            (true, 0) => best.note(Best::SWITCH, choice, count),
            (true, n_taken) => Some(n_taken),
        };
        best.weigh(choice, count, through);
    }
    best.chosen()
}

/// The best choices so far, by how far they lead from the earlier LIDs' paths.
#[derive(Default)]
struct Best {
    apart: [Option<(u8, u32)>; 2],
    any: Option<(u8, u32)>,
    least_through: Option<usize>,
}

impl Best {
    const SYSTEM: usize = 0;
    const SWITCH: usize = 1;

    /// A choice that leads through another system or switch.
    fn note(&mut self, apart: usize, choice: u8, count: u32) -> Option<usize> {
        let best = &mut self.apart[apart];
        if best.is_none_or(|(_, least)| count < least) {
            *best = Some((choice, count));
            self.least_through = Some(0);
        }
        None
    }

    /// Any choice; `through`: how many earlier LIDs go through the same switch.
    fn weigh(&mut self, choice: u8, count: u32, through: Option<usize>) {
        let fewer = through.filter(|n| self.least_through.is_none_or(|least| *n < least));
        match self.any {
            Some((_, least)) if count > least => {}
            Some((_, least)) if count == least && fewer.is_none() => {}
            _ => {
                self.any = Some((choice, count));
                self.least_through = fewer.or(self.least_through);
            }
        }
    }

    fn chosen(self) -> Option<u8> {
        self.apart[Best::SYSTEM].or(self.apart[Best::SWITCH]).or(self.any).map(|(choice, _)| choice)
    }
}
