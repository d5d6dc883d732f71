//! A deadlock is an outcome: say which ports wait for each other.

use crate::network::Network;
use weft_fabric::PortId;

/// The cycle of ports that wait for each other, or what else is stuck.
pub(crate) fn describe(network: &Network<'_>) -> String {
    let in_flight = network.packets.in_flight();
    if in_flight == 0 {
        return "deadlock: ranks wait for messages that nobody sends".to_owned();
    }
    let name = |port: u32| network.fabric().port_name(PortId(port));
    match find_cycle(network) {
        Some(mut cycle) => {
            cycle.push(cycle[0]);
            let names: Vec<String> = cycle.into_iter().map(name).collect();
            format!("deadlock: {in_flight} packets wait in a circle: {}", names.join(" -> "))
        }
        None => {
            let waiting: Vec<String> =
                starved(network).take(8).map(|(port, _)| name(port)).collect();
            format!("deadlock: {in_flight} packets wait at {}", waiting.join(", "))
        }
    }
}

/// Ports that lack credit, each with the port whose input buffer is full.
fn starved<'a>(network: &'a Network<'_>) -> impl Iterator<Item = (u32, u32)> + 'a {
    let numbered = network.ports.iter().enumerate();
    numbered.filter(|(_, p)| p.lane.need > 0).map(|(o, p)| (o as u32, p.peer))
}

/// Starved ports o -> o2 where a packet in the buffer that o fills waits for o2.
fn find_cycle(network: &Network<'_>) -> Option<Vec<u32>> {
    let starved: Vec<(u32, u32)> = starved(network).collect();
    let after = |o: u32| -> Option<u32> {
        let buffer = network.ports[o as usize].peer;
        let holds = |o2: u32| network.inputs_waiting_for(o2).any(|input| input == buffer);
        starved.iter().map(|(o2, _)| *o2).find(|o2| holds(*o2))
    };
    for (start, _) in &starved {
        let mut path = vec![*start];
        while let Some(next) = after(path[path.len() - 1]) {
            if let Some(at) = path.iter().position(|port| *port == next) {
                return Some(path.split_off(at));
            }
            path.push(next);
        }
    }
    None
}
