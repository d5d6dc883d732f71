//! The ports an adaptive switch may choose from (its AR groups).

use super::attachments::Attachments;
use super::leaf_table::LeafTable;
use crate::ids::{HcaId, SwitchId};

/// For every switch and destination the ports that lead closer, keyed by the destination's leaf.
///
/// In a fat-tree: every port on a shortest path up or down, parallel cables included. Port numbers
/// count from 0 within their switch and rise within a group.
#[derive(Clone, Debug)]
pub struct Candidates {
    pub(crate) attached: Attachments,
    pub(crate) table: LeafTable,
    pub(crate) detours: Option<Detours>,
}

/// Paths to whole groups of switches, the first half of a detour; and how long paths are.
#[derive(Clone, Debug)]
pub(crate) struct Detours {
    pub(crate) n_groups: u32,
    /// By switch and group: the ports that lead closer to the group.
    pub(crate) table: LeafTable,
    /// By switch and group, and by switch and leaf: hops.
    pub(crate) hops_to_group: Vec<u8>,
    pub(crate) hops_to_leaf: Vec<u8>,
    /// By group and leaf: the most hops from a switch of the group.
    pub(crate) hops_from_group: Vec<u8>,
}

impl Candidates {
    /// The ports of `switch` towards `dst`; none where no path leads there.
    #[inline(always)]
    pub fn group(&self, switch: SwitchId, dst: HcaId) -> &[u16] {
        let leaf = self.attached.leaf_of(dst);
        if self.attached.switch_of(leaf) == Some(switch) {
            return std::slice::from_ref(self.attached.number_of(dst));
        }
        self.table.get(switch.index(), leaf)
    }

    /// Have what [`Candidates::group`] looks up first in the cache soon.
    #[inline(always)]
    pub fn fetch(&self, switch: SwitchId, dst: HcaId) {
        self.table.fetch(switch.index(), self.attached.leaf_of(dst));
    }

    /// The ports of `switch` towards the HCAs of a leaf that is not this switch.
    pub fn towards_leaf(&self, switch: SwitchId, leaf: usize) -> &[u16] {
        self.table.get(switch.index(), leaf)
    }

    /// The ports of `switch` towards a group of switches that it is not in.
    pub fn towards_group(&self, switch: SwitchId, group: u32) -> &[u16] {
        self.detours.as_ref().map_or(&[], |there| there.table.get(switch.index(), group as usize))
    }

    /// How many groups of switches there are, 0 where no detours were asked for.
    pub fn n_groups(&self) -> u32 {
        self.detours.as_ref().map_or(0, |detours| detours.n_groups)
    }

    /// Hops between switches on the shortest path from `switch` to the leaf of `dst`, and over a
    /// group: to its nearest switch, and from its farthest on.
    pub fn hops(&self, switch: SwitchId, dst: HcaId, over: u32) -> (u32, u32) {
        let Some(detours) = &self.detours else { return (0, 0) };
        let (n_leaves, leaf) = (self.attached.n_leaves(), self.attached.leaf_of(dst));
        let direct = detours.hops_to_leaf[switch.index() * n_leaves + leaf];
        let there =
            detours.hops_to_group[switch.index() * detours.n_groups as usize + over as usize];
        let back = detours.hops_from_group[over as usize * n_leaves + leaf];
        (u32::from(direct), u32::from(there) + u32::from(back))
    }

    /// The leaf of each HCA.
    pub fn attachments(&self) -> &Attachments {
        &self.attached
    }
}
