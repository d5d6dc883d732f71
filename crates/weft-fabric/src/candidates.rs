//! The ports an adaptive switch may choose from (its AR groups).

use crate::attach::Attachments;
use crate::ids::{HcaId, SwitchId};
use crate::leaf_table::LeafTable;

/// For every switch and destination the ports that lead closer, keyed by the destination's leaf.
///
/// In a fat-tree: every port on a shortest way up or down, parallel cables included. Port numbers
/// count from 0 within their switch and rise within a group.
#[derive(Clone, Debug)]
pub struct Candidates {
    pub(crate) attached: Attachments,
    pub(crate) table: LeafTable,
}

impl Candidates {
    /// The ports of `switch` towards `dst`; none where no way leads there.
    pub fn group(&self, switch: SwitchId, dst: HcaId) -> &[u16] {
        let leaf = self.attached.leaf_of(dst);
        if self.attached.switch_of(leaf) == Some(switch) {
            return std::slice::from_ref(self.attached.number_of(dst));
        }
        self.table.get(switch.index(), leaf)
    }

    /// The ports of `switch` towards the HCAs of a leaf that is not this switch.
    pub fn towards_leaf(&self, switch: SwitchId, leaf: usize) -> &[u16] {
        self.table.get(switch.index(), leaf)
    }

    /// Which leaf each HCA hangs on.
    pub fn attachments(&self) -> &Attachments {
        &self.attached
    }
}
