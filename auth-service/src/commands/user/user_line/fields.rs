//! Parses the fields of a line: a JSON object that has each field at most once.

use serde::{
    Deserialize, Deserializer,
    de::{MapAccess, Visitor},
};
use serde_json::{Map, Value};
use std::fmt;

/// The fields of an object. Errors quote no value, because the value may be a hash.
#[derive(Default)]
pub(super) struct Fields {
    values: Map<String, Value>,
    /// The name of a field that the object contains twice. `values` keeps only its last value.
    duplicate: Option<String>,
}

impl Fields {
    /// Parses the object in a line. Fails if the line is not a JSON object, has a field twice, or
    /// has a field that is not in `names`.
    pub(super) fn parse(line: &[u8], names: &[&str]) -> Result<Self, String> {
        let fields: Self = serde_json::from_slice(line)
            .map_err(|error| format!("is not a JSON object: column {}", error.column()))?;
        if fields
            .values
            .keys()
            .any(|name| !names.contains(&name.as_str()))
        {
            let names = names.join(", ");
            return Err(format!("has an unknown field; the fields are {names}"));
        }
        if let Some(name) = &fields.duplicate {
            return Err(format!("has {name} twice"));
        }
        Ok(fields)
    }

    /// Returns true if the field is present and null.
    pub(super) fn is_null(&self, name: &str) -> bool {
        self.values.get(name) == Some(&Value::Null)
    }

    /// Returns the value of a field; `None` if it is missing or null.
    pub(super) fn get(&self, name: &str) -> Option<&Value> {
        self.values.get(name).filter(|value| !value.is_null())
    }

    pub(super) fn text(&self, name: &str) -> Result<&str, String> {
        match self.get(name) {
            Some(Value::String(text)) => Ok(text),
            Some(_) => Err(format!("{name} is not text")),
            None => Err(format!("{name} is missing")),
        }
    }

    pub(super) fn number(&self, name: &str, max: i64) -> Result<Option<i64>, String> {
        let Some(value) = self.get(name) else {
            return Ok(None);
        };
        match value.as_i64() {
            Some(number) if (0..=max).contains(&number) => Ok(Some(number)),
            _ => Err(format!("{name} is not a whole number from 0 to {max}")),
        }
    }

    pub(super) fn boolean(&self, name: &str) -> Result<Option<bool>, String> {
        match self.get(name) {
            None => Ok(None),
            Some(Value::Bool(value)) => Ok(Some(*value)),
            Some(_) => Err(format!("{name} is neither true nor false")),
        }
    }
}

impl<'de> Deserialize<'de> for Fields {
    fn deserialize<D: Deserializer<'de>>(deserializer: D) -> Result<Self, D::Error> {
        deserializer.deserialize_map(Self::default())
    }
}

impl<'de> Visitor<'de> for Fields {
    type Value = Self;

    fn expecting(&self, formatter: &mut fmt::Formatter<'_>) -> fmt::Result {
        formatter.write_str("an object")
    }

    fn visit_map<A: MapAccess<'de>>(mut self, mut map: A) -> Result<Self, A::Error> {
        while let Some((name, value)) = map.next_entry::<String, Value>()? {
            if self.values.insert(name.clone(), value).is_some() {
                self.duplicate = Some(name);
            }
        }
        Ok(self)
    }
}
