//! A JSON object, read so far as endpoints need it: names and what stands under them.

use serde::de::{Deserialize, Deserializer, MapAccess, Visitor};
use serde_json::value::RawValue;
use std::{
    collections::{HashMap, hash_map::Entry},
    fmt,
};

/// The fields of an object by name.
pub(super) struct Object(pub(super) HashMap<String, Field>);

/// What stands under a name.
pub(super) enum Field {
    /// The JSON text of a value, not decoded: nobody may ask for it, and then it may be a number
    /// that no type holds, or be nested deeper than any stack. Skipping it needs neither.
    Json(String),
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
        while let Some((name, value)) = map.next_entry::<String, &RawValue>()? {
            match fields.entry(name) {
                Entry::Vacant(place) => {
                    place.insert(Field::Json(value.get().to_owned()));
                }
                Entry::Occupied(mut place) => {
                    place.insert(Field::Repeated);
                }
            }
        }
        Ok(Object(fields))
    }
}
