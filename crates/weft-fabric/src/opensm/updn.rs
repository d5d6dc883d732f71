//! Paths that never go up again once they went down.
//!
//! SOURCE: OpenSM 3.3.23, osm_ucast_updn.c.

use super::balance::Choices;
use super::error::RouteError;
use super::minhop;
use super::switches::{SwitchLink, Switches};
use crate::routing::up_down_hops::{Step, UpDownHops};

/// Hops from which OpenSM's histogram of a switch looks no further.
const MAX_HOPS: usize = 64;

/// By switch its distance from the nearest root.
pub(super) fn ranks(switches: &Switches, roots: &[u64]) -> Result<Vec<u32>, RouteError> {
    let roots = if roots.is_empty() { found(switches)? } else { named(switches, roots)? };
    Ok(switches.steps_from(roots))
}

/// The switches of given GUIDs.
pub(super) fn named(switches: &Switches, roots: &[u64]) -> Result<Vec<usize>, RouteError> {
    let number = |guid: &u64| {
        let found =
            switches.guids.binary_search_by_key(&guid.swap_bytes(), |known| known.swap_bytes());
        found.map_err(|_| RouteError::UnknownRoot { guid: *guid })
    };
    let mut found: Vec<usize> = roots.iter().map(number).collect::<Result<_, _>>()?;
    found.sort_unstable();
    found.dedup();
    Ok(found)
}

/// Switches from which more than nine in ten adapters are equally far, and no other distance has
/// more than one in twenty.
fn found(switches: &Switches) -> Result<Vec<usize>, RouteError> {
    let n_ends: usize = switches.ends.iter().map(Vec::len).sum();
    let (most, few) = (n_ends as f64 * 0.9, n_ends as f64 * 0.05);
    let mut hops = minhop::MinHops::new(switches);
    let mut roots = Vec::new();
    for switch in 0..switches.len() {
        let mut histogram = [0; MAX_HOPS];
        for (ends, distance) in switches.ends.iter().zip(hops.least(switch)) {
            if let Some(bar) = histogram.get_mut(usize::from(*distance)) {
                *bar += ends.len();
            }
        }
        let n_above = |bound: f64| histogram.iter().filter(|bar| **bar as f64 > bound).count();
        if n_above(most) == 1 && n_above(few) == 1 {
            roots.push(switch);
        }
    }
    if roots.is_empty() {
        return Err(RouteError::NoRoot { n_switches: switches.len() });
    }
    Ok(roots)
}

/// Hops to a switch on legal paths, by link.
pub(super) struct LegalHops<'a> {
    switches: &'a Switches,
    hops: UpDownHops,
}

impl<'a> LegalHops<'a> {
    pub(super) fn new(switches: &'a Switches, ranks: &[u32]) -> LegalHops<'a> {
        let step = |at: usize, link: &SwitchLink| Step {
            to: link.to,
            back: link.back,
            is_up: leads_up(switches, ranks, at, link.to as usize),
        };
        let of = |at: usize| switches.links_of(at).iter().map(move |link| step(at, link));
        let steps = (0..switches.len()).flat_map(of).collect();
        LegalHops { switches, hops: UpDownHops::new(switches.first.clone(), steps) }
    }

    /// For every switch the cables on which `to` is nearest by legal paths.
    pub(super) fn toward(&mut self, to: usize, choices: &mut Choices) {
        self.hops.aim_at(to);
        choices.clear();
        for at in 0..self.switches.len() {
            choices.extend(self.hops.nearest(at).map(|number| number as u8));
            choices.close();
        }
    }
}

/// Whether a step from a switch to its neighbour goes up: to a lower rank; among equals to the
/// lower GUID, and between roots always.
pub(super) fn leads_up(switches: &Switches, ranks: &[u32], at: usize, to: usize) -> bool {
    match ranks[at].cmp(&ranks[to]) {
        _ if ranks[at] == 0 && ranks[to] == 0 => true,
        std::cmp::Ordering::Less => false,
        std::cmp::Ordering::Greater => true,
        std::cmp::Ordering::Equal => switches.guids[at] > switches.guids[to],
    }
}
