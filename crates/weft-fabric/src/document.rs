//! The fabric document (schema `weft.fabric/1`).

use crate::error::FabricError;
use crate::units::{BitsPerSecond, Picoseconds};
use serde::{Deserialize, Serialize};
use serde_json::Value;
use std::collections::BTreeMap;

/// The schema this crate reads and writes.
pub const FABRIC_SCHEMA: &str = "weft.fabric/1";

/// A compute node and the HCAs in it.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize)]
#[serde(deny_unknown_fields)]
pub struct NodeDocument {
    /// The node's name.
    pub name: String,
    /// Names of its HCAs, one rail each, in rail order.
    pub hcas: Vec<String>,
}

/// A switch.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize)]
#[serde(deny_unknown_fields)]
pub struct SwitchDocument {
    /// The switch's name.
    pub name: String,
    /// How many ports it has; they are numbered from 1.
    pub ports: u32,
    /// 1 where HCAs attach, rising towards the roots; 0 where unknown (then it is worked out).
    #[serde(default)]
    pub level: u32,
    /// The group of a dragonfly it is in.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub group: Option<u32>,
}

/// A cable between two ports.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize)]
#[serde(deny_unknown_fields)]
pub struct LinkDocument {
    /// One end, `vertex[number]`.
    pub a: String,
    /// The other end.
    pub b: String,
    /// Rate of each direction.
    pub bits_per_s: BitsPerSecond,
    /// Time of flight.
    pub delay_ps: Picoseconds,
}

/// A whole fabric.
#[derive(Clone, Debug, Default, PartialEq, Eq, Serialize, Deserialize)]
#[serde(deny_unknown_fields)]
pub struct FabricDocument {
    /// `weft.fabric/1`.
    pub schema: String,
    /// A name for people.
    #[serde(default)]
    pub name: String,
    /// Its guesses, for people.
    #[serde(default, skip_serializing_if = "Vec::is_empty")]
    pub assumed: Vec<String>,
    /// Compute nodes.
    pub nodes: Vec<NodeDocument>,
    /// Switches.
    pub switches: Vec<SwitchDocument>,
    /// Cables.
    pub links: Vec<LinkDocument>,
    /// Per switch, the output port number for each HCA in document order (0: no route).
    #[serde(skip_serializing_if = "Option::is_none")]
    pub lfts: Option<BTreeMap<String, Vec<u32>>>,
    /// Virtual lanes of the paths of `lfts`; absent, the scenario's service levels decide.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub lanes: Option<PathLanesDocument>,
    /// The engine that should fill `lfts`; absent in a document that was written out.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub routing: Option<RoutingDocument>,
}

/// Virtual lanes of the paths of a document's own tables.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize)]
#[serde(deny_unknown_fields)]
pub struct PathLanesDocument {
    /// How many data lanes a port has.
    pub count: u8,
    /// Per switch, the service level of packets from its HCAs to each HCA in document order; a
    /// switch that is left out has level 0.
    pub levels: BTreeMap<String, Vec<u8>>,
    /// Lists of the lanes of the 16 service levels; 15 drops a packet.
    pub sl2vl: Vec<[u8; 16]>,
    /// Per switch, by ingress port, by egress port, the number of a list; an HCA has one of each.
    /// What is left out has list 0.
    #[serde(default, skip_serializing_if = "BTreeMap::is_empty")]
    pub ports: BTreeMap<String, Vec<Vec<u16>>>,
}

/// The choice of the routing engine that fills the tables.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Serialize, Deserialize)]
#[serde(deny_unknown_fields)]
pub struct RoutingDocument {
    /// The engine.
    pub engine: Engine,
}

/// A routing engine.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Serialize, Deserialize)]
#[serde(rename_all = "snake_case")]
pub enum Engine {
    /// Up ports by destination modulo, as in a fat-tree (Zahavi 2010).
    Dmodk,
    /// Fewest hops, the least used port of those.
    Minhop,
    /// Fewest hops up and then down only, the least used port of those: free of credit loops.
    Updn,
    /// Fewest hops between groups, then fewest hops, the least used port of those; the virtual
    /// lane rises with each hop between groups.
    Dragonfly,
    /// Fewest hops, one of those ports by a hash of the queue pair.
    Ecmp,
}

impl Engine {
    /// The engine of a name.
    pub fn from_name(name: &str) -> Result<Engine, FabricError> {
        serde_json::from_value(Value::from(name)).map_err(|error| {
            let (what, error) = (format!("unknown engine '{name}'"), error.to_string());
            let known = error.split_once("expected ").map_or("", |(_, known)| known);
            FabricError::document("routing.engine", what, known)
        })
    }
}
