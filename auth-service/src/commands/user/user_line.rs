//! A user as one line of JSON, which export writes and import reads.

use crate::{
    accounts::check_new_username,
    password::{HashRules, NO_PASSWORD, Peppers},
    roles::Roles,
    store::UserRecord,
    user::Credentials,
};
use rolegate_proto::Role;
use secrecy::{ExposeSecret, SecretString};
use serde::{
    Deserialize, Deserializer, Serialize,
    de::{MapAccess, Visitor},
};
use serde_json::{Map, Value};
use std::fmt;

/// JavaScript reads numbers over 2^53 wrongly; the other half is for ids that follow.
const MAX_ID: i64 = (1 << 52) - 1;
/// How far a revocation of tokens may lie ahead, because clocks differ. A login is dated there.
const MAX_SECONDS_AHEAD: i64 = 3600;
/// A mark ends a day after a time that a wrong clock was ahead.
const MAX_MARK_SECONDS_AHEAD: i64 = 7 * 86_400;

const FIELDS: [&str; 7] = [
    "id",
    "username",
    "password_hash",
    "role",
    "disabled",
    "tokens_not_before",
    "tokens_marked_until",
];

/// What an import needs to know to read a line.
pub(crate) struct LineReader {
    pub(crate) peppers: Peppers,
    pub(crate) rules: HashRules,
    pub(crate) roles: Roles,
    /// Unix seconds.
    pub(crate) now: i64,
    /// Unix seconds: revokes the tokens of an id that may have had another user.
    pub(crate) revocation_time: i64,
}

impl LineReader {
    /// The user of a line, or what is wrong with it. Quotes nothing of it, which could be a hash.
    pub(crate) fn read(&self, line: &[u8]) -> Result<UserRecord, String> {
        // Editors on Windows begin a file with a byte order mark.
        let line = line.strip_prefix(b"\xef\xbb\xbf").unwrap_or(line);
        let Object {
            fields: object,
            has_twice,
        } = serde_json::from_slice(line)
            .map_err(|error| format!("is not a JSON object: column {}", error.column()))?;
        if object.keys().any(|key| !FIELDS.contains(&key.as_str())) {
            return Err(format!(
                "has an unknown field; the fields are {}",
                FIELDS.join(", ")
            ));
        }
        if let Some(name) = has_twice {
            return Err(format!("has {name} twice"));
        }
        // As if it were not there.
        let field = |name: &str| object.get(name).filter(|value| !value.is_null());
        let text = |name| match field(name) {
            Some(Value::String(text)) => Ok(text.as_str()),
            Some(_) => Err(format!("{name} is not text")),
            None => Err(format!("{name} is missing")),
        };
        let username = text("username")?;
        check_new_username(username).map_err(|error| error.to_string())?;
        let hash = if object.get("password_hash") == Some(&Value::Null) {
            NO_PASSWORD.into()
        } else {
            let rejection = |rejection| format!("password_hash {rejection}");
            self.peppers
                .importable(text("password_hash")?, self.rules)
                .map_err(rejection)?
        };
        let number = |name, most| match field(name).map(Value::as_i64) {
            None => Ok(None),
            Some(Some(number)) if (0..=most).contains(&number) => Ok(Some(number)),
            Some(_) => Err(format!("{name} is not a whole number from 0 to {most}")),
        };
        let role = match field("role") {
            Some(role) => (role.as_str().and_then(|name| self.roles.named(name)))
                .ok_or_else(|| format!("role is none of {}", self.roles.listed()))?,
            None => Role::USER,
        };
        let id = number("id", MAX_ID)?;
        if id == Some(0) {
            return Err(format!("id is not a whole number from 1 to {MAX_ID}"));
        }
        let disabled = match field("disabled") {
            Some(value) => value
                .as_bool()
                .ok_or("disabled is neither true nor false")?,
            None => false,
        };
        let latest = self.revocation_time + MAX_SECONDS_AHEAD;
        let revoked = number("tokens_not_before", latest).map_err(|range| {
            format!("{range}, an hour from now; user revoke-tokens before the export lowers it")
        })?;
        let marked = number("tokens_marked_until", latest + MAX_MARK_SECONDS_AHEAD)?;
        let tokens_not_before = revoked.unwrap_or(if id.is_some() {
            self.revocation_time
        } else {
            0
        });
        Ok(UserRecord {
            id,
            username: username.to_owned(),
            password_hash: SecretString::from(&*hash),
            role,
            disabled,
            tokens_not_before,
            tokens_marked_until: marked.unwrap_or(0),
            created_at: (revoked.is_none() || id.is_none()).then_some(self.now),
        })
    }
}

/// A JSON object, and a field that it has twice, of which a map would keep the last.
#[derive(Default)]
struct Object {
    fields: Map<String, Value>,
    has_twice: Option<String>,
}

impl<'de> Deserialize<'de> for Object {
    fn deserialize<D: Deserializer<'de>>(deserializer: D) -> Result<Self, D::Error> {
        deserializer.deserialize_map(Self::default())
    }
}

impl<'de> Visitor<'de> for Object {
    type Value = Self;

    fn expecting(&self, formatter: &mut fmt::Formatter<'_>) -> fmt::Result {
        formatter.write_str("an object")
    }

    fn visit_map<A: MapAccess<'de>>(mut self, mut map: A) -> Result<Self, A::Error> {
        while let Some((name, value)) = map.next_entry::<String, Value>()? {
            if self.fields.insert(name.clone(), value).is_some() {
                self.has_twice = Some(name);
            }
        }
        Ok(self)
    }
}

/// What export writes of a user.
#[derive(Serialize)]
pub(crate) struct UserLine<'u> {
    id: i64,
    username: &'u str,
    password_hash: Option<&'u str>,
    role: &'u str,
    disabled: bool,
    tokens_not_before: u64,
    #[serde(skip_serializing_if = "Option::is_none")]
    tokens_marked_until: Option<u64>,
}

impl<'u> UserLine<'u> {
    pub(crate) fn of(stored: &'u Credentials) -> Self {
        let user = &stored.user;
        Self {
            id: user.id,
            username: &user.username,
            password_hash: Some(stored.password_hash.expose_secret())
                .filter(|hash| *hash != NO_PASSWORD),
            role: user.role.as_str(),
            disabled: user.disabled,
            tokens_not_before: user.tokens_not_before,
            tokens_marked_until: Some(user.tokens_marked_until).filter(|end| *end > 0),
        }
    }
}

#[cfg(test)]
mod tests;
