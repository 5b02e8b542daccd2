//! A user as one line of JSON, which `user export` writes and `user import` reads. `fields` parses
//! the JSON object of a line.

mod fields;
#[cfg(test)]
mod tests;

use crate::{
    accounts::{check_group_name, check_new_username},
    commands::group::parse_time,
    group::{Membership, format_end},
    password::{HashRules, NO_PASSWORD, Peppers},
    roles::Roles,
    store::ExportedUser,
    user::UserRecord,
};
use fields::Fields;
use rolegate_proto::{Role, limits::MAX_GROUPS, time::END_OF_9999};
use secrecy::{ExposeSecret, SecretString};
use serde::{Deserialize, Serialize};
use serde_json::Value;

/// The names of the fields in a line.
const FIELDS: [&str; 9] = [
    "id",
    "username",
    "password_hash",
    "role",
    "disabled",
    "tokens_not_before",
    "tokens_marked_until",
    "until",
    "groups",
];
/// The highest id that may be imported.
///
/// JavaScript cannot represent every number above 2^53. Half of the numbers up to 2^53 are left for
/// the ids that the database assigns afterwards.
const MAX_ID: i64 = (1 << 52) - 1;
/// The maximum number of seconds by which an imported `tokens_not_before` may be ahead of
/// `LineReader::revocation_time`, because clocks differ. The user cannot log in until the clock has
/// almost reached that time.
const MAX_SECONDS_AHEAD: i64 = 3600;
/// The number of seconds by which an imported `tokens_marked_until` may be ahead in addition to
/// [`MAX_SECONDS_AHEAD`]. A revocation sets it to a day or more after a time that came from a wrong
/// clock.
const MAX_MARK_SECONDS_AHEAD: i64 = 7 * 86_400;

/// Reads the lines of an import, with the settings and the time of the database.
pub(crate) struct LineReader {
    pub(crate) peppers: Peppers,
    pub(crate) rules: HashRules,
    pub(crate) roles: Roles,
    /// The time of the database, in Unix seconds.
    pub(crate) now: i64,
    /// The default `tokens_not_before` of an imported user whose line has an id, in Unix seconds.
    /// Another user may have had that id, and this time revokes the tokens of that other user.
    pub(crate) revocation_time: i64,
}

impl LineReader {
    /// Reads the user of a line, or returns the problem with the line. The error quotes no part of
    /// the line, because that part may be a hash.
    pub(crate) fn read(&self, line: &[u8]) -> Result<UserRecord, String> {
        // Editors on Windows may begin a file with a byte order mark.
        let line = line.strip_prefix(b"\xef\xbb\xbf").unwrap_or(line);
        let fields = Fields::parse(line, &FIELDS)?;
        let username = fields.text("username")?;
        check_new_username(username).map_err(|error| error.to_string())?;
        let password_hash = self.read_password_hash(&fields)?;
        let role = self.read_role(&fields)?;
        let id = read_id(&fields)?;
        let disabled = fields.boolean("disabled")?.unwrap_or(false);
        let latest = self.revocation_time + MAX_SECONDS_AHEAD;
        let tokens_not_before = fields
            .number("tokens_not_before", latest)
            .map_err(|range| {
                format!("{range}, an hour from now; user revoke-tokens before the export lowers it")
            })?;
        let tokens_marked_until =
            fields.number("tokens_marked_until", latest + MAX_MARK_SECONDS_AHEAD)?;
        // If the line has `id` and `tokens_not_before`, the user's tokens from before the import
        // stay valid.
        let keeps_tokens = id.is_some() && tokens_not_before.is_some();
        let default_not_before = if id.is_some() {
            self.revocation_time
        } else {
            0
        };
        Ok(UserRecord {
            id,
            username: username.to_owned(),
            password_hash,
            role,
            disabled,
            tokens_not_before: tokens_not_before.unwrap_or(default_not_before),
            tokens_marked_until: tokens_marked_until.unwrap_or(0),
            created_at: (!keeps_tokens).then_some(self.now),
            until: read_end(fields.get("until")).map_err(|problem| format!("until {problem}"))?,
            memberships: self.read_memberships(&fields)?,
        })
    }

