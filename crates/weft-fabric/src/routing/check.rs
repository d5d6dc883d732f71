//! Checks before a simulation: every route arrives, and no credit loop exists.

use super::candidates::Candidates;
use super::channels::{Channel, Channels, MAX_RAISES};
use super::reach::{Arrival, Reach};
use super::routes::{Routes, unreachable};
use crate::error::FabricError;
use crate::fabric::Fabric;
use crate::ids::{HcaId, SwitchId, VertexId};

/// Everything a packet may do.
#[derive(Clone, Copy, Debug)]
pub struct Plan<'a> {
    /// The tables.
    pub routes: &'a Routes,
    /// Ports to choose from, where something chooses.
    pub candidates: Option<&'a Candidates>,
    /// Detours over a third group.
    pub detours: bool,
    /// Whether the virtual lane rises at each hop between groups.
    pub raised: bool,
}

/// Check the routes among `hcas`: each ends at its destination, and the dependencies between the
/// channels they use (Dally & Seitz 1987) have no cycle.
pub fn check_routes(fabric: &Fabric, routes: &Routes, hcas: &[HcaId]) -> Result<(), FabricError> {
    let plan = Plan { routes, candidates: None, detours: false, raised: false };
    check_plan(fabric, plan, hcas).map(|_| ())
}

/// The findings of [`examine`] about routes that all arrive.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Findings {
    /// How many virtual lanes packets of one service level take.
    pub n_lanes: usize,
    /// The credit loop, if there is one.
    pub credit_loop: Option<FabricError>,
}

/// Check everything packets may do among `hcas`: table or choice, detours and lane changes
/// included. How many virtual lanes that takes for one service level.
pub fn check_plan(fabric: &Fabric, plan: Plan<'_>, hcas: &[HcaId]) -> Result<usize, FabricError> {
    let findings = examine(fabric, plan, hcas)?;
    findings.credit_loop.map_or(Ok(findings.n_lanes), Err)
}

/// The same, where a credit loop may be wanted.
pub fn examine(fabric: &Fabric, plan: Plan<'_>, hcas: &[HcaId]) -> Result<Findings, FabricError> {
    let mut channels = Channels::new(fabric, plan.raised, MAX_RAISES)?;
    spread(fabric, plan, hcas, &mut channels, Arrival::Required)?;
    let credit_loop = cycle_of(fabric, &channels).map(|cycle| FabricError::CreditLoop { cycle });
    Ok(Findings { n_lanes: channels.highest + 1, credit_loop })
}

/// The credit loop of routes that need not all arrive: cables have died, and what they cut off is
/// discarded. Lanes are raised up to the last of `n_lanes` for one service level. The egress ports
/// of the loop in order, none where there is no loop; an error where the search would be too large.
pub fn credit_loop(
    fabric: &Fabric,
    plan: Plan<'_>,
    hcas: &[HcaId],
    n_lanes: usize,
) -> Result<Option<String>, FabricError> {
    let mut channels = Channels::new(fabric, plan.raised, n_lanes)?;
    spread(fabric, plan, hcas, &mut channels, Arrival::Open)?;
    Ok(cycle_of(fabric, &channels))
}

fn spread(
    fabric: &Fabric,
    plan: Plan<'_>,
    hcas: &[HcaId],
    channels: &mut Channels<'_>,
    arrival: Arrival,
) -> Result<(), FabricError> {
    walk_tables(fabric, plan.routes, hcas, channels, arrival)?;
    let Some(candidates) = plan.candidates else { return Ok(()) };
    Reach::new(fabric, plan.routes, candidates, hcas, arrival).spread(channels, plan.detours)
}

fn cycle_of(fabric: &Fabric, channels: &Channels<'_>) -> Option<String> {
    let mut cycle = channels.find_cycle()?;
    cycle.push(cycle[0]);
    let several = channels.n_raises() > 1;
    let names: Vec<String> = cycle.iter().map(|c| name(fabric, *c, several)).collect();
    Some(names.join(" -> "))
}

