//! Credit loops (Dally & Seitz 1987) over the paths that end ports use and the virtual lanes that
//! switches choose.

use super::forwarding_tree::ForwardingTree;
use super::net::{Far, Net, SOCKETS};
use crate::subnet::{End, Sl2vl};
use serde::Serialize;
use std::collections::VecDeque;

/// Virtual lanes of a port; 15 is for management, and data sent to it is dropped.
const LANES: usize = 16;
const DROPPED: u8 = 15;
/// The most channels from which the shortest circle is looked for.
const MAX_STARTS: usize = 512;

/// A circle of channels, each an egress port of a switch with a virtual lane.
#[derive(Clone, Debug, PartialEq, Eq, Serialize)]
pub struct CreditLoop {
    /// The channels in order; the last waits for the first.
    pub channels: Vec<(End, u8)>,
    /// How many channels lie on circles or between two of them.
    pub n_channels: usize,
}

/// A credit loop of the paths between all end ports on one service level; a shortest of those
/// found. Without tables of lanes there is one lane.
pub fn credit_loop(net: &Net<'_>, sl2vl: &Sl2vl, service_level: u8) -> Option<CreditLoop> {
    let lanes = Lanes { sl2vl, service_level };
    let mut waits = Waits::new(net, lanes.count());
    let mut tree = ForwardingTree::new(net);
    let mut used = vec![0u16; net.n_switches()];
    let sources = sources(net);
    for dst in 0..net.endports.len() as u32 {
        tree.aim(net, dst);
        waits.add_path(net, &tree, &lanes, &sources, &mut used);
    }
    waits.find_circle(net)
}

/// By switch the ports that its end ports are on, with their numbers.
fn sources(net: &Net<'_>) -> Vec<Vec<(u8, u32)>> {
    let mut sources = vec![Vec::new(); net.n_switches()];
    for (number, endport) in net.endports.iter().enumerate() {
        let peer = net.subnet.peer(endport.end);
        if let (Some(leaf), Some(peer)) = (endport.leaf, peer) {
            sources[leaf as usize].push((peer.port, number as u32));
        }
    }
    sources
}

struct Lanes<'a> {
    sl2vl: &'a Sl2vl,
    service_level: u8,
}

impl Lanes<'_> {
    fn count(&self) -> usize {
        if self.sl2vl.is_empty() { 1 } else { LANES }
    }

    /// The lane a packet leaves a node on; none where it is dropped.
    fn lane(&self, node: u32, ingress: u8, egress: u8) -> Option<u8> {
        if self.sl2vl.is_empty() {
            return Some(0);
        }
        let lanes = self.sl2vl.get(&(node, ingress, egress));
        let lane = lanes.map_or(0, |lanes| lanes[usize::from(self.service_level & 15)] & 15);
        (lane != DROPPED).then_some(lane)
    }
}

/// Dependencies between channels: rows of bits over the channels of the switch that a channel
/// leads to.
struct Waits {
    n_lanes: usize,
    n_words: usize,
    /// By channel: where its row begins; none before its first bit.
    rows: Vec<u32>,
    words: Vec<u64>,
}

const NO_ROW: u32 = u32::MAX;

impl Waits {
    fn new(net: &Net<'_>, n_lanes: usize) -> Waits {
        let rows = vec![NO_ROW; net.n_switches() * SOCKETS * n_lanes];
        Waits { n_lanes, n_words: SOCKETS * n_lanes / 64, rows, words: Vec::new() }
    }

    fn channel(&self, switch: u32, port: u8, lane: u8) -> usize {
        (switch as usize * SOCKETS + usize::from(port)) * self.n_lanes + usize::from(lane)
    }

    fn add(&mut self, channel: usize, port: u8, lane: u8) {
        if self.rows[channel] == NO_ROW {
            self.rows[channel] = (self.words.len() / self.n_words) as u32;
            self.words.resize(self.words.len() + self.n_words, 0);
        }
        let bit = usize::from(port) * self.n_lanes + usize::from(lane);
        self.words[self.rows[channel] as usize * self.n_words + bit / 64] |= 1 << (bit % 64);
    }

    /// The paths of all sources to one destination. `used` is, by switch, the lanes that packets
    /// leave it on.
    fn add_path(
        &mut self,
        net: &Net<'_>,
        tree: &ForwardingTree,
        lanes: &Lanes<'_>,
        sources: &[Vec<(u8, u32)>],
        used: &mut [u16],
    ) {
        used.fill(0);
        for switch in tree.order.iter().rev() {
            let at = *switch as usize;
            let Some(next) = tree.next(*switch) else { continue };
            let (node, egress) = (net.switches[at], tree.port[at]);
            for (ingress, _) in sources[at].iter().filter(|(_, source)| *source != tree.dst) {
                if let Some(lane) = lanes.lane(node, *ingress, egress) {
                    used[at] |= 1 << lane;
                }
            }
            if used[at] == 0 {
                continue;
            }
            // A packet that leaves here waits at the next switch for that one's egress.
            let Some(further) = tree.next(next).map(|_| tree.port[next as usize]) else {
                continue;
            };
            let Some(arrival) = net.subnet.peer(net.end(*switch, egress)) else { continue };
            let Some(onward) = lanes.lane(arrival.node, arrival.port, further) else { continue };
            used[next as usize] |= 1 << onward;
            for lane in (0..LANES as u8).filter(|lane| used[at] >> lane & 1 == 1) {
                self.add(self.channel(*switch, egress, lane), further, onward);
            }
        }
    }

