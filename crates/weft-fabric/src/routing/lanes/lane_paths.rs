//! Paths with the lanes that they take: the search for credit loops among them, and an assignment
//! of service levels that leaves none.

use super::lane_waits::LaneWaits;
use super::path_lanes::{DROPPED, N_SERVICE_LEVELS, PathLanes};
use crate::error::FabricError;
use crate::fabric::Fabric;
use crate::ids::{HcaId, PortId, SwitchId};
use crate::routing::check::check_routes;
use crate::routing::routes::{Routes, unreachable};

/// Check the routes among `hcas` as [`check_routes`] does, on the lanes of their paths if there are
/// any.
pub fn check_laned_routes(
    fabric: &Fabric,
    routes: &Routes,
    lanes: Option<&PathLanes>,
    hcas: &[HcaId],
) -> Result<(), FabricError> {
    match (check_routes(fabric, routes, hcas), lanes) {
        (Ok(()) | Err(FabricError::CreditLoop { .. }), Some(lanes)) => {
            check_lanes(fabric, routes, lanes, hcas)
        }
        (result, _) => result,
    }
}

/// How many orders of paths are tried.
const MOST_ORDERS: usize = 8;

/// Refuse lanes by which packets between `hcas` may wait for each other in a circle, or are
/// dropped. INVARIANT: all routes between them arrive.
pub fn check_lanes(
    fabric: &Fabric,
    routes: &Routes,
    lanes: &PathLanes,
    hcas: &[HcaId],
) -> Result<(), FabricError> {
    let mut paths = LanePaths::new(fabric, routes, lanes);
    for dst in hcas {
        for src in hcas.iter().filter(|src| *src != dst) {
            let Some(entry) = paths.entry_of(*src) else { continue };
            let level = lanes.level(entry.switch, *dst);
            paths.follow(entry, *dst, level).map_err(|trouble| paths.error(trouble, *src, *dst))?;
        }
    }
    Ok(())
}

/// Give every path the first service level with which no credit loop is left; whether that was
/// possible. The first order of paths is that of the HCAs; if it fails, some rotations are tried.
pub fn assign_levels(fabric: &Fabric, routes: &Routes, lanes: &mut PathLanes) -> bool {
    let n = fabric.n_hcas() as usize;
    (0..MOST_ORDERS.min(n)).any(|turn| {
        let mut hcas: Vec<HcaId> = (0..fabric.n_hcas()).map(HcaId).collect();
        hcas.rotate_left(n * turn / MOST_ORDERS.min(n));
        let mut tried = lanes.clone();
        let fits = assign_in_order(fabric, routes, &mut tried, &hcas);
        if fits {
            *lanes = tried;
        }
        fits
    })
}

fn assign_in_order(
    fabric: &Fabric,
    routes: &Routes,
    lanes: &mut PathLanes,
    hcas: &[HcaId],
) -> bool {
    let levels = levels_apart(lanes);
    let before = lanes.clone();
    let mut paths = LanePaths::new(fabric, routes, &before);
    for dst in hcas {
        let mut chosen: Vec<Option<u8>> = vec![None; fabric.n_switches() as usize];
        for src in hcas.iter().filter(|src| *src != dst) {
            let Some(entry) = paths.entry_of(*src) else { continue };
            // Packets that enter at one switch have one level, whichever adapter sends them.
            let known = chosen[entry.switch.index()];
            let mut tried = levels.iter().filter(|level| known.is_none_or(|it| it == **level));
            let fits = |level: &&u8| match paths.follow(entry, *dst, **level) {
                Err(Trouble::Circle(_) | Trouble::Dropped(_)) => false,
                Err(Trouble::Ends) | Ok(()) => true,
            };
            let Some(level) = tried.find(fits).copied() else { return false };
            chosen[entry.switch.index()] = Some(level);
            lanes.set_level(entry.switch, *dst, level);
        }
    }
    true
}

/// Service levels that differ in a lane somewhere, the lowest of equals; none that drop packets.
fn levels_apart(lanes: &PathLanes) -> Vec<u8> {
    let lists = lanes.lists_in_force();
    let mut known: Vec<Vec<u8>> = Vec::new();
    let mut levels = Vec::new();
    for level in 0..N_SERVICE_LEVELS {
        let of_level: Vec<u8> = lists.iter().map(|list| list[level]).collect();
        if !of_level.contains(&DROPPED) && !known.contains(&of_level) {
            known.push(of_level);
            levels.push(level as u8);
        }
    }
    levels
}

/// Where packets enter the fabric: the switch and its port.
#[derive(Clone, Copy)]
struct EntryPort {
    switch: SwitchId,
    port: PortId,
}

