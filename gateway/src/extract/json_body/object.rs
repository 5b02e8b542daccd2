//! Deserializes a struct of strings, lists of strings and booleans from a JSON object, with errors that name the field
//! and what it must be.
//!
//! `serde_path_to_error` does not suffice: it names neither a missing nor a repeated field, and it reports the first
//! error in the text, not the first field of the struct.

use crate::extract::query_params::MAX_SHOWN_NAME;
use rolegate_auth_client::axum::ApiError;
use rolegate_proto::http::HttpReason;
use serde::{
    de::{
        self, Deserializer, IntoDeserializer, MapAccess, Visitor,
        value::{MapDeserializer, SeqDeserializer},
    },
    forward_to_deserialize_any,
};
use serde_json::value::RawValue;
use std::{borrow::Cow, fmt};

/// The reason why a body was rejected. The text never contains a value of the body, which may be a password.
#[derive(Debug, thiserror::Error)]
pub(super) enum BodyError {
    /// The body is not JSON, or not an object.
    #[error("{0}")]
    Malformed(&'static str),
    /// A field is missing, repeated, of another type, or not known.
    #[error("{}", .0.detail())]
    Field(ApiError),
}

const NO_OBJECT: &str = "Request body must be a JSON object.";
const NOT_JSON: &str = "Request body is not valid JSON.";

impl de::Error for BodyError {
    fn custom<T: fmt::Display>(_: T) -> Self {
        Self::Malformed(NOT_JSON)
    }

    fn unknown_field(name: &str, _: &'static [&'static str]) -> Self {
        // The format `{name:?}` quotes and escapes the name.
        let name: String = name.chars().take(MAX_SHOWN_NAME).collect();
        let detail = format!("Field {name:?} is not known.");
        Self::Field(ApiError::http(HttpReason::FieldUnknown, detail))
    }
}

/// Deserializes a struct from the JSON text of an object.
///
/// The values of unknown fields are checked for syntax but not decoded. Values such as `1e999`, `"\ud800"` and any
/// depth of nesting are valid JSON (RFC 8259), so they must not make a body fail.
pub(super) struct ObjectDeserializer<'de> {
    pub(super) text: &'de str,
}

impl<'de> Deserializer<'de> for ObjectDeserializer<'de> {
    type Error = BodyError;

    fn deserialize_struct<V: Visitor<'de>>(
        self,
        _: &'static str,
        fields: &'static [&'static str],
        visitor: V,
    ) -> Result<V::Value, BodyError> {
        let fields = read_object(self.text, fields)?
            .into_iter()
            .map(|field| (field.name.clone(), field));
        visitor.visit_map(MapDeserializer::new(fields))
    }

    /// Accepts `null` in place of an optional struct.
    fn deserialize_option<V: Visitor<'de>>(self, visitor: V) -> Result<V::Value, BodyError> {
        if self.text.trim_ascii() == "null" {
            return visitor.visit_none();
        }
        visitor.visit_some(self)
    }

    fn deserialize_any<V: Visitor<'de>>(self, _: V) -> Result<V::Value, BodyError> {
        Err(de::Error::custom("only structs are supported"))
    }

    forward_to_deserialize_any! {
        bool i8 i16 i32 i64 i128 u8 u16 u32 u64 u128 f32 f64 char str string bytes byte_buf
        unit unit_struct newtype_struct seq tuple tuple_struct map enum identifier ignored_any
    }
}

/// Returns the fields of an object in the order in which the struct is deserialized from them.
///
/// First comes the first unknown field, so that a struct that denies unknown fields rejects it. Then come all fields in
/// the order of the struct, including missing ones, so that the first error is about the first field.
fn read_object<'de>(
    text: &'de str,
    fields: &'static [&'static str],
) -> Result<Vec<Field<'de>>, BodyError> {
    let malformed = |error: serde_json::Error| {
        BodyError::Malformed(if error.is_data() { NO_OBJECT } else { NOT_JSON })
    };
    let mut json = serde_json::Deserializer::from_str(text);
    let object = json
        .deserialize_map(KnownFields { names: fields })
        .map_err(malformed)?;
    json.end().map_err(malformed)?;
    Ok(object)
}

/// Collects the values of the fields with these names.
struct KnownFields {
    names: &'static [&'static str],
}

impl<'de> Visitor<'de> for KnownFields {
    type Value = Vec<Field<'de>>;

