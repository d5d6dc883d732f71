//! Dependencies between channels, and the search for a cycle of them (Dally & Seitz 1987).
//!
//! A channel is the egress of a port on one virtual lane. Lanes are counted by how often a packet's
//! lane has been raised: a raise happens where a port leads to another group.

use crate::error::FabricError;
use crate::fabric::Fabric;
use crate::ids::{PortId, SwitchId, VertexId};

/// No port, row or channel.
const NONE: u32 = u32::MAX;
/// Most raises that are distinguished, one more than there are data lanes.
pub(crate) const MAX_RAISES: usize = 16;

/// Most words of all rows together: 2 GiB, and fewer than a row's beginning can name.
const MAX_WORDS: u64 = 1 << 28;

/// A channel: the egress port, and how often the lane has been raised on it.
pub(crate) type Channel = (u32, usize);

/// The dependencies between channels, as rows of bits over the ports of the switch in between.
#[derive(Debug)]
pub(crate) struct Channels<'a> {
    fabric: &'a Fabric,
    /// By port: the vertex its cable leads to, over cables that are up.
    far: Vec<u32>,
    /// By port: whether the lane rises there.
    raises: Vec<bool>,
    n_raises: usize,
    /// By channel: where its row begins; none before the first dependency.
    rows: Vec<u32>,
    words: Vec<u64>,
    /// The ports of a choice, while it is added.
    mask: Vec<u64>,
    /// The most often a lane was raised so far.
    pub(crate) highest: usize,
}

