//! What traffic leaves of links and adapters.

use crate::topology::{Back, End, Gpu, Path, Topology};

/// GB/s that are left. Links keep three decimals, as in NCCL, also once all is put back.
#[derive(Clone, Debug)]
pub(crate) struct Capacity {
    links: Vec<f32>,
    pub(crate) nets: Vec<f32>,
}

/// What a path asks of each link.
#[derive(Clone, Copy, Debug)]
struct Rates {
    gb_s: f32,
    pci_gb_s: f32,
    is_from_gpu: bool,
}

impl Capacity {
    pub(crate) fn new(topology: &Topology) -> Self {
        let links = topology.links.iter().map(|link| link.gb_s).collect();
        Self { links, nets: topology.nets.iter().map(|net| net.gb_s).collect() }
    }

    /// Whole GB/s left of a GPU's PCI Express link in its busier direction, -1 without one.
    pub(crate) fn pci_gb_s(&self, gpu: &Gpu) -> i32 {
        gpu.pci.map_or(-1, |[up, down]| self.links[up].min(self.links[down]) as i32)
    }

    /// Take GB/s of all links of a path, or of none where one has less. Negative ones are put back.
    pub(crate) fn take(&mut self, topology: &Topology, path: &Path, from: End, gb_s: f32) -> bool {
        // SOURCE: NVIDIA/nccl, src/graph/topo.h: what processors of Intel lose between two devices.
        let pci_gb_s = if path.takes_more_pci { gb_s * 6. / 5. } else { gb_s };
        let rates = Rates { gb_s, pci_gb_s, is_from_gpu: matches!(from, End::Gpu(_)) };
        let n_taken = self.take_of_links(topology, &path.links, rates);
        if n_taken < path.links.len() {
            let back = Rates { gb_s: -gb_s, pci_gb_s: -pci_gb_s, ..rates };
            self.take_of_links(topology, &path.links[..n_taken], back);
        }
        n_taken == path.links.len()
    }

    /// How many links had enough.
    fn take_of_links(&mut self, topology: &Topology, links: &[usize], rates: Rates) -> usize {
        for (i, &index) in links.iter().enumerate() {
            let link = &topology.links[index];
            let forth = if link.is_pci { rates.pci_gb_s } else { rates.gb_s };
            let back = match link.back {
                Back::Eighth if !rates.is_from_gpu => forth / 8.,
                Back::Whole => forth,
                _ => 0.,
            };
            let reverse = link.reverse.filter(|_| back != 0.);
            let is_short_of_back = reverse.is_some_and(|reverse| self.links[reverse] < back);
            if self.links[index] < forth || is_short_of_back {
                return i;
            }
            self.links[index] = less(self.links[index], forth);
            if let Some(reverse) = reverse {
                self.links[reverse] = less(self.links[reverse], back);
            }
        }
        links.len()
    }

    /// Take whole GB/s of an adapter's port, whichever networks share it.
    pub(crate) fn take_of_port(&mut self, topology: &Topology, port: u32, gb_s: f32) {
        for (left, net) in self.nets.iter_mut().zip(&topology.nets) {
            if net.port == port {
                *left -= gb_s;
            }
        }
    }
}

fn less(gb_s: f32, taken: f32) -> f32 {
    ((gb_s - taken) * 1000.).round() / 1000.
}
