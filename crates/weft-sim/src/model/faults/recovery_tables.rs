//! Tables that the subnet manager will have when cables have died: all that scenarios say die, so
//! that what is wrong with them is known before the run.

use crate::document::Routing;
use crate::error::SimError;
use crate::model::faults::link_death::LinkDeath;
use crate::model::faults::run_faults::{LinkFault, Planted, Trouble};
use crate::model::steering::{Steering, Used, plan_of};
use std::collections::BTreeSet;
use weft_fabric::check::{self, Plan};
use weft_fabric::{Fabric, Routes};

/// Most sets of dead cables that are looked at, the first to come about.
const MAX_SETS: usize = 64;
/// Most beginnings and ends of faults that are looked at: some come again for ever.
const MAX_EDGES: usize = 1 << 12;

const EXPECTED: &str = "new tables whose channel dependencies have no cycle\n  hint: the routing \
                        engine 'updn' has none, 'dragonfly' may want more lanes; \
                        'routing.allow_credit_loops' takes the risk";

/// The fabric, what happens to it, and its tables before that.
#[derive(Clone, Copy)]
pub(crate) struct Parts<'a> {
    pub(crate) fabric: &'a Fabric,
    pub(crate) faults: &'a Planted,
    pub(crate) routes: &'a Routes,
}

/// Refuse tables by which packets may wait for each other in a circle when cables have died.
/// Packets that do not arrive are an outcome; so is a deadlock of packets in flight while tables
/// change.
pub(crate) fn check(
    parts: Parts<'_>,
    link_death: &LinkDeath,
    routing: &Routing,
    steering: &Steering,
    used: Used<'_>,
) -> Result<(), SimError> {
    let Parts { fabric, faults, routes } = parts;
    let n_lanes = steering.n_lanes(used.levels, used.lanes);
    let sets = if routing.allow_credit_loops { vec![] } else { sets_of_dead(&faults.troubles) };
    for dead in sets {
        let down = down_by(&dead);
        let Some((left, mut tables)) = link_death.tables_without(&down, fabric, faults, steering)
        else {
            return Ok(());
        };
        // A destination out of reach keeps its old route.
        tables.routes.complete_from(routes);
        let chooses = steering.candidates.is_some() || link_death.instead.is_some();
        let candidates = Some(&tables.candidates).filter(|_| chooses);
        let plan = Plan { candidates, ..plan_of(routing, &tables.routes) };
        if let Some(cycle) = check::credit_loop(&left, plan, used.hcas, n_lanes)? {
            return Err(refusal(fabric, &dead, &cycle));
        }
    }
    Ok(())
}

/// The faults that keep cables down at the same time, each set of them once, in order of time.
fn sets_of_dead(troubles: &[Trouble]) -> Vec<Vec<&Trouble>> {
    let dying: Vec<&Trouble> = troubles.iter().filter(|t| t.kind == LinkFault::Down).collect();
    let (mut sets, mut known) = (Vec::new(), BTreeSet::from([Vec::new()]));
    let mut time_ps = Some(0);
    for _ in 0..MAX_EDGES {
        let Some(now_ps) = time_ps.filter(|_| sets.len() < MAX_SETS) else { break };
        let dead: Vec<&Trouble> = dying.iter().filter(|t| t.span.holds(now_ps)).copied().collect();
        if known.insert(down_by(&dead)) {
            sets.push(dead);
        }
        time_ps = dying.iter().filter_map(|t| t.span.next_edge(now_ps)).min();
    }
    sets
}

/// The ports that are down, each once, in order.
fn down_by(dead: &[&Trouble]) -> Vec<u32> {
    let ports: BTreeSet<u32> = dead.iter().flat_map(|t| t.ends).map(|port| port.0).collect();
    ports.into_iter().collect()
}

fn refusal(fabric: &Fabric, dead: &[&Trouble], cycle: &str) -> SimError {
    let places: Vec<String> = dead.iter().map(|t| format!("faults[{}]", t.fault)).collect();
    let names = dead.iter().map(|t| format!("'{}'", fabric.port_name(t.ends[0])));
    let names: Vec<String> = names.collect();
    let are = if names.len() > 1 { "are" } else { "is" };
    let what = format!("credit loop once {} {are} down: {cycle}", names.join(" and "));
    SimError::document(places.join(", "), what, EXPECTED)
}
