//! The kinds of faults: the keys of each in the document, and the change that it makes.
//!
//! A new kind is a row of `kinds!`, the function it names, and its keys in `document/fault.rs`.

use crate::document::{CorrectedDocument, FaultDocument, NoiseDocument};
use crate::error::SimError;
use crate::limits::ps;
use crate::model::faults::run_faults::{LinkFault, Planted, Trouble, WrongRoute};
use crate::model::faults::span::Span;
use crate::model::host::Noise;
use crate::model::placement::place::node_named;
use weft_fabric::fault as cable;
use weft_fabric::{Fabric, HcaId};

/// Widest cable there is: 12x.
///
/// SOURCE: InfiniBand Architecture Specification volume 2, chapter 5 (link widths).
const MAX_LANES: u32 = 12;

/// Makes of one table of kinds their keys, and the choice of the function that plants a fault.
macro_rules! kinds {
    ($($kind:ident($place:ident $(, $key:ident)*),)+) => {
        /// The keys of each kind, the place first.
        const KINDS: &[&[&str]] = &[$(&[stringify!($place) $(, stringify!($key))*]),+];

        /// The keys that a fault has, the place first; times are no part of a kind.
        fn keys_of(fault: &FaultDocument) -> Vec<&'static str> {
            let places = [$((stringify!($place), fault.$place.is_some())),+];
            let others = [$($((stringify!($key), fault.$key.is_some()),)*)+];
            let mut keys = Vec::new();
            for (key, is_given) in places.into_iter().chain(others) {
                if is_given && !keys.contains(&key) {
                    keys.push(key);
                }
            }
            keys
        }

        /// Plant a fault of the kind that has exactly these keys.
        fn plant_kind(site: &mut Site<'_>, fault: &FaultDocument, keys: &[&str]) -> Planting {
            match fault {
                $(FaultDocument { $place: Some($place) $(, $key: Some($key))*, .. }
                    if keys == [stringify!($place) $(, stringify!($key))*] =>
                {
                    $kind(site, $place $(, $key)*)
                })+
                _ => {
                    let what = format!("no such fault: {}", keys.join(" with "));
                    let kinds: Vec<String> = KINDS.iter().map(|keys| keys.join(" with ")).collect();
                    Err(SimError::document(&site.place, what, kinds.join(", ")))
                }
            }
        }
    };
}

kinds! {
    slow_cable(link, rate_factor),
    narrow_cable(link, lanes),
    dead_cable(link, down),
    corrected_errors(link, corrected),
    lost_packets(link, lost),
    slow_node(node, slow_factor),
    noisy_node(node, noise),
    wrong_route(switch, dst, port),
    swapped_cables(swapped),
}

type Planting = Result<(), SimError>;

/// Where a fault of the document is planted, and its times.
struct Site<'a> {
    fabric: &'a mut Fabric,
    planted: &'a mut Planted,
    place: String,
    /// Number of the fault in the document.
    number: usize,
    span: Option<Span>,
}

impl Planted {
    /// Plant the faults of a document. Swapped cables come first: other faults name the sockets
    /// of the fabric as it is then.
    pub(crate) fn plant(
        fabric: &mut Fabric,
        documents: &[FaultDocument],
    ) -> Result<Planted, SimError> {
        let mut planted = Planted::none(fabric.nodes.len());
        let mut faults: Vec<(usize, &FaultDocument)> = documents.iter().enumerate().collect();
        faults.sort_by_key(|(_, fault)| fault.swapped.is_none());
        for (number, fault) in faults {
            let (place, keys) = (format!("faults[{number}]"), keys_of(fault));
            let span = Span::read(&place, fault)?;
            if span.is_some() && keys.first().is_some_and(|key| *key != "link") {
                let what = format!("'{}' holds from the start", keys[0]);
                return Err(SimError::document(place, what, "no from_ns, until_ns or every_ns"));
            }
            let mut site = Site { fabric, planted: &mut planted, place, number, span };
            plant_kind(&mut site, fault, &keys)?;
        }
        planted.require_live(fabric)?;
        Ok(planted)
    }
}

impl Site<'_> {
    /// The place of a key of this fault.
    fn at(&self, key: &str) -> String {
        format!("{}.{key}", self.place)
    }

    fn refuse(&self, key: &str, what: String, expected: impl Into<String>) -> Planting {
        Err(SimError::document(self.at(key), what, expected))
    }

    /// Rates and dead cables from the start belong to the fabric; all else happens in the run.
    fn on_cable(&mut self, link: &str, kind: LinkFault) -> Planting {
        let place = self.at("link");
        let port = self.fabric.port_named(&place, link)?;
        let ends = cable::ends(self.fabric, &place, port)?;
        match (kind, self.span) {
            (LinkFault::Rate(factor), None) => {
                let place = self.at("rate_factor");
                cable::scale_rate(self.fabric, &place, port, factor)?;
            }
            (LinkFault::Down, None) => cable::take_down(self.fabric, &self.place, port)?,
            (_, span) => {
                let always = Span { from_ps: 0, until_ps: None, every_ps: None };
                let span = span.unwrap_or(always);
                self.planted.troubles.push(Trouble { ends, kind, span, fault: self.number });
            }
        }
        Ok(())
    }

    /// A probability as so many of 2^32.
    fn chance(&self, key: &str, probability: f64) -> Result<u64, SimError> {
        if !(0.0..=1.0).contains(&probability) {
            let what = format!("the probability is {probability}");
            return Err(SimError::document(self.at(key), what, "a number from 0 to 1"));
        }
        Ok((probability * (1u64 << 32) as f64).round() as u64)
    }
}

