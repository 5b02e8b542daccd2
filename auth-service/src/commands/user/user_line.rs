//! A user as one line of JSON, which export writes and import reads.

use crate::{
    accounts::Username,
    password::{HashRules, NO_PASSWORD, Peppers},
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
pub(super) struct LineReader<'s> {
    pub(super) peppers: &'s Peppers,
    pub(super) rules: HashRules,
    /// Unix seconds: revokes the tokens of an id that may have had another user.
    pub(super) revocation_time: i64,
}

impl LineReader<'_> {
    /// The user of a line, or what is wrong with it. Quotes nothing of it, which could be a hash.
    pub(super) fn read(&self, line: &[u8]) -> Result<UserRecord, String> {
        // Editors on Windows begin a file with a byte order mark.
        let line = line.strip_prefix(b"\xef\xbb\xbf").unwrap_or(line);
        let Object { fields: object, has_twice } = serde_json::from_slice(line)
            .map_err(|error| format!("is not a JSON object: column {}", error.column()))?;
        if object.keys().any(|key| !FIELDS.contains(&key.as_str())) {
            return Err(format!("has an unknown field; the fields are {}", FIELDS.join(", ")));
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
        let username =
            Username::of_new_user(text("username")?).map_err(|error| error.to_string())?;
        let hash = if object.get("password_hash") == Some(&Value::Null) {
            NO_PASSWORD.into()
        } else {
            let rejection = |rejection| format!("password_hash {rejection}");
            self.peppers.importable(text("password_hash")?, self.rules).map_err(rejection)?
        };
        let number = |name, most| match field(name).map(Value::as_i64) {
            None => Ok(None),
            Some(Some(number)) if (0..=most).contains(&number) => Ok(Some(number)),
            Some(_) => Err(format!("{name} is not a whole number from 0 to {most}")),
        };
        let role = match field("role") {
            Some(role) => role.as_str().and_then(|role| role.parse().ok()).ok_or_else(|| {
                format!("role is none of {}", Role::ALL.map(Role::as_str).join(", "))
            })?,
            None => Role::User,
        };
        let id = number("id", MAX_ID)?;
        if id == Some(0) {
            return Err(format!("id is not a whole number from 1 to {MAX_ID}"));
        }
        let disabled = match field("disabled") {
            Some(value) => value.as_bool().ok_or("disabled is neither true nor false")?,
            None => false,
        };
        let latest = self.revocation_time + MAX_SECONDS_AHEAD;
        let revoked = number("tokens_not_before", latest).map_err(|range| {
            format!("{range}, an hour from now; user revoke-tokens before the export lowers it")
        })?;
        let marked = number("tokens_marked_until", latest + MAX_MARK_SECONDS_AHEAD)?;
        let tokens_not_before =
            revoked.unwrap_or(if id.is_some() { self.revocation_time } else { 0 });
        Ok(UserRecord {
            id,
            username: username.into_string(),
            password_hash: SecretString::from(&*hash),
            role,
            disabled,
            tokens_not_before,
            tokens_marked_until: marked.unwrap_or(0),
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
pub(super) struct UserLine<'u> {
    id: i64,
    username: &'u str,
    password_hash: Option<&'u str>,
    role: &'static str,
    disabled: bool,
    tokens_not_before: u64,
    #[serde(skip_serializing_if = "is_zero")]
    tokens_marked_until: u64,
}

#[expect(clippy::trivially_copy_pass_by_ref, reason = "as serde calls it")]
fn is_zero(number: &u64) -> bool {
    *number == 0
}

impl<'u> UserLine<'u> {
    pub(super) fn of(stored: &'u Credentials) -> Self {
        let user = &stored.user;
        Self {
            id: user.id,
            username: &user.username,
            password_hash: Some(stored.password_hash.expose_secret())
                .filter(|hash| *hash != NO_PASSWORD),
            role: user.role.as_str(),
            disabled: user.disabled,
            tokens_not_before: user.tokens_not_before,
            tokens_marked_until: user.tokens_marked_until,
        }
    }
}

#[cfg(test)]
mod tests {
    use super::{LineReader, MAX_ID};
    use crate::{
        password::{HashRules, NO_PASSWORD, Peppers},
        store::UserRecord,
    };
    use rolegate_proto::Role;
    use secrecy::ExposeSecret;
    use serde_json::json;

    const HASH: &str = "$2b$05$YaQ3M.2V9WMtoWprPyr4J.Wm9MSwt6/mER48c5Lbgp269iVDbuery";

    fn read(line: &str) -> Result<UserRecord, String> {
        let peppers = Peppers::default();
        let rules = HashRules::new(12, false, true);
        LineReader { peppers: &peppers, rules, revocation_time: 1000 }.read(line.as_bytes())
    }

    #[test]
    fn a_name_and_a_hash_are_enough() {
        let line = json!({ "username": "ann", "password_hash": HASH }).to_string();
        let ann = read(&line).expect("a user");
        assert_eq!((ann.id, &*ann.username, ann.role), (None, "ann", Role::User));
        assert!(!ann.disabled && ann.tokens_not_before == 0);
    }

    #[test]
    fn a_line_may_begin_with_a_byte_order_mark() {
        let line = json!({ "username": "ann", "password_hash": HASH });
        assert_eq!(&*read(&format!("\u{feff}{line}")).expect("a user").username, "ann");
        read(&format!("\u{feff}\u{feff}{line}")).expect_err("a reason");
    }

    #[test]
    fn null_is_a_user_without_a_password_and_a_missing_hash_is_none() {
        let ann = read(r#"{"username":"ann","password_hash":null,"id":7,"role":"author"}"#);
        let ann = ann.expect("a user");
        assert_eq!(ann.password_hash.expose_secret(), NO_PASSWORD);
        assert_eq!((ann.id, ann.role), (Some(7), Role::Author));
        let missing = read(r#"{"username":"ann"}"#).expect_err("a reason");
        assert_eq!(missing, "password_hash is missing");
    }

    #[test]
    fn an_id_revokes_the_tokens_of_its_last_user_unless_the_line_says_since_when() {
        let line = |more| {
            let mut line = json!({ "username": "ann", "password_hash": HASH, "id": 7 });
            line["tokens_not_before"] = more;
            read(&line.to_string()).expect("a user").tokens_not_before
        };
        assert_eq!([line(json!(null)), line(json!(0)), line(json!(5))], [1000, 0, 5]);
    }

    #[test]
    fn bad_lines_have_a_reason_that_quotes_nothing() {
        let id = |id: serde_json::Value| json!({ "id": id });
        for (change, reason) in [
            (json!({ "username": null }), "username is missing"),
            (json!({ "username": 7 }), "username is not text"),
            (json!({ "username": "" }), "Username must have 1 to 255 bytes."),
            (json!({ "username": "a:b" }), "Username must not contain a colon."),
            (
                json!({ "username": "ad\u{200b}min" }),
                "Username must not contain invisible or unassigned characters.",
            ),
            (json!({ "password_hash": [HASH] }), "password_hash is not text"),
            (
                json!({ "password_hash": "planted" }),
                "password_hash is in no form that is read (docs/importing-users.md has them); import null, and reset the password",
            ),
            (
                json!({ "password_hash": HASH.replace("05", "17") }),
                "password_hash has the bcrypt cost 17; 4 to 16 are allowed",
            ),
            (json!({ "role": "planted" }), "role is none of user, author, admin"),
            (json!({ "role": 1 }), "role is none of user, author, admin"),
            (id(json!(-1)), "id is not a whole number from 0 to 4503599627370495"),
            (id(json!(0)), "id is not a whole number from 1 to 4503599627370495"),
            (id(json!(1.5)), "id is not a whole number from 0 to 4503599627370495"),
            (id(json!(HASH)), "id is not a whole number from 0 to 4503599627370495"),
            (id(json!(MAX_ID + 1)), "id is not a whole number from 0 to 4503599627370495"),
            (json!({ "disabled": "yes" }), "disabled is neither true nor false"),
            (
                json!({ "tokens_not_before": 4601 }),
                "tokens_not_before is not a whole number from 0 to 4600, an hour from now; user revoke-tokens before the export lowers it",
            ),
            (
                json!({ "tokens_marked_until": 609_401 }),
                "tokens_marked_until is not a whole number from 0 to 609400",
            ),
            (
                json!({ "planted": 1 }),
                "has an unknown field; the fields are id, username, password_hash, role, disabled, tokens_not_before, tokens_marked_until",
            ),
        ] {
            let mut line = json!({ "username": "ann", "password_hash": HASH });
            for (field, value) in change.as_object().expect("an object") {
                line[field] = value.clone();
            }
            let found = read(&line.to_string()).expect_err("a reason");
            assert_eq!(found, reason);
        }
        for (line, reason) in [
            ("planted", "is not a JSON object: column 1"),
            ("[1]", "is not a JSON object: column 0"),
            ("{\"username\":\"ann\"", "is not a JSON object: column 17"),
            ("\u{0}", "is not a JSON object: column 1"),
            (r#"{"username":"ann","role":"user","role":"admin"}"#, "has role twice"),
            (
                r#"{"username":"ann","password_hash":null,"password_hash":null}"#,
                "has password_hash twice",
            ),
            (
                r#"{"planted":1,"planted":1}"#,
                "has an unknown field; the fields are id, username, password_hash, role, disabled, tokens_not_before, tokens_marked_until",
            ),
        ] {
            assert_eq!(read(line).expect_err("a reason"), reason, "{line:?}");
        }
    }
}