    fn expecting(&self, formatter: &mut fmt::Formatter<'_>) -> fmt::Result {
        formatter.write_str("an object")
    }

    fn visit_map<A: MapAccess<'de>>(self, mut map: A) -> Result<Self::Value, A::Error> {
        let mut fields: Vec<_> = self.names.iter().copied().map(Field::new).collect();
        let mut first_unknown = None;
        while let Some((name, value)) = map.next_entry::<String, _>()? {
            match fields.iter_mut().find(|field| field.name == name) {
                Some(field) => field.values.push(value),
                None => _ = first_unknown.get_or_insert(name),
            }
        }
        let first_unknown = first_unknown.map(Field::new);
        Ok(first_unknown.into_iter().chain(fields).collect())
    }
}

/// A field of the struct to deserialize, with every value that the text has for it. A valid field has one value, or
/// none if it is optional.
struct Field<'de> {
    name: Cow<'static, str>,
    values: Vec<&'de RawValue>,
    optional: bool,
}

impl<'de> Field<'de> {
    fn new(name: impl Into<Cow<'static, str>>) -> Self {
        Self {
            name: name.into(),
            values: Vec::new(),
            optional: false,
        }
    }

    /// Returns the JSON text of the only value. Fails if the value is missing, repeated or of the wrong kind, and names
    /// `kind` in the error. Repeated fields are refused because parsers disagree on which value counts (RFC 8259,
    /// section 4).
    fn value(&self, kind: &str, is_kind: impl FnOnce(&str) -> bool) -> Result<&'de str, BodyError> {
        let Self {
            name,
            values,
            optional,
        } = self;
        let detail = match values[..] {
            [value] if is_kind(value.get()) => return Ok(value.get()),
            [_] if *optional => format!("Field \"{name}\" must be {kind}."),
            [] | [_] => format!("Field \"{name}\" is required and must be {kind}."),
            _ => format!("Field \"{name}\" is given more than once."),
        };
        Err(BodyError::Field(ApiError::http(
            HttpReason::FieldInvalid,
            detail,
        )))
    }
}

impl<'de> IntoDeserializer<'de, BodyError> for Field<'de> {
    type Deserializer = Self;

    fn into_deserializer(self) -> Self {
        self
    }
}

impl<'de> Deserializer<'de> for Field<'de> {
    type Error = BodyError;

    fn deserialize_option<V: Visitor<'de>>(self, visitor: V) -> Result<V::Value, BodyError> {
        // If the field is an `Option<Option<_>>`, null also means that there is no value.
        let is_null = matches!(self.values[..], [value] if value.get() == "null");
        if self.values.is_empty() || (self.optional && is_null) {
            return visitor.visit_none();
        }
        visitor.visit_some(Self {
            optional: true,
            ..self
        })
    }

    fn deserialize_bool<V: Visitor<'de>>(self, visitor: V) -> Result<V::Value, BodyError> {
        let value = self.value("true or false", |json| ["true", "false"].contains(&json))?;
        visitor.visit_bool(value == "true")
    }

    fn deserialize_seq<V: Visitor<'de>>(self, visitor: V) -> Result<V::Value, BodyError> {
        let parse = |json: &str| serde_json::from_str::<Vec<String>>(json).ok();
        let json = self.value("a list of strings", |json| parse(json).is_some())?;
        let items = parse(json).unwrap_or_default();
        visitor.visit_seq(SeqDeserializer::new(items.into_iter()))
    }

    fn deserialize_any<V: Visitor<'de>>(self, visitor: V) -> Result<V::Value, BodyError> {
        let json = self.value("a string", |json| json.starts_with('"'))?;
        // Decoding fails on a lone surrogate, such as `\ud800`.
        let text = serde_json::from_str(json)
            .map_err(|_| BodyError::Field(ApiError::http(HttpReason::BodyInvalid, NOT_JSON)))?;
        visitor.visit_string(text)
    }

    fn deserialize_ignored_any<V: Visitor<'de>>(self, visitor: V) -> Result<V::Value, BodyError> {
        visitor.visit_unit()
    }

    forward_to_deserialize_any! {
        i8 i16 i32 i64 i128 u8 u16 u32 u64 u128 f32 f64 char str string bytes byte_buf unit
        unit_struct newtype_struct tuple tuple_struct map struct enum identifier
    }
}