fn slow_cable(site: &mut Site<'_>, link: &str, factor: &f64) -> Planting {
    if !(*factor > 0.0 && *factor <= 1.0) {
        let what = format!("the factor is {factor}");
        return site.refuse("rate_factor", what, "a number above 0, up to 1");
    }
    site.on_cable(link, LinkFault::Rate(*factor))
}

fn narrow_cable(site: &mut Site<'_>, link: &str, &[left, all]: &[u32; 2]) -> Planting {
    if left == 0 || left > all || all > MAX_LANES {
        let expected = format!("[left, of how many], from 1 to {MAX_LANES}");
        return site.refuse("lanes", format!("{left} lanes of {all}"), expected);
    }
    site.on_cable(link, LinkFault::Rate(f64::from(left) / f64::from(all)))
}

fn dead_cable(site: &mut Site<'_>, link: &str, is_down: &bool) -> Planting {
    if !is_down {
        return site.refuse("down", "it is false".to_owned(), "true");
    }
    site.on_cable(link, LinkFault::Down)
}

fn corrected_errors(site: &mut Site<'_>, link: &str, corrected: &CorrectedDocument) -> Planting {
    let chance = site.chance("corrected.probability", corrected.probability)?;
    let cost_ps = ps(&site.at("corrected.cost_ns"), corrected.cost_ns)?;
    site.on_cable(link, LinkFault::Corrected { chance, cost_ps })
}

fn lost_packets(site: &mut Site<'_>, link: &str, probability: &f64) -> Planting {
    let chance = site.chance("lost", *probability)?;
    site.on_cable(link, LinkFault::Lost(chance))
}

/// A node whose processors and HCAs are so many times slower.
fn slow_node(site: &mut Site<'_>, node: &str, factor: &f64) -> Planting {
    if !(1.0..=1000.0).contains(factor) {
        return site.refuse("slow_factor", format!("the factor is {factor}"), "from 1 to 1000");
    }
    let node = node_named(site.fabric, &site.at("node"), node)?;
    site.planted.slowness[node.index()] *= factor;
    let first = site.fabric.nodes[node.index()].first_hca.0;
    for hca in first..first + site.fabric.nodes[node.index()].n_hcas {
        let port = site.fabric.hca_port(HcaId(hca));
        cable::scale_rate(site.fabric, &site.place, port, 1.0 / factor)?;
    }
    Ok(())
}

/// A node whose processors are interrupted.
fn noisy_node(site: &mut Site<'_>, node: &str, noise: &NoiseDocument) -> Planting {
    let noise = Noise::read(&site.at("noise"), noise)?;
    let node = node_named(site.fabric, &site.at("node"), node)?;
    site.planted.noise[node.index()] = Some(noise);
    Ok(())
}

/// A switch that sends packets for a node or HCA to that port.
fn wrong_route(site: &mut Site<'_>, switch: &str, dst: &str, number: &u32) -> Planting {
    let fabric = &*site.fabric;
    let port = fabric.port_named(&site.at("switch"), &format!("{switch}[{number}]"))?;
    cable::ends(fabric, &site.at("port"), port)?;
    let Some(id) = fabric.switch(fabric.ports[port.index()].vertex) else {
        return site.refuse("switch", format!("'{switch}' is no switch"), "a switch");
    };
    let (first, n_hcas) = match (fabric.node_named(dst), fabric.hca_named(dst)) {
        (Some(node), _) => {
            let node = &fabric.nodes[node.index()];
            (node.first_hca.0, node.n_hcas)
        }
        (None, Some(hca)) => (hca.0, 1),
        (None, None) => {
            let what = format!("there is no node or HCA '{dst}'");
            return site.refuse("dst", what, "a node or HCA of the fabric");
        }
    };
    let dsts = (first..first + n_hcas).map(HcaId);
    let there = fabric.ports[port.index()].peer.map(|peer| fabric.ports[peer.index()].vertex);
    let there = there.and_then(|vertex| fabric.hca(vertex));
    if let Some(hca) = there.filter(|hca| dsts.clone().any(|dst| dst != *hca)) {
        // An HCA drops packets that are not its own.
        let what = format!("it leads to '{}'", fabric.vertices[hca.vertex().index()].name);
        return site.refuse("port", what, "a port to a switch, or to that destination itself");
    }
    let wrong = dsts.map(|dst| WrongRoute { switch: id, dst, number: *number });
    site.planted.wrong_routes.extend(wrong);
    Ok(())
}

/// One end each of two cables, plugged into each other's sockets.
fn swapped_cables(site: &mut Site<'_>, ends: &[String; 2]) -> Planting {
    let place = site.at("swapped");
    let [a, b] = [&ends[0], &ends[1]].map(|end| site.fabric.port_named(&place, end));
    Ok(cable::swap(site.fabric, &place, [a?, b?])?)
}
