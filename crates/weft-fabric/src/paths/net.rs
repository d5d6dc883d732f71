//! A subnet packed for walking: switches by number, where each of their ports leads.

use crate::subnet::{End, Lfts, Subnet};

/// No switch, no end port.
pub(super) const NONE: u32 = u32::MAX;
/// Sockets a switch: ports are numbered in 8 bits.
pub(super) const SOCKETS: usize = 256;

/// A port of a channel adapter that traffic starts and ends at.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Endport {
    /// The port.
    pub end: End,
    /// Its base LID.
    pub lid: u16,
    /// Number of the switch it is cabled to; none between two adapters.
    pub leaf: Option<u32>,
}

/// The other end of a switch's port.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(super) enum Far {
    Nothing,
    Switch(u32),
    Endport(u32),
}

/// The subnet and its tables, packed.
pub struct Net<'a> {
    /// The subnet.
    pub subnet: &'a Subnet,
    /// By switch number its node.
    pub switches: Vec<u32>,
    /// End ports that have a LID, in the subnet's order.
    pub endports: Vec<Endport>,
    /// By switch number its forwarding table, empty where there is none.
    pub(super) rows: Vec<&'a [u8]>,
    /// By switch number and port number: what is there. [`NONE`], or a switch below `n_switches`,
    /// or an end port beyond.
    far: Vec<u32>,
    /// By node: its switch number.
    number_of: Vec<u32>,
    /// By switch number: hops to the nearest host, 1 for a leaf.
    pub(super) levels: Vec<u32>,
}

impl<'a> Net<'a> {
    /// The net of a subnet and tables for it (its own, or an engine's).
    pub fn new(subnet: &'a Subnet, lfts: &'a Lfts) -> Net<'a> {
        let nodes = || subnet.nodes.iter().enumerate();
        let switches: Vec<u32> =
            nodes().filter(|(_, node)| node.is_switch()).map(|(at, _)| at as u32).collect();
        let mut number_of = vec![NONE; subnet.nodes.len()];
        for (number, node) in switches.iter().enumerate() {
            number_of[*node as usize] = number as u32;
        }
        let mut net = Net {
            subnet,
            rows: switches.iter().map(|at| lfts.row(*at as usize).unwrap_or(&[])).collect(),
            far: vec![NONE; switches.len() * SOCKETS],
            levels: Vec::new(),
            endports: Vec::new(),
            switches,
            number_of,
        };
        net.add_endports();
        net.add_cables();
        net.add_levels();
        net
    }

    /// How many switches there are.
    pub fn n_switches(&self) -> usize {
        self.switches.len()
    }

    /// The number of a node that is a switch.
    pub fn switch_number(&self, node: u32) -> Option<u32> {
        self.number_of.get(node as usize).copied().filter(|number| *number != NONE)
    }

    /// The port a switch forwards a LID by: 0 is the switch itself.
    #[inline]
    pub fn forward(&self, switch: u32, lid: u16) -> Option<u8> {
        let row = self.rows[switch as usize];
        row.get(usize::from(lid)).copied().filter(|port| *port != crate::subnet::lfts::NO_PORT)
    }

    #[inline]
    pub(super) fn far(&self, switch: u32, port: u8) -> Far {
        let n = self.switches.len() as u32;
        match self.far[switch as usize * SOCKETS + usize::from(port)] {
            NONE => Far::Nothing,
            there if there < n => Far::Switch(there),
            there => Far::Endport(there - n),
        }
    }

    /// The port of a switch as an end.
    pub fn end(&self, switch: u32, port: u8) -> End {
        End { node: self.switches[switch as usize], port }
    }

    fn add_endports(&mut self) {
        for end in self.subnet.endports() {
            let Some(port) = self.subnet.port(end).filter(|port| port.lid > 0) else { continue };
            let peer = port.peer.expect("end ports are cabled");
            let leaf = self.switch_number(peer.node);
            self.endports.push(Endport { end, lid: port.lid, leaf });
        }
    }

    fn add_cables(&mut self) {
        let n = self.switches.len() as u32;
        for (number, node) in self.switches.iter().enumerate() {
            for (at, port) in self.subnet.nodes[*node as usize].ports.iter().enumerate() {
                let there = port.peer.map_or(NONE, |peer| self.number_of[peer.node as usize]);
                self.far[number * SOCKETS + at + 1] = there;
            }
        }
        for (number, endport) in self.endports.iter().enumerate() {
            let peer = self.subnet.peer(endport.end).expect("end ports are cabled");
            if let Some(leaf) = endport.leaf {
                self.far[leaf as usize * SOCKETS + usize::from(peer.port)] = n + number as u32;
            }
        }
    }

    fn add_levels(&mut self) {
        let levels = self.subnet.levels();
        self.levels = self.switches.iter().map(|at| levels[*at as usize].unwrap_or(NONE)).collect();
    }

    /// Hops from a switch to the nearest host, 1 for a leaf; none where there is no path.
    pub fn level(&self, switch: u32) -> Option<u32> {
        Some(self.levels[switch as usize]).filter(|level| *level != NONE)
    }
}
