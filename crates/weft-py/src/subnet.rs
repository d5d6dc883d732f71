//! A real subnet across the border: read once, examined many times.

use crate::description::describe;
use crate::progress::{Counted, InFiles};
use crate::refuse;
use crate::survey::{Bisection, CreditLoop, Loads, Shifts, Survey};
use pyo3::prelude::*;
use std::fs::File;
use std::io::{self, Read};
use std::sync::Arc;
use weft_fabric::alteration::{Alteration, NewCable, NewSwitch, altered};
use weft_fabric::export::{self, Export};
use weft_fabric::opensm::{self, OpensmEngine, Options};
use weft_fabric::paths::{self, Choice, Hop, Net};
use weft_fabric::subnet::{End, Gathered, Lfts, LinkRate, Unsaid, entry_changes};
use weft_fabric::{BitsPerSecond, Fabric, FabricError, Picoseconds, read};

/// A subnet with forwarding tables: its own, or a routing engine's.
#[pyclass(frozen, module = "weft._engine")]
pub(crate) struct Subnet {
    subnet: Arc<weft_fabric::subnet::Subnet>,
    lfts: Arc<Lfts>,
}

/// The subnet that some files describe, each known by its content ('-' is standard input); without
/// files that of a fabric document or a generator, its tables filled if an engine is named there.
#[pyfunction]
#[pyo3(signature = (paths, spec_json = None))]
pub(crate) fn read_subnet(
    py: Python<'_>,
    paths: Vec<String>,
    spec_json: Option<&str>,
) -> PyResult<Subnet> {
    if let Some(spec_json) = spec_json {
        return build_subnet(py, spec_json);
    }
    let of = InFiles::of(paths.iter().map(String::as_str));
    let read = py.detach(|| -> io::Result<_> {
        let mut gathered = Gathered::default();
        for path in &paths {
            let mut input: Box<dyn Read> = match path.as_str() {
                "-" => Box::new(io::stdin().lock()),
                _ => {
                    let input = File::open(path).map_err(|error| with_path(path, &error))?;
                    Box::new(Counted { input, of: &of })
                }
            };
            read::read(path, &mut *input, &mut gathered)
                .map_err(|error| with_path(path, &error))?;
        }
        Ok(weft_fabric::subnet::Subnet::of(gathered))
    });
    Ok(whole(read?))
}

/// The error with the file that it is about.
pub(crate) fn with_path(path: &str, error: &io::Error) -> io::Error {
    io::Error::new(error.kind(), format!("'{path}': {error}"))
}

fn build_subnet(py: Python<'_>, spec_json: &str) -> PyResult<Subnet> {
    let built = py.detach(|| -> Result<_, FabricError> {
        let written = weft_fabric::subnet::Subnet::parse_document(spec_json)?;
        weft_fabric::subnet::Subnet::of_fabric(&Fabric::new(&written)?)
    });
    built.map(whole).map_err(refuse)
}

fn whole(mut subnet: weft_fabric::subnet::Subnet) -> Subnet {
    let lfts = Arc::new(std::mem::take(&mut subnet.lfts));
    Subnet { subnet: Arc::new(subnet), lfts }
}

/// The same subnet with the tables that an engine of OpenSM computes; `roots` are node GUIDs, none
/// where the engine should find them. With `dead` the tables are those that a manager has once the
/// cables at these ports, named as in a fabric document, are down: by the engine, or with entries
/// over these cables moved. With it the engine that filled them; none where entries were moved.
#[pyfunction]
#[pyo3(signature = (subnet, engine, dead=None, roots=Vec::new()))]
pub(crate) fn route_subnet(
    py: Python<'_>,
    subnet: &Subnet,
    engine: Option<&str>,
    dead: Option<Vec<String>>,
    roots: Vec<u64>,
) -> PyResult<(Subnet, Option<&'static str>)> {
    let engine = engine.map(engine_of).transpose()?;
    let of = &subnet.subnet;
    let options = Options { roots };
    let ends = dead.map(|dead| of.ends_named(&dead)).transpose().map_err(refuse)?;
    let filled = py.detach(|| match (engine, ends) {
        (Some(engine), None) => {
            opensm::route(of, engine, &options).map(|routed| (routed.lfts, Some(engine)))
        }
        (engine, ends) => {
            let ends = ends.unwrap_or_default();
            opensm::reroute(of, &subnet.lfts, engine, &options, &ends)
                .map(|rerouted| (rerouted.lfts, rerouted.engine))
        }
    });
    let (lfts, used) = filled.map_err(refuse)?;
    let routed = Subnet { subnet: Arc::clone(of), lfts: Arc::new(lfts) };
    Ok((routed, used.map(OpensmEngine::name)))
}

