//! JSON texts as documents. An error names the path of the wrong key; a repeated key is an error.

mod named_fields;

use crate::error::FabricError;
use named_fields::NamedFields;
use serde::de::{DeserializeOwned, DeserializeSeed, Error, MapAccess, SeqAccess, Visitor};
use serde::{Deserialize, Deserializer, Serialize};
use serde_json::{Map, Value};
use std::fmt;

/// The document of a JSON text. A wrong key is named by its path after `prefix`, and the document
/// as a whole by `name`.
pub fn from_text<T: DeserializeOwned>(
    name: &str,
    prefix: &str,
    text: &str,
) -> Result<T, FabricError> {
    let mut reader = serde_json::Deserializer::from_str(text);
    let document = serde_path_to_error::deserialize(NamedFields(&mut reader))
        .map_err(|error| refuse(name, prefix, &error))?;
    reader.end().map_err(|error| FabricError::from_json(name, &error))?;
    Ok(document)
}

/// The document of a JSON value, as [`from_text`].
pub fn from_value<T: DeserializeOwned>(
    name: &str,
    prefix: &str,
    value: Value,
) -> Result<T, FabricError> {
    serde_path_to_error::deserialize(NamedFields(value))
        .map_err(|error| refuse(name, prefix, &error))
}

/// The word of a value that documents write as one.
///
/// # Panics
/// Where documents write it otherwise.
pub fn word(value: &impl Serialize) -> String {
    match serde_json::to_value(value) {
        Ok(Value::String(word)) => word,
        other => panic!("{other:?} is not a word"),
    }
}

/// A JSON value, for `#[serde(deserialize_with)]`: where `Value` itself would keep the last of two
/// equal keys, this refuses them.
pub fn unique<'de, D: Deserializer<'de>>(deserializer: D) -> Result<Value, D::Error> {
    Unique.deserialize(deserializer)
}

/// A [`Value`] read by [`unique`].
pub(crate) struct UniqueValue(pub(crate) Value);

impl<'de> Deserialize<'de> for UniqueValue {
    fn deserialize<D: Deserializer<'de>>(deserializer: D) -> Result<UniqueValue, D::Error> {
        unique(deserializer).map(UniqueValue)
    }
}

fn refuse(
    name: &str,
    prefix: &str,
    error: &serde_path_to_error::Error<serde_json::Error>,
) -> FabricError {
    let (path, inner) = (error.path().to_string(), error.inner());
    // A text that is no JSON is wrong at its line and column.
    let place = match path.as_str() {
        _ if inner.is_syntax() || inner.is_eof() => name.to_owned(),
        "." => name.to_owned(),
        path => format!("{prefix}{path}"),
    };
    FabricError::from_json(&place, inner)
}

impl FabricError {
    /// The error of a text that is no document of the wanted shape.
    pub fn from_json(place: &str, error: &serde_json::Error) -> FabricError {
        let text = error.to_string();
        let Some((what, expected)) = text.split_once(", expected ") else {
            return FabricError::document(
                place,
                text,
                "a document as in docs/reference/scenario.md",
            );
        };
        let hint = meant(what, expected)
            .map_or(String::new(), |word| format!("\n  hint: did you mean '{word}'?"));
        FabricError::document(place, what, format!("{expected}{hint}"))
    }
}

/// The expected word that an unknown one was probably meant to be.
fn meant<'a>(what: &str, expected: &'a str) -> Option<&'a str> {
    let unknown = what.strip_prefix("unknown ")?.split('`').nth(1)?;
    let unknown: String = unknown.chars().take(64).collect();
    let words = expected.split('`').skip(1).step_by(2);
    let near = words.map(|word| (strsim::osa_distance(&unknown, word), word)).min()?;
    (near.0 <= unknown.chars().count().div_ceil(3)).then_some(near.1)
}

struct Unique;

impl<'de> DeserializeSeed<'de> for Unique {
    type Value = Value;

    fn deserialize<D: Deserializer<'de>>(self, deserializer: D) -> Result<Value, D::Error> {
        deserializer.deserialize_any(self)
    }
}

impl<'de> Visitor<'de> for Unique {
    type Value = Value;

    fn expecting(&self, formatter: &mut fmt::Formatter<'_>) -> fmt::Result {
        formatter.write_str("a JSON value")
    }

    fn visit_unit<E>(self) -> Result<Value, E> {
        Ok(Value::Null)
    }

    fn visit_bool<E>(self, value: bool) -> Result<Value, E> {
        Ok(value.into())
    }

    fn visit_i64<E>(self, value: i64) -> Result<Value, E> {
        Ok(value.into())
    }

    fn visit_u64<E>(self, value: u64) -> Result<Value, E> {
        Ok(value.into())
    }

    fn visit_f64<E>(self, value: f64) -> Result<Value, E> {
        Ok(value.into())
    }

    fn visit_str<E>(self, value: &str) -> Result<Value, E> {
        Ok(value.into())
    }

    fn visit_string<E>(self, value: String) -> Result<Value, E> {
        Ok(value.into())
    }

    fn visit_seq<A: SeqAccess<'de>>(self, mut items: A) -> Result<Value, A::Error> {
        let mut list = Vec::new();
        while let Some(item) = items.next_element_seed(Unique)? {
            list.push(item);
        }
        Ok(list.into())
    }

    fn visit_map<A: MapAccess<'de>>(self, mut entries: A) -> Result<Value, A::Error> {
        let mut map = Map::new();
        while let Some(key) = entries.next_key::<String>()? {
            if map.contains_key(&key) {
                return Err(A::Error::custom(format!("duplicate field `{key}`")));
            }
            map.insert(key, entries.next_value_seed(Unique)?);
        }
        Ok(map.into())
    }
}
