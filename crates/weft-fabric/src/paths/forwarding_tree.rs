//! The forwarding tree of a LID: how every switch forwards to it. Bad tables add circles and dead
//! ends.

use super::net::{Far, Net};

/// No path leads there.
pub const UNREACHED: u16 = u16::MAX;

/// How every switch forwards to one end port. Made once, aimed at one destination after another.
#[derive(Default)]
pub struct ForwardingTree {
    /// The destination: its number among the net's end ports.
    pub dst: u32,
    /// By switch: the port it forwards by; 0 without one.
    pub port: Vec<u8>,
    /// By switch: cables from it to the destination; [`UNREACHED`] where the path ends elsewhere.
    pub hops: Vec<u16>,
    /// Switches that reach the destination, the farthest last.
    pub order: Vec<u32>,
    /// A switch that forwards in a circle, with all that are on it in order.
    pub circle: Option<Vec<u32>>,
    next: Vec<u32>,
    state: Vec<u8>,
    path: Vec<u32>,
    counts: Vec<u32>,
}

const UNSEEN: u8 = 0;
const ON_PATH: u8 = 1;
const DONE: u8 = 2;
const NOWHERE: u32 = u32::MAX;
const ARRIVED: u32 = u32::MAX - 1;

impl ForwardingTree {
    /// Room for a net's switches.
    pub fn new(net: &Net<'_>) -> ForwardingTree {
        let n = net.n_switches();
        ForwardingTree {
            port: vec![0; n],
            hops: vec![UNREACHED; n],
            order: Vec::with_capacity(n),
            next: vec![NOWHERE; n],
            state: vec![UNSEEN; n],
            ..ForwardingTree::default()
        }
    }

    /// Follow every switch's table entry for an end port.
    pub fn aim(&mut self, net: &Net<'_>, dst: u32) {
        let lid = net.endports[dst as usize].lid;
        (self.dst, self.circle) = (dst, None);
        for switch in 0..net.n_switches() as u32 {
            let port = net.forward(switch, lid).unwrap_or(0);
            self.port[switch as usize] = port;
            self.next[switch as usize] = match net.far(switch, port) {
                Far::Switch(next) => next,
                Far::Endport(there) if there == dst => ARRIVED,
                Far::Endport(_) | Far::Nothing => NOWHERE,
            };
        }
        self.measure();
    }

    /// Hops by following each path once.
    fn measure(&mut self) {
        self.state.fill(UNSEEN);
        self.hops.fill(UNREACHED);
        for start in 0..self.next.len() as u32 {
            let mut at = start;
            while self.state[at as usize] == UNSEEN {
                self.state[at as usize] = ON_PATH;
                self.path.push(at);
                match self.next[at as usize] {
                    NOWHERE | ARRIVED => break,
                    next => at = next,
                }
            }
            let last = self.path.last().copied();
            let closes = last.is_some_and(|last| {
                let next = self.next[last as usize];
                next < ARRIVED && self.state[next as usize] == ON_PATH
            });
            if closes && self.circle.is_none() {
                let from = self.path.iter().position(|switch| *switch == at).unwrap_or(0);
                self.circle = Some(self.path[from..].to_vec());
            }
            while let Some(switch) = self.path.pop() {
                self.state[switch as usize] = DONE;
                self.hops[switch as usize] = match self.next[switch as usize] {
                    NOWHERE => UNREACHED,
                    ARRIVED => 1,
                    // Switches on a circle never get hops.
                    next => self.hops[next as usize].saturating_add(1),
                };
            }
        }
        self.sort();
    }

    /// Switches by hops: counting sort, since there are few lengths.
    fn sort(&mut self) {
        self.counts.clear();
        for hops in self.hops.iter().filter(|hops| **hops != UNREACHED) {
            let at = usize::from(*hops) + 1;
            self.counts.resize(self.counts.len().max(at + 1), 0);
            self.counts[at] += 1;
        }
        for at in 1..self.counts.len() {
            self.counts[at] += self.counts[at - 1];
        }
        let n = self.counts.last().copied().unwrap_or(0) as usize;
        self.order.resize(n, 0);
        for (switch, hops) in self.hops.iter().enumerate().filter(|(_, h)| **h != UNREACHED) {
            let slot = &mut self.counts[usize::from(*hops)];
            self.order[*slot as usize] = switch as u32;
            *slot += 1;
        }
    }

    /// The switch after a switch on the path; none at the destination's own.
    #[inline]
    pub fn next(&self, switch: u32) -> Option<u32> {
        Some(self.next[switch as usize]).filter(|next| *next < ARRIVED)
    }
}
