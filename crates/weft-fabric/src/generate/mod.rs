//! Fabrics as written or generated: fat-trees, leaves below directors, rails, dragonflies.

pub mod directors;
mod draft;
pub mod dragonfly;
pub mod fat_tree;
mod keys;
pub mod rails;

pub use directors::{DirectorsSpec, directors};
pub use dragonfly::{DragonflySpec, dragonfly};
pub use fat_tree::{FatTreeSpec, LeafSpec, fat_tree};
pub use rails::{RailsSpec, rails};

use crate::document::{FABRIC_SCHEMA, FabricDocument, SwitchDocument};
use crate::error::FabricError;
use crate::json::{self, UniqueValue};
use serde::de::DeserializeOwned;
use serde_json::Value;

/// Whether a fabric may have one more switch; the number counts it, the switches before and HCAs.
pub type Admission = fn(u64, &SwitchDocument) -> Result<(), FabricError>;

/// The document of a JSON value: as it stands, or generated from `{"generate": ...}`.
pub fn read(value: Value) -> Result<FabricDocument, FabricError> {
    read_admitted(value, |_, _| Ok(()))
}

fn read_admitted(value: Value, admit: Admission) -> Result<FabricDocument, FabricError> {
    let document = match value.get("generate").map(|name| name.as_str().unwrap_or_default()) {
        None => written(from_value(value)?, admit)?,
        Some("dragonfly") => dragonfly(&from_value(value)?, admit)?,
        Some("directors") => directors(&from_value(value)?, admit)?,
        Some("rails") => rails(&from_value(value)?, admit)?,
        Some(_) => fat_tree(&from_value(value)?, admit)?,
    };
    if document.schema != FABRIC_SCHEMA {
        return Err(FabricError::document(
            "fabric.schema",
            format!("'{}' is not a schema this version reads", document.schema),
            FABRIC_SCHEMA,
        ));
    }
    Ok(document)
}

fn written(document: FabricDocument, admit: Admission) -> Result<FabricDocument, FabricError> {
    let n_hcas: usize = document.nodes.iter().map(|node| node.hcas.len()).sum();
    for (n, switch) in (n_hcas as u64 + 1..).zip(&document.switches) {
        admit(n, switch)?;
    }
    Ok(document)
}

fn from_value<T: DeserializeOwned>(value: Value) -> Result<T, FabricError> {
    json::from_value("fabric", "fabric.", value)
}

/// The document of a JSON text.
pub fn parse(text: &str) -> Result<FabricDocument, FabricError> {
    parse_admitted(text, |_, _| Ok(()))
}

/// The document of a JSON text, its switches admitted before there are cables: of those a
/// generator may build millions.
pub(crate) fn parse_admitted(text: &str, admit: Admission) -> Result<FabricDocument, FabricError> {
    read_admitted(json::from_text::<UniqueValue>("fabric", "fabric.", text)?.0, admit)
}
