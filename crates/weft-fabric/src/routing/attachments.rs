//! Attachments of HCAs to switches: destinations on one leaf share most of every table.

use crate::fabric::Fabric;
use crate::ids::{HcaId, PortId, SwitchId};

/// Where an HCA is attached.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
struct Attachment {
    /// Its leaf.
    leaf: u32,
    /// Its number among the HCAs of the leaf, in document order.
    place: u16,
    /// Number (from 0) of the leaf's port it is cabled to.
    number: u16,
}

/// Leaves, the switches that HCAs hang on, in switch order; and the place of every HCA.
///
/// HCAs that are cabled to no switch share one leaf more, which is no switch.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Attachments {
    places: Vec<Attachment>,
    switches: Vec<Option<SwitchId>>,
    hcas: Vec<Vec<HcaId>>,
    /// By leaf: HCAs on the leaves before it.
    before: Vec<u32>,
}

impl Attachments {
    /// The attachments of a fabric, dead cables included.
    pub fn of(fabric: &Fabric) -> Attachments {
        let n_switches = fabric.n_switches() as usize;
        let mut on_switch: Vec<Vec<(HcaId, u16)>> = vec![Vec::new(); n_switches + 1];
        for hca in (0..fabric.n_hcas()).map(HcaId) {
            let (slot, number) = match far_end(fabric, hca) {
                Some((switch, number)) => (switch.index(), number),
                None => (n_switches, 0),
            };
            on_switch[slot].push((hca, number));
        }
        let nowhere = Attachment { leaf: 0, place: 0, number: 0 };
        let mut attachments = Attachments {
            places: vec![nowhere; fabric.n_hcas() as usize],
            switches: Vec::new(),
            hcas: Vec::new(),
            before: Vec::new(),
        };
        let mut before = 0;
        for (slot, there) in on_switch.into_iter().enumerate() {
            if there.is_empty() {
                continue;
            }
            let leaf = attachments.switches.len() as u32;
            let switch = (slot < n_switches).then_some(SwitchId(slot as u32));
            attachments.switches.push(switch);
            attachments.before.push(before);
            before += there.len() as u32;
            for (place, (hca, number)) in there.iter().enumerate() {
                attachments.places[hca.index()] =
                    Attachment { leaf, place: place as u16, number: *number };
            }
            attachments.hcas.push(there.into_iter().map(|(hca, _)| hca).collect());
        }
        attachments
    }

    /// How many leaves there are.
    pub fn n_leaves(&self) -> usize {
        self.switches.len()
    }

    /// The leaf of an HCA.
    #[inline(always)]
    pub fn leaf_of(&self, hca: HcaId) -> usize {
        self.places[hca.index()].leaf as usize
    }

    /// The number of an HCA among those of its leaf.
    #[inline(always)]
    pub fn place_of(&self, hca: HcaId) -> usize {
        usize::from(self.places[hca.index()].place)
    }

    /// The number of an HCA when HCAs are counted leaf by leaf.
    #[inline(always)]
    pub fn order_of(&self, hca: HcaId) -> u32 {
        let at = self.places[hca.index()];
        self.before[at.leaf as usize] + u32::from(at.place)
    }

    /// The number (from 0) of the leaf's port that an HCA is cabled to.
    #[inline(always)]
    pub fn number_of(&self, hca: HcaId) -> &u16 {
        &self.places[hca.index()].number
    }

    /// The switch a leaf is; none for HCAs that are cabled to no switch.
    #[inline(always)]
    pub fn switch_of(&self, leaf: usize) -> Option<SwitchId> {
        self.switches[leaf]
    }

    /// The HCAs of a leaf, in document order.
    pub fn hcas_of(&self, leaf: usize) -> &[HcaId] {
        &self.hcas[leaf]
    }
}

/// The switch port at the other end of an HCA's cable, whether it is up or not.
fn far_end(fabric: &Fabric, hca: HcaId) -> Option<(SwitchId, u16)> {
    let peer: PortId = fabric.ports[fabric.hca_port(hca).index()].peer?;
    let vertex = fabric.ports[peer.index()].vertex;
    let switch = fabric.switch(vertex)?;
    let number = peer.0 - fabric.vertices[vertex.index()].first_port.0;
    Some((switch, u16::try_from(number).expect("a switch of at most 65535 ports")))
}
