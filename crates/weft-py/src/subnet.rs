//! A real subnet across the border: read once, asked many times. Questions and answers are JSON.

use crate::refuse;
use pyo3::prelude::*;
use serde::Deserialize;
use serde_json::{Map, Value, json};
use std::fs::File;
use std::io::{self, Read};
use std::sync::Arc;
use weft_fabric::export;
use weft_fabric::opensm::{self, OpensmEngine, Options};
use weft_fabric::paths::{self, Choice, Net};
use weft_fabric::subnet::Unsaid;
use weft_fabric::subnet::{End, Gathered, Lfts, SubnetNode};
use weft_fabric::{
    BitsPerSecond, Fabric, FabricError, Picoseconds, generate, json as documents, read,
};

/// A subnet with forwarding tables: its own, or a routing engine's.
#[pyclass(frozen, module = "weft._engine")]
pub(crate) struct Subnet {
    subnet: Arc<weft_fabric::subnet::Subnet>,
    lfts: Arc<Lfts>,
}

/// The subnet that some files describe, each known by its content ('-' is standard input).
#[pyfunction]
pub(crate) fn read_subnet(py: Python<'_>, paths: Vec<String>) -> PyResult<Subnet> {
    let read = py.detach(|| -> io::Result<_> {
        let mut gathered = Gathered::default();
        for path in &paths {
            let mut input: Box<dyn Read> = match path.as_str() {
                "-" => Box::new(io::stdin().lock()),
                _ => Box::new(File::open(path).map_err(|error| with_path(path, &error))?),
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

/// The subnet of a fabric document or a generator, its tables filled if an engine is named there.
#[pyfunction]
pub(crate) fn build_subnet(py: Python<'_>, spec_json: &str) -> PyResult<Subnet> {
    let built = py.detach(|| -> Result<_, FabricError> {
        let fabric = Fabric::new(&generate::parse(spec_json)?)?;
        weft_fabric::subnet::Subnet::of_fabric(&fabric)
    });
    built.map(whole).map_err(refuse)
}

fn whole(mut subnet: weft_fabric::subnet::Subnet) -> Subnet {
    let lfts = Arc::new(std::mem::take(&mut subnet.lfts));
    Subnet { subnet: Arc::new(subnet), lfts }
}

/// The same subnet with the tables that an engine of OpenSM computes; `roots` are node GUIDs, none
/// where the engine should find them.
#[pyfunction]
#[pyo3(signature = (subnet, engine, roots=Vec::new()))]
pub(crate) fn route_subnet(
    py: Python<'_>,
    subnet: &Subnet,
    engine: &str,
    roots: Vec<u64>,
) -> PyResult<Subnet> {
    let engine = OpensmEngine::from_word(engine).ok_or_else(|| {
        let expected = "minhop, updn or ftree";
        let what = format!("unknown engine '{engine}'");
        refuse(FabricError::document("engine", what, expected))
    })?;
    let routed = py.detach(|| opensm::route(&subnet.subnet, engine, &Options { roots }));
    let lfts = Arc::new(routed.map_err(refuse)?.lfts);
    Ok(Subnet { subnet: Arc::clone(&subnet.subnet), lfts })
}

/// The answer to a question, both JSON: docs/reference/fabric.md lists them.
#[pyfunction]
pub(crate) fn ask_subnet(py: Python<'_>, subnet: &Subnet, question_json: &str) -> PyResult<String> {
    let answer = py.detach(|| -> Result<_, FabricError> {
        let question = documents::from_text("question", "question.", question_json)?;
        answer(&subnet.subnet, &subnet.lfts, question)
    });
    Ok(answer.map_err(refuse)?.to_string())
}

/// What can be asked.
#[derive(Deserialize)]
#[serde(tag = "ask", rename_all = "snake_case", deny_unknown_fields)]
enum Question {
    /// Everything that was read.
    Describe {},
    /// Lengths of all paths, those that do not arrive, valleys.
    Survey {},
    /// Paths over every cable when all send to all.
    AllToAll {},
    /// Paths over every cable for pairs of end ports, by their numbers in `describe`.
    Pairs { pairs: Vec<(u32, u32)> },
    /// The fullest cable of up to `most` shifts.
    Shifts { most: u32 },
    /// Effective bisection bandwidth.
    Bisection { matchings: u32, seed: u64 },
    /// A credit loop on a service level.
    CreditLoop { service_level: u8 },
    /// The path from a port to a LID, or all that adaptive routing may take.
    Trace { node: u32, port: u8, lid: u16, adaptive: bool },
    /// The subnet as another program's text, and what that says differently.
    Export { to: Target },
}

/// Whom to export for.
#[derive(Deserialize)]
#[serde(rename_all = "snake_case", deny_unknown_fields)]
enum Target {
    /// The simulator's net file.
    Ibsim,
    /// `topology.conf`.
    Slurm,
    /// GraphML.
    Graphml,
    /// weft's own document; what no tool says of cables is taken from here.
    Json { name: String, bits_per_s: u64, delay_ps: u64 },
}

fn answer(
    subnet: &weft_fabric::subnet::Subnet,
    lfts: &Lfts,
    question: Question,
) -> Result<Value, FabricError> {
    let net = || Net::new(subnet, lfts);
    Ok(match question {
        Question::Describe {} => describe(subnet, lfts),
        Question::Survey {} => json!(paths::survey(&net())),
        Question::AllToAll {} => json!(paths::all_to_all(&net())),
        Question::Pairs { pairs } => json!(paths::of_pairs(&net(), &known(&net(), pairs)?)),
        Question::Shifts { most } => json!(paths::shifts(&net(), most)),
        Question::Bisection { matchings, seed } => {
            json!(paths::bisection(&net(), matchings, seed))
        }
        Question::CreditLoop { service_level } => {
            json!(paths::credit_loop(&net(), &subnet.sl2vl, service_level))
        }
        Question::Trace { node, port, lid, adaptive } => {
            let src = End { node, port };
            if subnet.nodes.get(node as usize).is_none() {
                let what = format!("there is no node {node}");
                return Err(FabricError::document("question.node", what, "a node's number"));
            }
            json!(trace(subnet, lfts, src, lid, adaptive))
        }
        Question::Export { to } => exported(subnet, lfts, to)?,
    })
}

fn exported(
    subnet: &weft_fabric::subnet::Subnet,
    lfts: &Lfts,
    to: Target,
) -> Result<Value, FabricError> {
    let export = match to {
        Target::Ibsim => export::ibsim(subnet),
        Target::Slurm => export::slurm(subnet),
        Target::Graphml => export::graphml(subnet),
        Target::Json { name, bits_per_s, delay_ps } => {
            let unsaid = Unsaid { rate: BitsPerSecond(bits_per_s), delay: Picoseconds(delay_ps) };
            let mut routed = subnet.clone();
            routed.lfts = lfts.clone();
            let drawn = routed.to_fabric(&name, unsaid)?;
            return Ok(json!({"document": drawn.document, "changed": drawn.changed}));
        }
    };
    Ok(json!({"text": export.text, "changed": export.changed}))
}

fn known(net: &Net<'_>, pairs: Vec<(u32, u32)>) -> Result<Vec<(u32, u32)>, FabricError> {
    let n = net.endports.len() as u32;
    match pairs.iter().find(|(a, b)| *a >= n || *b >= n) {
        None => Ok(pairs),
        Some(pair) => {
            let expected = format!("numbers of end ports, below {n}");
            Err(FabricError::document("question.pairs", format!("{pair:?}"), expected))
        }
    }
}

fn trace(
    subnet: &weft_fabric::subnet::Subnet,
    lfts: &Lfts,
    src: End,
    lid: u16,
    adaptive: bool,
) -> Value {
    let hops = if adaptive {
        let choice = match subnet.adaptive.is_empty() {
            true => Choice::FewestHops,
            false => Choice::Groups(&subnet.adaptive),
        };
        paths::trace_adaptive(subnet, lfts, choice, src, lid)
    } else {
        paths::trace(subnet, lfts, src, lid)
    };
    match hops {
        Ok(hops) => json!({"hops": hops}),
        Err(error) => json!({"error": error.to_string()}),
    }
}

fn describe(subnet: &weft_fabric::subnet::Subnet, lfts: &Lfts) -> Value {
    let net = Net::new(subnet, lfts);
    let nodes: Vec<Value> =
        subnet.nodes.iter().enumerate().map(|(at, node)| describe_node(&net, at, node)).collect();
    let endports: Vec<Value> =
        net.endports.iter().map(|it| json!([it.end.node, it.end.port, it.lid])).collect();
    let tables = (0..subnet.nodes.len()).filter(|node| lfts.row(*node).is_some()).count();
    let kept: Vec<Value> = (subnet.kept.iter())
        .map(|(place, name, rows)| json!({"place": place, "name": name, "n_rows": rows.len()}))
        .collect();
    json!({
        "nodes": nodes,
        "cables": cables(subnet),
        "assumed": subnet.assumed,
        "endports": endports,
        "port_guids": port_guids(subnet),
        "n_tables": tables,
        "n_adaptive": subnet.adaptive.len(),
        "n_sl2vl": subnet.sl2vl.len(),
        "readings": subnet.readings,
        "devices": subnet.devices,
        "tree": subnet.tree,
        "sm_logs": subnet.sm_logs,
        "insides": subnet.insides,
        "kept": kept,
        "sources": subnet.sources,
        "unread": subnet.unread,
        "misfits": subnet.misfits,
    })
}

/// A node, with those of its ports that no cable shows but something is known about.
fn describe_node(net: &Net<'_>, at: usize, node: &SubnetNode) -> Value {
    let number = net.switch_number(at as u32);
    let uncabled: Vec<Value> = (node.ports.iter().enumerate())
        .filter(|(_, port)| port.peer.is_none() && port.physical.is_some())
        .map(|(index, port)| json!({"port": index + 1, "physical": port.physical}))
        .collect();
    let lids: Map<String, Value> = (node.ports.iter().enumerate())
        .filter(|(_, port)| port.lid > 0)
        .map(|(index, port)| ((index + 1).to_string(), port.lid.into()))
        .collect();
    json!({
        "guid": node.guid,
        "system_guid": node.system_guid,
        "kind": node.kind,
        "description": node.description,
        "vendor": node.vendor,
        "device": node.device,
        "lid": node.lid,
        "lmc": node.lmc,
        "n_ports": node.ports.len(),
        "port_lids": lids,
        "level": number.and_then(|number| net.level(number)),
        "uncabled": uncabled,
    })
}

fn port_guids(subnet: &weft_fabric::subnet::Subnet) -> Vec<Value> {
    let mut found = Vec::new();
    for (index, node) in subnet.nodes.iter().enumerate() {
        for (at, port) in node.ports.iter().enumerate() {
            if let Some(guid) = port.guid {
                found.push(json!([index, at + 1, port.lid, guid]));
            }
        }
    }
    found
}

/// Every cable once, with what each of its ends says.
fn cables(subnet: &weft_fabric::subnet::Subnet) -> Vec<Value> {
    let end = |end: End| {
        let port = subnet.port(end).expect("cables are between ports");
        let rate = port.rate.map(|rate| rate.to_string());
        json!({
            "node": end.node,
            "port": end.port,
            "rate": rate,
            "gbps": port.rate.map(|rate| rate.data_rate().0 as f64 / 1e9),
            "supported": port.supported.map(|rate| rate.to_string()),
            "supported_gbps": port.supported.map(|rate| rate.data_rate().0 as f64 / 1e9),
            "logical": port.logical,
            "physical": port.physical,
            "facts": port.facts,
        })
    };
    subnet.cables().map(|(a, b)| json!([end(a), end(b)])).collect()
}