fn engine_of(word: &str) -> PyResult<OpensmEngine> {
    OpensmEngine::from_word(word).ok_or_else(|| {
        let expected = "minhop, updn or ftree";
        let what = format!("unknown engine '{word}'");
        refuse(FabricError::document("engine", what, expected))
    })
}

/// Node and port of an end.
type Place = (u32, u8);
/// A cable on a path: the port it leaves by, and the port at the other end.
type Cable = (Place, Place);

/// A new switch: GUID, description, how many ports, LID.
type SwitchColumns = (u64, String, u8, u16);
/// A new cable: each end by its node's GUID and its number; the rate as '4xHDR', or nothing.
type CableColumns = ((u64, u8), (u64, u8), Option<String>);

/// Entries compared, entries that differ, and these by switch, adapter, its port, port before, now.
type Changes = (u64, u64, Vec<(u32, u32, u8, u8, u8)>);

#[pymethods]
impl Subnet {
    /// Everything that was read, as a JSON document.
    fn description(&self, py: Python<'_>) -> String {
        py.detach(|| describe(&self.subnet, &self.lfts))
    }

    /// The subnet without the nodes `gone` and the cables at the ports `unplugged`, then with new
    /// switches and cables; tables are those of before.
    fn altered(
        &self,
        py: Python<'_>,
        gone: Vec<u32>,
        unplugged: Vec<Place>,
        switches: Vec<SwitchColumns>,
        cables: Vec<CableColumns>,
    ) -> PyResult<Subnet> {
        let switch =
            |(guid, description, n_ports, lid)| NewSwitch { guid, description, n_ports, lid };
        let cable = |(a, b, rate): CableColumns| {
            let rate = rate.map(|word| {
                LinkRate::from_word(&word)
                    .ok_or_else(|| FabricError::document("rate", word, "a rate as 4xHDR"))
            });
            Ok(NewCable { ends: [a, b], rate: rate.transpose()? })
        };
        let unplugged = unplugged.into_iter().map(|(node, port)| End { node, port }).collect();
        let cables: Result<_, FabricError> = cables.into_iter().map(cable).collect();
        let alteration = Alteration {
            gone: gone.into_iter().collect(),
            unplugged,
            switches: switches.into_iter().map(switch).collect(),
            cables: cables.map_err(refuse)?,
        };
        let after = py.detach(|| altered(&self.subnet, &self.lfts, &alteration));
        let (subnet, lfts) = after.map_err(refuse)?;
        Ok(Subnet { subnet: Arc::new(subnet), lfts: Arc::new(lfts) })
    }

    /// How many entries of tables an account from `before` has too, how many differ, and of the
    /// first `most` of these: switch, node and port of the adapter, port before and now.
    fn changed_entries(&self, py: Python<'_>, before: &Subnet, most: usize) -> Changes {
        let earlier = (&*before.subnet, &*before.lfts);
        let found = py.detach(|| entry_changes((&*self.subnet, &*self.lfts), earlier, most));
        let first = found.first.iter();
        let first = first.map(|one| (one.switch, one.to.node, one.to.port, one.before, one.now));
        (found.n_compared, found.n_changed, first.collect())
    }

    /// Lengths of all paths between end ports, paths that do not arrive, valleys.
    fn survey(&self, py: Python<'_>) -> Survey {
        py.detach(|| paths::survey(&self.net()).into())
    }

    /// Paths over every cable between switches for `pairs` of end ports; for all pairs without.
    #[pyo3(signature = (pairs=None))]
    fn loads(&self, py: Python<'_>, pairs: Option<Vec<(u32, u32)>>) -> PyResult<Loads> {
        let loads = py.detach(|| {
            let net = self.net();
            Ok(match pairs {
                None => paths::all_to_all(&net),
                Some(pairs) => paths::of_pairs(&net, &known(&net, pairs)?),
            })
        });
        Ok(Loads(loads.map_err(|error: FabricError| refuse(error))?))
    }

    /// The fullest cable of up to `most` shifts.
    fn shifts(&self, py: Python<'_>, most: u32) -> Shifts {
        py.detach(|| paths::shifts(&self.net(), most).into())
    }