    fn successors(&self, net: &Net<'_>, channel: usize) -> Vec<usize> {
        let (socket, mut found) = (channel / self.n_lanes, Vec::new());
        let (row, port) = (self.rows[channel], (socket % SOCKETS) as u8);
        let Far::Switch(next) = net.far((socket / SOCKETS) as u32, port) else { return found };
        if row == NO_ROW {
            return found;
        }
        let from = row as usize * self.n_words;
        for (at, word) in self.words[from..from + self.n_words].iter().enumerate() {
            let mut word = *word;
            while word != 0 {
                let bit = at * 64 + word.trailing_zeros() as usize;
                found.push(next as usize * SOCKETS * self.n_lanes + bit);
                word &= word - 1;
            }
        }
        found
    }

    /// Take away what waits for nothing that is left, and what nothing waits for; what stays lies
    /// on circles or between them.
    fn find_circle(&self, net: &Net<'_>) -> Option<CreditLoop> {
        let channels = (0..self.rows.len()).filter(|channel| self.rows[*channel] != NO_ROW);
        let after: Vec<(usize, Vec<usize>)> =
            channels.map(|channel| (channel, self.successors(net, channel))).collect();
        let mut left = vec![false; self.rows.len()];
        for (channel, _) in &after {
            left[*channel] = true;
        }
        peel(&mut left, &after);
        let before = reversed(&after, &left);
        peel(&mut left, &before);
        let tail: Vec<usize> = (0..left.len()).filter(|channel| left[*channel]).collect();
        let starts = tail.iter().take(MAX_STARTS);
        let shortest = starts.filter_map(|start| self.circle_through(net, *start, &left));
        let circle = shortest.min_by_key(Vec::len)?;
        let name = |channel: usize| {
            let (socket, lane) = (channel / self.n_lanes, (channel % self.n_lanes) as u8);
            (net.end((socket / SOCKETS) as u32, (socket % SOCKETS) as u8), lane)
        };
        let channels = circle.into_iter().map(name).collect();
        Some(CreditLoop { channels, n_channels: tail.len() })
    }

    /// The shortest circle through a channel, breadth first.
    fn circle_through(&self, net: &Net<'_>, start: usize, left: &[bool]) -> Option<Vec<usize>> {
        let mut came_by = std::collections::HashMap::new();
        let mut queue = VecDeque::from([start]);
        while let Some(at) = queue.pop_front() {
            for next in self.successors(net, at).into_iter().filter(|next| left[*next]) {
                if next == start {
                    let mut circle = vec![at];
                    while circle[circle.len() - 1] != start {
                        circle.push(came_by[&circle[circle.len() - 1]]);
                    }
                    circle.reverse();
                    return Some(circle);
                }
                came_by.entry(next).or_insert_with(|| {
                    queue.push_back(next);
                    at
                });
            }
        }
        None
    }
}

/// Take away, again and again, what has none of its own left.
fn peel(left: &mut [bool], after: &[(usize, Vec<usize>)]) {
    let mut waiters: std::collections::HashMap<usize, Vec<usize>> = Default::default();
    let mut n_after = vec![0usize; left.len()];
    for (channel, next) in after.iter().filter(|(channel, _)| left[*channel]) {
        for it in next.iter().filter(|it| left[**it]) {
            n_after[*channel] += 1;
            waiters.entry(*it).or_default().push(*channel);
        }
    }
    let mut done: Vec<usize> =
        (0..left.len()).filter(|channel| left[*channel] && n_after[*channel] == 0).collect();
    while let Some(channel) = done.pop() {
        left[channel] = false;
        for waiter in waiters.get(&channel).into_iter().flatten() {
            n_after[*waiter] -= 1;
            if n_after[*waiter] == 0 {
                done.push(*waiter);
            }
        }
    }
}

fn reversed(after: &[(usize, Vec<usize>)], left: &[bool]) -> Vec<(usize, Vec<usize>)> {
    let mut before: std::collections::BTreeMap<usize, Vec<usize>> = Default::default();
    for (channel, next) in after.iter().filter(|(channel, _)| left[*channel]) {
        before.entry(*channel).or_default();
        for it in next.iter().filter(|it| left[**it]) {
            before.entry(*it).or_default().push(*channel);
        }
    }
    before.into_iter().collect()
}
