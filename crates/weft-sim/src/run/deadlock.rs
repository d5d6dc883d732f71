//! A deadlock or a stall is an outcome: say who waits for whom.

use crate::host::hosts::Hosts;
use crate::host::mode::Mode;
use crate::host::rank::channel_of;
use crate::limits::NIL;
use crate::run::job::Job;
use crate::state::buffer::buffers::Buffers;
use crate::state::links::Links;
use crate::state::packet::BORN;
use crate::state::port::ENDPOINT;
use std::collections::HashMap;
use weft_fabric::PortId;

/// How many ports or ranks a message names.
const MAX_NAMED: usize = 8;

/// The cycle of ports that wait for each other, or which ports and ranks wait.
pub(crate) fn describe<M: Mode<PLAIN>, const PLAIN: bool>(
    hosts: &Hosts<'_, M, PLAIN>,
    jobs: &[Job<'_>],
) -> String {
    let (network, links, buffers) = (&hosts.network, &hosts.network.links, &hosts.network.buffers);
    let in_flight = buffers.packets.in_flight();
    let name = |port: u32| network.fabric().port_name(PortId(port));
    let mut lines = Vec::new();
    if let Some(mut cycle) = find_cycle(links, buffers) {
        cycle.push(cycle[0]);
        let names: Vec<String> = cycle.into_iter().map(name).collect();
        lines.push(format!("{in_flight} packets wait in a circle: {}", names.join(" -> ")));
    } else if in_flight > 0 {
        let ports = starved(links, buffers).map(|(port, _, _)| name(port));
        lines.push(format!("{in_flight} packets wait at {}", some_of(ports)));
    }
    let waiting = jobs.iter().flat_map(|job| waiting_ranks(hosts, job));
    let waiting = some_of(waiting);
    if !waiting.is_empty() {
        lines.push(waiting);
    }
    lines.join("; ")
}

/// The first few, and how many more.
fn some_of(names: impl Iterator<Item = String>) -> String {
    let mut names = names;
    let mut named: Vec<String> = names.by_ref().take(MAX_NAMED).collect();
    let n_more = names.count();
    if n_more > 0 {
        named.push(format!("and {n_more} more"));
    }
    named.join(", ")
}

/// The condition that each rank of an unfinished tenant waits for.
fn waiting_ranks<M: Mode<PLAIN>, const PLAIN: bool>(
    hosts: &Hosts<'_, M, PLAIN>,
    job: &Job<'_>,
) -> Vec<String> {
    let Some(stage) = job.stage() else { return Vec::new() };
    let first = job.tenant.first_rank;
    let of_tenant = match job.tenant.name.as_str() {
        "" => String::new(),
        name => format!(" of '{name}'"),
    };
    let running = stage.members().iter().filter(|number| !hosts.ranks[**number as usize].done);
    running
        .map(|number| {
            let rank = &hosts.ranks[*number as usize];
            let sources: Vec<u32> = rank.queues.waits_for();
            let what = match sources.first() {
                Some(key) => {
                    let of_channel =
                        channel_of(*key).and_then(|key| stage.phase.channel_source(key));
                    format!("a message of rank {}", of_channel.unwrap_or(key - first))
                }
                None if rank.together => "the other ranks".to_owned(),
                None => "its sends".to_owned(),
            };
            format!("rank {}{of_tenant} waits for {what}", number - first)
        })
        .collect()
}

/// Starved lanes o -> o2 where a packet in the buffer that o fills waits for o2: a cycle of them.
fn find_cycle<const PLAIN: bool>(links: &Links, buffers: &Buffers<PLAIN>) -> Option<Vec<u32>> {
    let starved: Vec<(u32, u8, u32)> = starved(links, buffers).collect();
    // Only looked up by key: its order decides nothing.
    let mut waiting: HashMap<(u32, u8), Vec<usize>> = HashMap::new();
    for (index, (o, vl, _)) in starved.iter().enumerate() {
        for input in inputs_waiting_for(links, buffers, *o, *vl) {
            waiting.entry(input).or_default().push(index);
        }
    }
    let after = |index: usize| -> &[usize] {
        let (_, vl, buffer) = starved[index];
        waiting.get(&(buffer, vl)).map_or(&[], Vec::as_slice)
    };
    let cycle = first_cycle(starved.len(), after)?;
    Some(cycle.into_iter().map(|index| starved[index].0).collect())
}

/// The starved lanes, each with the input buffer that is full.
fn starved<const PLAIN: bool>(
    links: &Links,
    buffers: &Buffers<PLAIN>,
) -> impl Iterator<Item = (u32, u8, u32)> {
    let numbered = buffers.lanes.iter().enumerate();
    let starved =
        numbered.filter(|(index, lane)| lane.need > 0 || buffers.lanes.shares.is_short(*index));
    starved.map(|(index, _)| {
        let (port, vl) = (index / buffers.n_lanes, index % buffers.n_lanes);
        (port as u32, vl as u8, links.ports[port].peer)
    })
}

/// The packets waiting at lane `vl` of port `o`, by the input buffer they hold: port and lane.
fn inputs_waiting_for<const PLAIN: bool>(
    links: &Links,
    buffers: &Buffers<PLAIN>,
    o: u32,
    vl: u8,
) -> impl Iterator<Item = (u32, u8)> {
    let port = &links.ports[o as usize];
    let forwards = !port.has(ENDPOINT);
    let last = buffers.lanes[buffers.lane_index(o, vl)].ring;
    let first = (forwards && last != NIL).then(|| buffers.packets[last].ring());
    let after = move |id: &u32| (*id != last).then(|| buffers.packets[*id].ring());
    let packets = std::iter::successors(first, after).map(|id| &buffers.packets[id]);
    // A packet that a switch has made itself holds no buffer.
    let packets = packets.filter(|packet| !packet.has(BORN));
    packets.map(move |packet| (o - u32::from(port.local) + packet.input(), packet.input_lane()))
}

/// A cycle of the graph of `n` vertices: a search that follows each edge once.
fn first_cycle<'a>(n: usize, after: impl Fn(usize) -> &'a [usize]) -> Option<Vec<usize>> {
    // By vertex: how many of its edges were followed, and its place on the path from the start.
    let mut followed: Vec<Option<usize>> = vec![None; n];
    let mut place: Vec<Option<usize>> = vec![None; n];
    for start in 0..n {
        let mut path = Vec::new();
        let mut enter = followed[start].is_none().then_some(start);
        loop {
            if let Some(vertex) = enter.take() {
                (followed[vertex], place[vertex]) = (Some(0), Some(path.len()));
                path.push(vertex);
            }
            let Some(vertex) = path.last().copied() else { break };
            let at = followed[vertex].expect("vertices of the path were entered");
            let Some(next) = after(vertex).get(at).copied() else {
                place[vertex] = None;
                path.pop();
                continue;
            };
            followed[vertex] = Some(at + 1);
            if let Some(first) = place[next] {
                return Some(path.split_off(first));
            }
            enter = followed[next].is_none().then_some(next);
        }
    }
    None
}

#[cfg(test)]
mod tests {
    use super::first_cycle;

    fn cycle_of(edges: &[Vec<usize>]) -> Option<Vec<usize>> {
        first_cycle(edges.len(), |vertex| &edges[vertex])
    }

    #[test]
    fn a_cycle_is_found_behind_ends_and_only_where_there_is_one() {
        assert_eq!(cycle_of(&[vec![1, 2], vec![3], vec![3], vec![]]), None);
        assert_eq!(cycle_of(&[vec![1], vec![2, 3], vec![], vec![4], vec![1]]), Some(vec![1, 3, 4]));
        assert_eq!(cycle_of(&[vec![], vec![1]]), Some(vec![1]));
    }

    #[test]
    fn fifty_thousand_ports_in_one_line_are_searched_at_once() {
        let n = 50_000;
        // Each waits for all of the next hundred: five million edges, then one back.
        let mut edges: Vec<Vec<usize>> =
            (0..n).map(|vertex| (vertex + 1..(vertex + 101).min(n)).collect()).collect();
        assert_eq!(cycle_of(&edges), None);
        edges[n - 1] = vec![0];
        assert_eq!(cycle_of(&edges).map(|cycle| cycle.len()), Some(n));
    }
}
