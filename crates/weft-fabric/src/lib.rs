//! The network: units, ids, fabric documents, generators, routing, checks, readers of real files.
//!
//! A [`document::FabricDocument`] becomes a valid [`Fabric`]. [`Routes`] holds its forwarding
//! tables; [`check`] walks both before a simulation.
//!
//! Rooms, each built on those before it: `units`, `ids`, `limits`, `error`, `json`, `node_set`;
//! `document`, `node`, `fabric`, `generate`, `routing`; `subnet`, `read`, `opensm`, `paths`,
//! `export`, `alteration`.
#![forbid(unsafe_code)]

pub mod alteration;
pub mod document;
pub mod error;
pub mod export;
pub mod fabric;
pub mod generate;
pub mod ids;
pub mod json;
pub mod limits;
pub mod node;
pub mod node_set;
pub mod opensm;
pub mod paths;
pub mod read;
pub mod routing;
pub mod subnet;
pub mod units;

pub use error::FabricError;
pub use fabric::{Fabric, fault};
pub use ids::{HcaId, NodeId, PortId, SwitchId, VertexId};
pub use node::{InnerId, NodeGraph, NodeGraphDocument};
pub use routing::{Attachments, Candidates, PathLanes, Routes, Tables, check, engines, lane_paths};
pub use units::{BitsPerSecond, Picoseconds};
