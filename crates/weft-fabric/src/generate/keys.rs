//! Keys that generators share: their defaults, their limits, and the names made from them.

use crate::document::FABRIC_SCHEMA;
use crate::error::FabricError;

/// Every generator's name.
pub(super) const GENERATORS: &str = "fat_tree, directors, rails or dragonfly";
/// Most nodes, HCAs a node, spines or cables that a generator is asked for.
const MAX_COUNT: u32 = 1_000_000;
/// Most cables of a generated fabric.
const MAX_LINKS: u64 = 2_000_000;

/// A generator's spec: the keys of all generators before and behind its own.
macro_rules! spec {
    ($(#[$about:meta])* pub struct $name:ident { $($own:tt)* }) => {
        $(#[$about])*
        #[derive(Clone, Debug, PartialEq, Eq, serde::Deserialize)]
        #[serde(deny_unknown_fields)]
        pub struct $name {
            /// `weft.fabric/1`, optional here.
            #[serde(default = "crate::generate::keys::schema")]
            pub schema: String,
            /// The generator's name.
            pub generate: String,
            /// A name for people; the generator's with the number of nodes without one.
            pub name: Option<String>,
            /// Its guesses.
            #[serde(default)]
            pub assumed: Vec<String>,
            $($own)*
            /// The engine that should fill the tables.
            pub routing: Option<crate::document::RoutingDocument>,
        }

        impl $name {
            /// The document of so many nodes, without anything in it yet.
            fn draft(
                &self,
                generator: &str,
                n_nodes: u32,
                admit: crate::generate::Admission,
            ) -> crate::generate::draft::Draft {
                let name = self.name.clone();
                let document = crate::document::FabricDocument {
                    schema: self.schema.clone(),
                    name: name.unwrap_or_else(|| format!("{generator}-{n_nodes}")),
                    assumed: self.assumed.clone(),
                    routing: self.routing,
                    ..crate::document::FabricDocument::default()
                };
                crate::generate::draft::Draft::new(document, n_nodes, self.hcas_per_node, admit)
            }
        }
    };
}

/// Keys of a spec that must be 1 or more.
macro_rules! require_counts {
    ($spec:ident, $($key:ident),+) => {
        $(crate::generate::keys::at_least_one(stringify!($key), $spec.$key)?;)+
    };
}

/// Keys of a spec that have no meaning in a kind of fabric.
macro_rules! refuse_keys {
    ($spec:ident, $of:expr, $($key:ident),+) => {
        $(crate::generate::keys::refused(stringify!($key), $of, $spec.$key.is_some())?;)+
    };
}

/// A key of a spec that must be there in a kind of fabric, and be 1 or more.
macro_rules! require_key {
    ($spec:ident, $of:expr, $key:ident) => {
        crate::generate::keys::required(stringify!($key), $of, $spec.$key)?
    };
}

pub(super) use {refuse_keys, require_counts, require_key, spec};

pub(super) fn schema() -> String {
    FABRIC_SCHEMA.to_owned()
}

pub(super) fn one() -> u32 {
    1
}

pub(super) fn at_least_one(key: &str, value: u32) -> Result<u32, FabricError> {
    let place = format!("fabric.{key}");
    match value {
        0 => Err(FabricError::document(place, "it is 0", "1 or more")),
        1..=MAX_COUNT => Ok(value),
        _ => Err(FabricError::document(place, format!("it is {value}"), "1000000 at most")),
    }
}

/// The value of a key that must be there, and be 1 or more.
pub(super) fn required(key: &str, of: &str, value: Option<u32>) -> Result<u32, FabricError> {
    let value = value.ok_or_else(|| {
        let expected = format!("'{key}' in {of}");
        FabricError::document("fabric", format!("'{key}' is missing"), expected)
    })?;
    at_least_one(key, value)
}

pub(super) fn refused(key: &str, of: &str, present: bool) -> Result<(), FabricError> {
    if present {
        let what = format!("'{key}' has no meaning in {of}");
        return Err(FabricError::document(format!("fabric.{key}"), what, "no such key"));
    }
    Ok(())
}

pub(super) fn limit_links(n_links: u64) -> Result<(), FabricError> {
    if n_links > MAX_LINKS {
        let what = format!("about {n_links} cables");
        return Err(FabricError::document("fabric", what, format!("at most {MAX_LINKS}")));
    }
    Ok(())
}

/// 'leaf-07': padded so that names sort.
pub(super) fn switch_name(kind: &str, index: u32, count: u32) -> String {
    let width = count.to_string().len().max(2);
    format!("{kind}-{:0width$}", index + 1)
}

pub(super) fn port(kind: &str, index: u32, count: u32, number: u32) -> String {
    format!("{}[{number}]", switch_name(kind, index, count))
}
