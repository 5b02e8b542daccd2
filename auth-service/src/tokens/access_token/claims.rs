//! Parses and builds the claims of an access token.

use base64::{Engine as _, engine::general_purpose::URL_SAFE_NO_PAD};
use serde::{Deserialize, Serialize};
use serde_json::value::RawValue;
use std::borrow::Cow;

/// The claims of a token that this service issues.
#[derive(Serialize)]
pub(super) struct IssuedClaims<'a> {
    pub(super) sub: String,
    pub(super) username: &'a str,
    pub(super) role: &'a str,
    pub(super) exp: u64,
}

/// The claims of a presented token that decide whether it is valid. serde refuses floats and repeated claims.
#[derive(Deserialize)]
pub(super) struct Claims<'a> {
    #[serde(borrow)]
    pub(super) sub: Cow<'a, str>,
    /// The claim `username`, which only [`ClaimsWithKid`] parses.
    #[serde(skip)]
    pub(super) username: UsernameClaim,
    pub(super) exp: u64,
    /// The claim `nbf`. Tokens of this service do not have it.
    pub(super) nbf: Option<u64>,
}

/// The claim `username` of a token, and whether it has to match.
#[derive(Debug, Default)]
pub(super) enum UsernameClaim {
    /// The header has a `kid`, like all tokens of this service, so the claim must be the name of the user. The
    /// name is `None` if the claim is missing or is not text.
    MustMatch(Option<String>),
    /// The header has no `kid`, so another program that has the secret issued the token. The claim is ignored.
    /// The lifetime of such a token is unknown, so its time of issue is only a guess.
    #[default]
    Ignored,
}

/// The claims of a token whose header has a `kid`.
#[derive(Deserialize)]
struct ClaimsWithKid<'a> {
    #[serde(borrow)]
    sub: Cow<'a, str>,
    /// The claim, which may have any JSON type here. A token whose claim is not text is refused later, after
    /// the user was read.
    username: Option<&'a RawValue>,
    exp: u64,
    nbf: Option<u64>,
}

impl<'a> Claims<'a> {
    /// Parses the payload of a token. Returns `None` if it is malformed. If the header of the token has a `kid`
    /// (`has_kid`), the claim `username` counts.
    pub(super) fn parse(payload: &'a [u8], has_kid: bool) -> Option<Self> {
        if !has_kid {
            return serde_json::from_slice(payload).ok();
        }
        let claims: ClaimsWithKid<'a> = serde_json::from_slice(payload).ok()?;
        let username = claims
            .username
            .and_then(|username| serde_json::from_str(username.get()).ok());
        Some(Self {
            sub: claims.sub,
            username: UsernameClaim::MustMatch(username),
            exp: claims.exp,
            nbf: claims.nbf,
        })
    }
}

/// Decodes a part of a token, which must be a JSON object in base64url without padding (RFC 7515, section 2).
pub(super) fn decode_object(part: &str) -> Option<Vec<u8>> {
    let json = URL_SAFE_NO_PAD.decode(part).ok()?;
    // serde would also accept an array for a struct, but claims are members of an object.
    let is_object = json.trim_ascii_start().first() == Some(&b'{');
    is_object.then_some(json)
}

/// The id for a `sub` outside the range of ids. No user has it.
pub(super) const NO_USER: i64 = -1;

/// Parses the claim `sub`. Only the canonical decimal form is valid, so that each id has one spelling. A number
/// outside the range of ids becomes [`NO_USER`].
pub(super) fn parse_user_id(sub: &str) -> Option<i64> {
    let digits = sub.strip_prefix('-').unwrap_or(sub);
    let is_canonical = match digits.as_bytes() {
        [b'0'] => digits.len() == sub.len(),
        [b'1'..=b'9', rest @ ..] => rest.iter().all(u8::is_ascii_digit),
        _ => false,
    };
    is_canonical.then(|| sub.parse().unwrap_or(NO_USER))
}