fn name(fabric: &Fabric, (port, raise): Channel, several: bool) -> String {
    let port = fabric.port_name(crate::ids::PortId(port));
    if several { format!("{port} (raised {raise})") } else { port }
}

/// Walk from everywhere to everywhere by the tables alone.
fn walk_tables(
    fabric: &Fabric,
    routes: &Routes,
    hcas: &[HcaId],
    channels: &mut Channels<'_>,
    arrival: Arrival,
) -> Result<(), FabricError> {
    let sources = sources(fabric, hcas, arrival)?;
    let n_states = fabric.n_switches() as usize * channels.n_raises();
    let mut walk = Walk { fabric, routes, stamp: 0, seen: vec![(0, 0); n_states] };
    for dst in hcas {
        walk.stamp += 1;
        for pair in &sources {
            // Two HCAs of each switch stand for all: one of them may be the destination.
            let src = pair.iter().find(|src| *src != dst);
            let followed = src.map_or(Ok(()), |src| walk.follow(*src, *dst, channels));
            if arrival == Arrival::Required {
                followed?;
            }
        }
    }
    Ok(())
}

/// The HCAs to walk from: up to two of each switch. The HCAs of a switch differ only in their own
/// cables, and no packet waits for those.
fn sources(
    fabric: &Fabric,
    hcas: &[HcaId],
    arrival: Arrival,
) -> Result<Vec<Vec<HcaId>>, FabricError> {
    let mut sources: Vec<Vec<HcaId>> = vec![Vec::new(); fabric.vertices.len()];
    for src in hcas {
        let Some(next) = fabric.neighbour(fabric.hca_port(*src)) else {
            match hcas.iter().find(|dst| *dst != src) {
                Some(dst) if arrival == Arrival::Required => {
                    return Err(unreachable(fabric, *src, *dst, src.vertex()));
                }
                _ => continue,
            }
        };
        if sources[next.index()].len() < 2 {
            sources[next.index()].push(*src);
        }
    }
    sources.retain(|there| !there.is_empty());
    Ok(sources)
}

/// Walks towards one destination at a time; a switch is walked from once a destination and lane.
struct Walk<'a> {
    fabric: &'a Fabric,
    routes: &'a Routes,
    stamp: u32,
    /// By switch and raise: the walk towards which destination saw it, and whose walk, so that a
    /// circle is distinguished from a junction.
    seen: Vec<(u32, u32)>,
}

impl Walk<'_> {
    fn follow(
        &mut self,
        src: HcaId,
        dst: HcaId,
        channels: &mut Channels<'_>,
    ) -> Result<(), FabricError> {
        let mut at = channels.far(self.fabric.hca_port(src).0).expect("a cable that is up");
        let mut came_by: Option<Channel> = None;
        while at != dst.vertex() {
            let error = || unreachable(self.fabric, src, dst, at);
            let switch = self.fabric.switch(at).ok_or_else(error)?;
            let number = self.routes.number(switch, dst).checked_sub(1).ok_or_else(error)?;
            let port = self.fabric.vertices[at.index()].first_port.0 + number;
            let next: VertexId = channels.far(port).ok_or_else(error)?;
            if let Some(previous) = came_by {
                channels.add(previous, number as u16);
            }
            let raise = came_by.map_or(0, |(_, raise)| raise);
            let state = switch.index() * channels.n_raises() + raise;
            if self.seen[state].0 == self.stamp {
                return self.junction(src, switch, dst, state);
            }
            self.seen[state] = (self.stamp, src.0);
            came_by = Some(channels.channel(port, raise));
            at = next;
        }
        Ok(())
    }

    fn junction(
        &self,
        src: HcaId,
        at: SwitchId,
        dst: HcaId,
        state: usize,
    ) -> Result<(), FabricError> {
        if self.seen[state].1 == src.0 {
            return Err(self.routes.loop_error(self.fabric, self.fabric.switch_vertex(at), dst));
        }
        Ok(())
    }
}