impl<'a> Channels<'a> {
    /// No dependencies yet; lanes rise between groups where `raised`, up to the last of `n_lanes`.
    /// An error where dependencies would be too many to hold.
    pub(crate) fn new(
        fabric: &'a Fabric,
        raised: bool,
        n_lanes: usize,
    ) -> Result<Channels<'a>, FabricError> {
        let ports = || (0..fabric.ports.len() as u32).map(PortId);
        let far = ports().map(|port| fabric.neighbour(port).map_or(NONE, |vertex| vertex.0));
        let raises: Vec<bool> = ports().map(|port| raised && fabric.is_global(port)).collect();
        let n_raises = if raises.contains(&true) { n_lanes.min(MAX_RAISES) } else { 1 };
        let most = n_raises as u64 * words_between_switches(fabric);
        if most > MAX_WORDS {
            let what = format!("up to {most} words of dependencies between channels");
            let expected = format!("at most {MAX_WORDS}: fewer or narrower switches");
            return Err(FabricError::document("fabric", what, expected));
        }
        Ok(Channels {
            fabric,
            far: far.collect(),
            raises,
            n_raises,
            rows: vec![NONE; fabric.ports.len() * n_raises],
            words: Vec::new(),
            mask: Vec::new(),
            highest: 0,
        })
    }

    /// How many raises are distinguished.
    pub(crate) fn n_raises(&self) -> usize {
        self.n_raises
    }

    /// The vertex a port leads to; none over a dead cable.
    #[inline]
    pub(crate) fn far(&self, port: u32) -> Option<VertexId> {
        let vertex = self.far[port as usize];
        (vertex != NONE).then_some(VertexId(vertex))
    }

    /// The channel of a packet that leaves by `port` after `raise` raises. The
    /// highest raise stands for all beyond it: such a fabric needs more lanes than there are.
    #[inline]
    pub(crate) fn channel(&mut self, port: u32, raise: usize) -> Channel {
        let raise = (raise + usize::from(self.raises[port as usize])).min(self.n_raises - 1);
        self.highest = self.highest.max(raise);
        (port, raise)
    }

    /// A packet that holds `channel` may wait for port `number` (from 0) of the switch it leads to.
    #[inline]
    pub(crate) fn add(&mut self, channel: Channel, number: u16) {
        let row = self.row(channel);
        self.words[row + usize::from(number) / 64] |= 1 << (number % 64);
    }

    /// Packets that hold any of `held`, all leading to one switch, may wait for any of its ports.
    pub(crate) fn add_all(&mut self, held: &[Channel], numbers: &[u16]) {
        let mut mask = std::mem::take(&mut self.mask);
        mask.clear();
        for number in numbers {
            let word = usize::from(*number) / 64;
            mask.resize(mask.len().max(word + 1), 0);
            mask[word] |= 1 << (number % 64);
        }
        for channel in held {
            let row = self.row(*channel);
            for (word, bits) in self.words[row..].iter_mut().zip(&mask) {
                *word |= bits;
            }
        }
        self.mask = mask;
    }

    fn row(&mut self, (port, raise): Channel) -> usize {
        let index = port as usize * self.n_raises + raise;
        if self.rows[index] == NONE {
            let there = self.far[port as usize] as usize;
            let n_ports = self.fabric.vertices[there].n_ports as usize;
            self.rows[index] = self.words.len() as u32;
            self.words.resize(self.words.len() + n_ports.div_ceil(64), 0);
        }
        self.rows[index] as usize
    }

    /// A cycle of channels that may wait for each other; none is the rule.
    pub(crate) fn find_cycle(&self) -> Option<Vec<Channel>> {
        let mut state = vec![NONE; self.rows.len()];
        // The channels that wait, each with the number of the port to look at next.
        let mut path: Vec<(Channel, u32)> = Vec::new();
        for root in 0..self.rows.len() {
            if state[root] == NONE && self.rows[root] != NONE {
                path.push((((root / self.n_raises) as u32, root % self.n_raises), 0));
                state[root] = 0;
            }
            while let Some((channel, from)) = path.last().copied() {
                let Some(number) = self.next_bit(channel, from) else {
                    state[self.index(channel)] = DONE;
                    path.pop();
                    continue;
                };
                path.last_mut().expect("the path is not empty").1 = number + 1;
                let next = self.successor(channel, number);
                match state[self.index(next)] {
                    NONE => {
                        state[self.index(next)] = path.len() as u32;
                        path.push((next, 0));
                    }
                    DONE => {}
                    depth => {
                        let cycle = path[depth as usize..].iter();
                        return Some(cycle.map(|(channel, _)| *channel).collect());
                    }
                }
            }
        }
        None
    }

    fn index(&self, (port, raise): Channel) -> usize {
        port as usize * self.n_raises + raise
    }

    fn successor(&self, (port, raise): Channel, number: u32) -> Channel {
        let there = &self.fabric.vertices[self.far[port as usize] as usize];
        let next = there.first_port.0 + number;
        let raise = raise + usize::from(self.raises[next as usize]);
        (next, raise.min(self.n_raises - 1))
    }

    /// The first port from `from` on that a channel waits for.
    fn next_bit(&self, channel: Channel, from: u32) -> Option<u32> {
        let row = self.rows[self.index(channel)];
        if row == NONE {
            return None;
        }
        let there = self.far[channel.0 as usize] as usize;
        let n_words = (self.fabric.vertices[there].n_ports as usize).div_ceil(64);
        let words = &self.words[row as usize..row as usize + n_words];
        let mut at = from as usize / 64;
        let mut word = words.get(at)? & (u64::MAX << (from % 64));
        while word == 0 {
            at += 1;
            word = *words.get(at)?;
        }
        Some(at as u32 * 64 + word.trailing_zeros())
    }
}

/// The words of a row for every cable from switch to switch, in both directions. No packet waits
/// for the cables of HCAs.
fn words_between_switches(fabric: &Fabric) -> u64 {
    let vertices = (0..fabric.n_switches()).map(|n| fabric.switch_vertex(SwitchId(n)));
    let words = |vertex: VertexId| {
        let from_switch = |port: &PortId| {
            fabric.neighbour(*port).is_some_and(|there| fabric.switch(there).is_some())
        };
        let n_rows = fabric.ports_of(vertex).filter(from_switch).count() as u64;
        n_rows * u64::from(fabric.vertices[vertex.index()].n_ports.div_ceil(64))
    };
    vertices.map(words).sum()
}

/// A channel whose successors have all been looked at.
const DONE: u32 = u32::MAX - 1;
