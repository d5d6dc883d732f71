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

use crate::document::{FABRIC_SCHEMA, FabricDocument};
use crate::error::FabricError;
use crate::json::{self, UniqueValue};
use serde::de::DeserializeOwned;
use serde_json::Value;

/// The document of a JSON value: as it stands, or generated from `{"generate": ...}`.
pub fn read(value: Value) -> Result<FabricDocument, FabricError> {
    let document: FabricDocument =
        match value.get("generate").map(|name| name.as_str().unwrap_or_default()) {
            None => from_value(value)?,
            Some("dragonfly") => dragonfly(&from_value(value)?)?,
            Some("directors") => directors(&from_value(value)?)?,
            Some("rails") => rails(&from_value(value)?)?,
            Some(_) => fat_tree(&from_value(value)?)?,
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

fn from_value<T: DeserializeOwned>(value: Value) -> Result<T, FabricError> {
    json::from_value("fabric", "fabric.", value)
}

/// The document of a JSON text.
pub fn parse(text: &str) -> Result<FabricDocument, FabricError> {
    read(json::from_text::<UniqueValue>("fabric", "fabric.", text)?.0)
}
