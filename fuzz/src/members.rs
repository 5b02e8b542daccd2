//! Reads the members of a JSON object in their order, including repeated ones.
//!
//! A value is decoded only on request, so a member that is ignored may have a value that cannot be decoded.

use serde::de::{Deserialize, Deserializer, MapAccess, Visitor};
use serde_json::{Value, value::RawValue};
use std::fmt;

pub struct Members(Vec<(String, Box<RawValue>)>);

impl Members {
    /// Parses a JSON object. Returns `None` if the text is anything else.
    pub fn read(json: &[u8]) -> Option<Self> {
        serde_json::from_slice(json).ok()
    }

    /// Returns the values of all members with this name, as JSON text.
    pub fn all(&self, name: &str) -> Vec<&str> {
        self.0
            .iter()
            .filter(|(it, _)| it == name)
            .map(|(_, value)| value.get())
            .collect()
    }

    /// Returns the value of the only member with this name, or null if there is none. Returns an error if there
    /// are several, or if the value cannot be decoded.
    pub fn only(&self, name: &str) -> Result<Value, ()> {
        match self.all(name)[..] {
            [] => Ok(Value::Null),
            [value] => serde_json::from_str(value).map_err(drop),
            _ => Err(()),
        }
    }

    /// Returns whether there is a member with another name than these.
    pub fn has_others(&self, names: &[&str]) -> bool {
        self.0.iter().any(|(it, _)| !names.contains(&it.as_str()))
    }
}

impl<'de> Deserialize<'de> for Members {
    fn deserialize<D: Deserializer<'de>>(deserializer: D) -> Result<Self, D::Error> {
        deserializer.deserialize_map(Visit)
    }
}

struct Visit;

impl<'de> Visitor<'de> for Visit {
    type Value = Members;

    fn expecting(&self, formatter: &mut fmt::Formatter<'_>) -> fmt::Result {
        formatter.write_str("an object")
    }

    fn visit_map<A: MapAccess<'de>>(self, mut map: A) -> Result<Members, A::Error> {
        let mut members = Vec::new();
        while let Some(member) = map.next_entry()? {
            members.push(member);
        }
        Ok(Members(members))
    }
}
