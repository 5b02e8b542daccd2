//! A JSON object, read so far as endpoints need it: names and strings.

use serde::de::{Deserialize, Deserializer, MapAccess, Visitor};
use serde_json::Value;
use std::{
    collections::{HashMap, hash_map::Entry},
    fmt,
};

/// The fields of an object by name.
pub(super) struct Object(pub(super) HashMap<String, Field>);

/// What stands under a name.
pub(super) enum Field {
    /// A string.
    Text(String),
    /// Any other JSON value.
    NoText,
    /// The name is given more than once. Which value counts would depend on who reads it (RFC 8259,
    /// section 4).
    Repeated,
}

impl<'de> Deserialize<'de> for Object {
    fn deserialize<D: Deserializer<'de>>(deserializer: D) -> Result<Self, D::Error> {
        deserializer.deserialize_map(Fields)
    }
}

struct Fields;

impl<'de> Visitor<'de> for Fields {
    type Value = Object;

    fn expecting(&self, formatter: &mut fmt::Formatter<'_>) -> fmt::Result {
        formatter.write_str("an object")
    }

    fn visit_map<A: MapAccess<'de>>(self, mut map: A) -> Result<Object, A::Error> {
        let mut fields = HashMap::new();
        // `Value` bounds the depth of nesting: at 128 levels serde_json gives up with an error.
        while let Some((name, value)) = map.next_entry::<String, Value>()? {
            let field = match value {
                Value::String(text) => Field::Text(text),
                _ => Field::NoText,
            };
            match fields.entry(name) {
                Entry::Vacant(place) => {
                    place.insert(field);
                }
                Entry::Occupied(mut place) => {
                    place.insert(Field::Repeated);
                }
            }
        }
        Ok(Object(fields))
    }
}
