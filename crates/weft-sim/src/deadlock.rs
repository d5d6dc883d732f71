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
                network.starved().take(8).map(|(port, _, _)| name(port)).collect();
            format!("deadlock: {in_flight} packets wait at {}", waiting.join(", "))
        }
    }
}

/// Starved lanes o -> o2 where a packet in the buffer that o fills waits for o2.
fn find_cycle(network: &Network<'_>) -> Option<Vec<u32>> {
    let starved: Vec<(u32, u8, u32)> = network.starved().collect();
    let after = |(_, vl, buffer): (u32, u8, u32)| {
        let holds = |o: u32, vl2: u8| {
            vl2 == vl && network.inputs_waiting_for(o, vl2).any(|input| input == buffer)
        };
        starved.iter().copied().find(|(o, vl2, _)| holds(*o, *vl2))
    };
    for start in &starved {
        let mut path = vec![*start];
        while let Some(next) = after(path[path.len() - 1]) {
            if let Some(at) = path.iter().position(|lane| *lane == next) {
                return Some(path[at..].iter().map(|(port, _, _)| *port).collect());
            }
            path.push(next);
        }
    }
    None
}