/// Why a path cannot be taken.
enum Trouble {
    /// It closes this circle of channels.
    Circle(Vec<u32>),
    /// A switch gives it the lane on which it drops packets.
    Dropped(SwitchId),
    /// It does not arrive.
    Ends,
}

struct LanePaths<'a> {
    fabric: &'a Fabric,
    routes: &'a Routes,
    lanes: &'a PathLanes,
    waits: LaneWaits,
    /// By channel and level: the destination towards which a packet was last followed from there.
    followed: Vec<u32>,
}

impl<'a> LanePaths<'a> {
    fn new(fabric: &'a Fabric, routes: &'a Routes, lanes: &'a PathLanes) -> LanePaths<'a> {
        let n_channels = fabric.ports.len() * N_SERVICE_LEVELS;
        let followed = vec![u32::MAX; n_channels * N_SERVICE_LEVELS];
        LanePaths { fabric, routes, lanes, waits: LaneWaits::new(fabric.ports.len()), followed }
    }

    fn entry_of(&self, src: HcaId) -> Option<EntryPort> {
        let cable = self.fabric.ports[self.fabric.hca_port(src).index()];
        let port = cable.peer.filter(|_| cable.up)?;
        let switch = self.fabric.switch(self.fabric.ports[port.index()].vertex)?;
        Some(EntryPort { switch, port })
    }

    /// Add what a path waits for. With an error nothing is added.
    fn follow(&mut self, entry: EntryPort, dst: HcaId, level: u8) -> Result<(), Trouble> {
        let (mut added, mut marked) = (Vec::new(), Vec::new());
        let result = self.walk(entry, dst, level, &mut added, &mut marked);
        if result.is_err() {
            added.into_iter().for_each(|(from, to)| self.waits.remove(from, to));
            marked.into_iter().for_each(|mark: usize| self.followed[mark] = u32::MAX);
        }
        result
    }

    fn walk(
        &mut self,
        entry: EntryPort,
        dst: HcaId,
        level: u8,
        added: &mut Vec<(u32, u32)>,
        marked: &mut Vec<usize>,
    ) -> Result<(), Trouble> {
        let (mut switch, mut ingress, mut held) = (entry.switch, entry.port, None);
        loop {
            let number = self.routes.number(switch, dst).checked_sub(1).ok_or(Trouble::Ends)?;
            let vertex = &self.fabric.vertices[self.fabric.switch_vertex(switch).index()];
            let port = PortId(vertex.first_port.0 + number);
            let lane = self.lanes.lane(ingress.0, number, level);
            if lane == DROPPED {
                return Err(Trouble::Dropped(switch));
            }
            let channel = LaneWaits::channel(port.0, lane);
            if let Some(held) = held
                && self.waits.add(held, channel).map_err(Trouble::Circle)?
            {
                added.push((held, channel));
            }
            let mark = channel as usize * N_SERVICE_LEVELS + usize::from(level);
            if std::mem::replace(&mut self.followed[mark], dst.0) == dst.0 {
                return Ok(());
            }
            marked.push(mark);
            let cable = self.fabric.ports[port.index()];
            ingress = cable.peer.filter(|_| cable.up).ok_or(Trouble::Ends)?;
            let Some(next) = self.fabric.switch(self.fabric.ports[ingress.index()].vertex) else {
                return Ok(());
            };
            (switch, held) = (next, Some(channel));
        }
    }

    fn error(&self, trouble: Trouble, src: HcaId, dst: HcaId) -> FabricError {
        match trouble {
            Trouble::Circle(mut circle) => {
                circle.push(circle[0]);
                let names: Vec<String> = circle.into_iter().map(|it| self.name(it)).collect();
                FabricError::CreditLoop { cycle: names.join(" -> ") }
            }
            Trouble::Dropped(switch) => {
                let name = |vertex: crate::ids::VertexId| {
                    self.fabric.vertices[vertex.index()].name.clone()
                };
                let what = format!(
                    "'{}' drops packets from '{}' to '{}': their lane is 15",
                    name(self.fabric.switch_vertex(switch)),
                    name(src.vertex()),
                    name(dst.vertex())
                );
                FabricError::document(
                    "fabric.lanes",
                    what,
                    "levels with a data lane on their paths",
                )
            }
            Trouble::Ends => unreachable(self.fabric, src, dst, src.vertex()),
        }
    }

    fn name(&self, channel: u32) -> String {
        let (port, lane) = LaneWaits::place_of(channel);
        format!("{} (lane {lane})", self.fabric.port_name(PortId(port)))
    }
}