    /// Effective bisection bandwidth; none with fewer than two end ports.
    fn bisection(&self, py: Python<'_>, matchings: u32, seed: u64) -> Option<Bisection> {
        py.detach(|| paths::bisection(&self.net(), matchings, seed).map(Bisection::from))
    }

    /// A credit loop on a service level, if there is one.
    fn credit_loop(&self, py: Python<'_>, service_level: u8) -> Option<CreditLoop> {
        let found =
            py.detach(|| paths::credit_loop(&self.net(), &self.subnet.sl2vl, service_level));
        found.map(CreditLoop::from)
    }

    /// The cables from a port to a LID, or all that adaptive routing may take; else the error.
    #[pyo3(signature = (node, port, lid, adaptive=false))]
    fn trace(
        &self,
        py: Python<'_>,
        node: u32,
        port: u8,
        lid: u16,
        adaptive: bool,
    ) -> PyResult<(Vec<Cable>, Option<String>, bool)> {
        if self.subnet.nodes.get(node as usize).is_none() {
            let what = format!("there is no node {node}");
            return Err(refuse(FabricError::document("node", what, "a node's number")));
        }
        let hops = py.detach(|| self.hops(End { node, port }, lid, adaptive));
        let place = |end: End| (end.node, end.port);
        Ok(match hops {
            Ok(hops) => {
                let cables = hops.iter().map(|hop| (place(hop.egress), place(hop.ingress)));
                (cables.collect(), None, false)
            }
            Err(error) => {
                let is_unknown = matches!(error, paths::PathError::NoTable { .. });
                (Vec::new(), Some(error.to_string()), is_unknown)
            }
        })
    }

    /// The subnet as text for ibsim, slurm or graphml, or as a fabric document, and the facts that
    /// the text changes. Of a document: its `name`, the rate of cables without one, and the delay
    /// of all.
    #[pyo3(signature = (format, name = "", bits_per_s = 0, delay_ps = 0))]
    fn export(
        &self,
        py: Python<'_>,
        format: &str,
        name: &str,
        bits_per_s: u64,
        delay_ps: u64,
    ) -> PyResult<(String, Vec<String>)> {
        let write: fn(&weft_fabric::subnet::Subnet) -> Export = match format {
            "ibsim" => export::ibsim,
            "slurm" => export::slurm,
            "graphml" => export::graphml,
            "fabric" => {
                let unsaid =
                    Unsaid { rate: BitsPerSecond(bits_per_s), delay: Picoseconds(delay_ps) };
                return py.detach(|| self.fabric_document(name, unsaid)).map_err(refuse);
            }
            _ => {
                let what = format!("unknown format '{format}'");
                let expected = "ibsim, slurm, graphml or fabric";
                return Err(refuse(FabricError::document("format", what, expected)));
            }
        };
        let Export { text, changed } = py.detach(|| write(&self.subnet));
        Ok((text, changed))
    }
}

impl Subnet {
    fn fabric_document(
        &self,
        name: &str,
        unsaid: Unsaid,
    ) -> Result<(String, Vec<String>), FabricError> {
        let mut routed = (*self.subnet).clone();
        routed.lfts = (*self.lfts).clone();
        let drawn = routed.to_fabric(name, unsaid)?;
        let text = serde_json::to_string(&drawn.document).expect("names and numbers");
        Ok((text, drawn.changed))
    }

    fn net(&self) -> Net<'_> {
        Net::new(&self.subnet, &self.lfts)
    }

    fn hops(&self, src: End, lid: u16, adaptive: bool) -> Result<Vec<Hop>, paths::PathError> {
        if !adaptive {
            return paths::trace(&self.subnet, &self.lfts, src, lid);
        }
        let choice = match self.subnet.adaptive.is_empty() {
            true => Choice::FewestHops,
            false => Choice::Groups(&self.subnet.adaptive),
        };
        paths::trace_adaptive(&self.subnet, &self.lfts, choice, src, lid)
    }
}

fn known(net: &Net<'_>, pairs: Vec<(u32, u32)>) -> Result<Vec<(u32, u32)>, FabricError> {
    let n = net.endports.len() as u32;
    match pairs.iter().find(|(a, b)| *a >= n || *b >= n) {
        None => Ok(pairs),
        Some(pair) => {
            let expected = format!("numbers of end ports, below {n}");
            Err(FabricError::document("pairs", format!("{pair:?}"), expected))
        }
    }
}