    fn read_password_hash(&self, fields: &Fields) -> Result<SecretString, String> {
        if fields.is_null("password_hash") {
            return Ok(NO_PASSWORD.into());
        }
        let stored = self
            .rules
            .translate(fields.text("password_hash")?, &self.peppers)
            .map_err(|rejection| format!("password_hash {rejection}"))?;
        Ok(SecretString::from(&*stored))
    }

    /// Reads the memberships of the user, and leaves out those that have ended.
    fn read_memberships(&self, fields: &Fields) -> Result<Vec<Membership>, String> {
        let Some(value) = fields.get("groups") else {
            return Ok(Vec::new());
        };
        let listed: Vec<MembershipLine> = serde_json::from_value(value.clone())
            .map_err(|_| "groups is not a list of objects with name and until".to_owned())?;
        if listed.len() > MAX_GROUPS {
            return Err(format!("groups has more than {MAX_GROUPS} groups"));
        }
        let mut memberships: Vec<Membership> = Vec::new();
        for MembershipLine { name, until } in listed {
            let group = check_group_name(&name, &self.roles).map_err(|error| error.to_string())?;
            if memberships.iter().any(|other| other.group == group) {
                return Err(format!("groups has {group} twice"));
            }
            let until = read_end(until.as_ref())
                .map_err(|problem| format!("until of the group {group} {problem}"))?;
            memberships.push(Membership {
                group,
                until: until.map(i64::cast_unsigned),
            });
        }
        let now = self.now.cast_unsigned();
        memberships.retain(|membership| membership.until.is_none_or(|until| until > now));
        Ok(memberships)
    }

    fn read_role(&self, fields: &Fields) -> Result<Role, String> {
        let Some(value) = fields.get("role") else {
            return Ok(Role::USER);
        };
        value
            .as_str()
            .and_then(|name| self.roles.find(name))
            .ok_or_else(|| format!("role is none of {}", self.roles.join_names()))
    }
}

/// Reads the end of an account or of a membership, and returns Unix seconds.
fn read_end(value: Option<&Value>) -> Result<Option<i64>, &'static str> {
    let text = match value {
        None | Some(Value::Null) => return Ok(None),
        Some(value) => value.as_str().unwrap_or_default(),
    };
    let seconds = parse_time(text)?;
    if seconds > END_OF_9999 {
        return Err("must be before the year 10000");
    }
    Ok(Some(seconds))
}

fn read_id(fields: &Fields) -> Result<Option<i64>, String> {
    let id = fields.number("id", MAX_ID)?;
    if id == Some(0) {
        return Err(format!("id is not a whole number from 1 to {MAX_ID}"));
    }
    Ok(id)
}

/// A membership in a line.
#[derive(Deserialize, Serialize)]
#[serde(deny_unknown_fields)]
struct MembershipLine {
    name: String,
    #[serde(skip_serializing_if = "Option::is_none")]
    until: Option<Value>,
}

/// The fields of a user that an export writes.
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
    #[serde(skip_serializing_if = "Option::is_none")]
    until: Option<String>,
    #[serde(skip_serializing_if = "Vec::is_empty")]
    groups: Vec<MembershipLine>,
}

impl<'u> UserLine<'u> {
    pub(crate) fn new(exported: &'u ExportedUser) -> Self {
        let user = &exported.credentials.user;
        let hash = exported.credentials.password_hash.expose_secret();
        let memberships = user.memberships.iter().map(|membership| MembershipLine {
            name: membership.group.to_string(),
            until: membership.until.map(|until| format_end(Some(until)).into()),
        });
        Self {
            id: user.id,
            username: &user.username,
            password_hash: (hash != NO_PASSWORD).then_some(hash),
            role: user.role.as_str(),
            disabled: exported.is_disabled,
            tokens_not_before: user.tokens_not_before,
            tokens_marked_until: (user.tokens_marked_until > 0).then_some(user.tokens_marked_until),
            until: user.until.map(|until| format_end(Some(until))),
            groups: memberships.collect(),
        }
    }
}
