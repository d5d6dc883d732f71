//! Parts of a subnet that no cable joins.

use super::{End, Subnet};

impl Subnet {
    /// By node, the index of the first node of the part that it is in.
    pub fn parts(&self) -> Vec<u32> {
        let mut parts = vec![u32::MAX; self.nodes.len()];
        for first in 0..parts.len() {
            let mut stack = vec![first as u32];
            while let Some(node) = stack.pop() {
                let part = &mut parts[node as usize];
                if *part == u32::MAX {
                    *part = first as u32;
                    let ports = self.nodes[node as usize].ports.iter();
                    stack.extend(ports.filter_map(|port| port.peer).map(|peer| peer.node));
                }
            }
        }
        parts
    }

    /// The part of each end, as [`Subnet::parts`] numbers them.
    pub fn parts_of(&self, ends: &[End]) -> Vec<u32> {
        let parts = self.parts();
        ends.iter().map(|end| parts[end.node as usize]).collect()
    }
}
