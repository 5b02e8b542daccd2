//! Fuzzes JSON bodies. Fields must be those that `serde_json` reads, and a repeated, missing, unknown or wrong
//! field must be refused. A body that is too long or of another media type must be refused before its content
//! is read.
//!
//! The first two lines of the input are the size of the pieces of the body, and the values of `Content-Type`,
//! separated by `|`. The rest is the body.

#![no_main]

use libfuzzer_sys::fuzz_target;
use rolegate_fuzz::{
    members::Members,
    request::{essence, request, run},
};
use rolegate_gateway::fuzzing::json;
use serde::Deserialize;
use serde_json::Value;

const MAX: usize = 256;
const FIELDS: [&str; 4] = ["username", "disabled", "role", "link"];

/// A body with the kinds of fields that extractors read: text and booleans, some of which may be missing.
#[derive(Debug, Deserialize, PartialEq)]
struct Loose {
    username: String,
    disabled: bool,
    role: Option<String>,
    link: Option<Option<bool>>,
}

#[derive(Debug, Deserialize, PartialEq)]
#[serde(deny_unknown_fields)]
struct Strict {
    username: String,
    disabled: bool,
    role: Option<String>,
    link: Option<Option<bool>>,
}

fuzz_target!(|data: &[u8]| {
    let mut parts = data.splitn(3, |&byte| byte == b'\n');
    let mut next = || parts.next().unwrap_or_default();
    let pieces = str::from_utf8(next())
        .ok()
        .and_then(|it| it.parse::<usize>().ok())
        .unwrap_or(0);
    let types: Vec<_> = next().split(|&byte| byte == b'|').collect();
    let body = next();
    let [one, other] = [(); 2].map(|()| request(&types, body.to_vec(), pieces));
    let essence = essence(&one).unwrap_or_default();
    let is_json = essence == "application/json"
        || (essence.starts_with("application/") && essence.ends_with("+json"));
    let refused = match (body.len() > MAX, is_json) {
        (true, _) => Some(413),
        (_, false) => Some(415),
        _ => None,
    };
    let members = str::from_utf8(body)
        .ok()
        .and_then(|text| Members::read(text.as_bytes()));
    let expected = refused.map_or_else(|| members.as_ref().and_then(again).ok_or(400), Err);
    let found = run(json::<Loose, MAX>(one)).map_err(|error| error.status().as_u16());
    assert_eq!(found, expected);
    let is_foreign = members.is_some_and(|members| members.has_others(&FIELDS));
    let expected = if is_foreign {
        refused.map_or(Err(400), Err)
    } else {
        expected
    };
    let found = run(json::<Strict, MAX>(other)).map_err(|error| error.status().as_u16());
    let found = found.map(
        |Strict {
             username,
             disabled,
             role,
             link,
         }| Loose {
            username,
            disabled,
            role,
            link,
        },
    );
    assert_eq!(found, expected);
});

fn again(members: &Members) -> Option<Loose> {
    let [username, disabled, role, link] = FIELDS.map(|name| members.only(name).ok());
    let text = |value: Value| value.as_str().map(str::to_owned);
    let is_there = |name| !members.all(name).is_empty();
    // Null means that there is no value only for fields that may be both missing and null.
    Some(Loose {
        username: text(username?)?,
        disabled: disabled?.as_bool()?,
        role: if is_there("role") {
            Some(text(role?)?)
        } else {
            None
        },
        link: match link? {
            Value::Null => is_there("link").then_some(None),
            value => Some(Some(value.as_bool()?)),
        },
    })
}
