//! Deserializes a struct of strings from a JSON object, with errors that name the field.

use serde::{
    de::{self, Deserializer, IgnoredAny, MapAccess, Visitor, value::MapDeserializer},
    forward_to_deserialize_any,
};
use serde_json::value::RawValue;
use std::{borrow::Cow, fmt};

/// Why a body was rejected. No text repeats anything of the body, which may hold a password.
#[derive(Debug, thiserror::Error)]
pub(super) enum BodyError {
    /// Not JSON, or not an object.
    #[error("{0}")]
    Malformed(&'static str),
    /// A field is missing, repeated, or not a string.
    #[error("{0}")]
    Field(Cow<'static, str>),
}

const NO_OBJECT: &str = "Request body must be a JSON object.";
const NOT_JSON: &str = "Request body is not valid JSON.";

impl de::Error for BodyError {
    fn custom<T: fmt::Display>(_: T) -> Self {
        Self::Malformed(NOT_JSON)
    }
}

/// A JSON text. Unknown fields are checked for syntax but not decoded, because `1e999`, `"\ud800"`
/// and any depth of nesting are valid JSON (RFC 8259) and must not make a body fail.
pub(super) struct ObjectDeserializer<'de>(pub(super) &'de str);

impl<'de> Deserializer<'de> for ObjectDeserializer<'de> {
    type Error = BodyError;

    fn deserialize_struct<V: Visitor<'de>>(
        self,
        _: &'static str,
        fields: &'static [&'static str],
        visitor: V,
    ) -> Result<V::Value, BodyError> {
        let mut json = serde_json::Deserializer::from_str(self.0);
        let values = json
            .deserialize_map(KnownFields(fields))
            .and_then(|values| json.end().map(|()| values))
            .map_err(|error| {
                BodyError::Malformed(if error.is_data() { NO_OBJECT } else { NOT_JSON })
            })?;
        let strings = fields
            .iter()
            .zip(values)
            .map(|(name, values)| Ok((*name, decode(name, &values).map_err(BodyError::Field)?)))
            .collect::<Result<Vec<_>, _>>()?;
        visitor.visit_map(MapDeserializer::new(strings.into_iter()))
    }

    fn deserialize_any<V: Visitor<'de>>(self, _: V) -> Result<V::Value, BodyError> {
        Err(de::Error::custom("only structs are supported"))
    }

    forward_to_deserialize_any! {
        bool i8 i16 i32 i64 i128 u8 u16 u32 u64 u128 f32 f64 char str string bytes byte_buf option
        unit unit_struct newtype_struct seq tuple tuple_struct map enum identifier ignored_any
    }
}

/// Collects the values of each of these fields, in this order.
struct KnownFields(&'static [&'static str]);

impl<'de> Visitor<'de> for KnownFields {
    type Value = Vec<Vec<&'de RawValue>>;

    fn expecting(&self, formatter: &mut fmt::Formatter<'_>) -> fmt::Result {
        formatter.write_str("an object")
    }

    fn visit_map<A: MapAccess<'de>>(self, mut map: A) -> Result<Self::Value, A::Error> {
        let mut values = vec![Vec::new(); self.0.len()];
        while let Some(name) = map.next_key::<String>()? {
            match self.0.iter().position(|known| *known == name) {
                Some(index) => values[index].push(map.next_value()?),
                None => drop(map.next_value::<IgnoredAny>()?),
            }
        }
        Ok(values)
    }
}

/// Which of several values counts would depend on the parser (RFC 8259, section 4).
fn decode(name: &str, values: &[&RawValue]) -> Result<String, Cow<'static, str>> {
    match values {
        // Fails on a lone surrogate.
        [value] if value.get().starts_with('"') => {
            serde_json::from_str(value.get()).map_err(|_| NOT_JSON.into())
        }
        [] | [_] => Err(format!("Field \"{name}\" is required and must be a string.").into()),
        _ => Err(format!("Field \"{name}\" is given more than once.").into()),
    }
}
