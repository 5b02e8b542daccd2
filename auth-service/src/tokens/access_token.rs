//! Issues and verifies access tokens: JWTs (RFC 7519) signed with HS256 (RFC 7518, section 3.2).
//!
//! A token has the claims `sub`, `username`, `role` and `exp`. It proves only who its bearer is: `role` is the
//! role at the login, and grants nothing. `username` must be the user's name, because an id may have belonged
//! to another user before a restore.
//!
//! A presented token is verified in two steps. `AccessTokens::verify` checks the signature and parses the content,
//! without the database. The caller then reads the user, and asks `VerifiedToken` whether the token is valid at
//! the time of the database, and whether it was revoked. Sessions and API keys are in
//! `opaque_token`.
//!
//! `keyring` has the keys, and computes signatures by `jsonwebtoken`. `decode` of that crate is not used: it parses
//! header and claims twice, which takes 0.8 µs more, and it accepts `"crit": null` and arrays.

mod keyring;

pub(crate) use keyring::self_test;
pub use keyring::{KeySource, Keyring, PROVIDER, SecretTooShort};

use super::revocation::MAX_ISSUE_AHEAD_SECONDS;
use crate::user::User;
use base64::{Engine as _, engine::general_purpose::URL_SAFE_NO_PAD};
use keyring::Key;
use parking_lot::RwLock;
use rolegate_proto::limits::MAX_TOKEN_LEN;
use secrecy::SecretString;
use serde::{Deserialize, Serialize};
use serde_json::value::RawValue;
use std::{borrow::Cow, sync::Arc};

/// The lifetime of a token: 30 minutes.
pub const TOKEN_TTL_SECONDS: u64 = 30 * 60;

/// The maximum time in seconds by which the remaining lifetime of a token may exceed [`TOKEN_TTL_SECONDS`],
/// because a token may be issued ahead of the clock. This value must be more than [`MAX_ISSUE_AHEAD_SECONDS`].
const MAX_EXTRA_SECONDS: u64 = 60;

/// Issues and verifies access tokens. Clones share their keys, including later replacements.
#[derive(Clone)]
pub struct AccessTokens {
    keyring: Arc<RwLock<Keyring>>,
}

/// The content of a token whose signature is valid.
#[derive(Debug)]
pub(crate) struct VerifiedToken {
    /// The id in `sub`. For an integer outside the range of user ids, it is an id that no user has.
    pub(crate) user_id: i64,
    /// The time of issue in Unix seconds, computed from `exp`.
    pub(crate) issued: u64,
    /// The value of [`User::marked_until`] at the time of issue, if it was later than that time; otherwise 0.
    pub(crate) marked_until: u64,
    username: UsernameClaim,
    /// The claim `exp`, in Unix seconds.
    pub(crate) exp: u64,
    nbf: Option<u64>,
}

/// The error if a token could not be signed.
#[derive(Debug, thiserror::Error)]
#[error("the token could not be signed")]
pub struct SigningError(#[from] jsonwebtoken::errors::Error);

/// The header of a token whose signature is valid.
struct SignedHeader {
    /// See [`VerifiedToken::marked_until`].
    marked_until: u64,
    has_kid: bool,
}

/// A header that differs from the usual headers of this service, so that it must be parsed. `crit` is true if
/// the header has that member, even with the value `null`.
#[derive(Deserialize)]
struct OtherHeader {
    alg: String,
    kid: Option<String>,
    /// See [`VerifiedToken::marked_until`].
    marked_until: Option<u64>,
    #[serde(default, deserialize_with = "is_present")]
    crit: bool,
}

fn is_present<'de, D: serde::Deserializer<'de>>(deserializer: D) -> Result<bool, D::Error> {
    serde::de::IgnoredAny::deserialize(deserializer).map(|_| true)
}

impl AccessTokens {
    /// Creates a signer and verifier. It signs with the first key of the ring, and accepts tokens of every key in
    /// the ring.
    pub fn new(keyring: Keyring) -> Self {
        Self {
            keyring: Arc::new(RwLock::new(keyring)),
        }
    }

    /// Replaces the keys of this value and all its clones, and logs the new keys. Warns if other replicas may
    /// refuse new tokens, or if the tokens of the old signing key are no longer accepted.
    pub(crate) fn replace_keys(&self, keyring: Keyring) {
        let signing = keyring.signing_kid();
        let accepted: Vec<_> = keyring.kids().collect();
        tracing::info!(signing, ?accepted, "reloaded the keys of access tokens");
        let old = self.keyring.read();
        if old.kids().all(|kid| kid != signing) {
            tracing::warn!(
                signing,
                "the new signing key was not accepted before: replicas that have not reloaded \
                 refuse its tokens"
            );
        }
        if !accepted.contains(&old.signing_kid()) {
            let kid = old.signing_kid();
            tracing::warn!(
                kid,
                "the previous signing key is no longer accepted: its tokens are refused"
            );
        }
        drop(old);
        *self.keyring.write() = keyring;
    }

    /// Returns the number of seconds after `now` until a token may be issued for the user. It is 0, except
    /// after many revocations in a row or after a revocation by a clock that was ahead.
    pub(crate) fn seconds_until_issue(user: &User, now: u64) -> u64 {
        user.tokens_not_before
            .saturating_sub(now.saturating_add(MAX_ISSUE_AHEAD_SECONDS))
    }

    /// Issues a token for the user as read at `now`. The time of issue is never before the user's
    /// `tokens_not_before`, so a new password does not revoke the tokens that are issued right after the
    /// change.
    pub fn issue(&self, user: &User, now: u64) -> Result<SecretString, SigningError> {
        let issued = now.max(user.tokens_not_before);
        let marked_until = user.marked_until();
        let claims = IssuedClaims {
            sub: user.id.to_string(),
            username: &user.username,
            role: user.role.as_str(),
            exp: issued.saturating_add(TOKEN_TTL_SECONDS),
        };
        let marked_until = (issued < marked_until).then_some(marked_until);
        let keyring = self.keyring.read();
        Ok(keyring.signing().encode(&claims, marked_until)?.into())
    }

    /// Verifies the signature and parses the claims. Returns `None` for a token that is too long, malformed or
    /// forged, or that requires a critical extension.
    ///
    /// The caller then reads the user, and asks [`VerifiedToken`] whether the token was valid when the user was
    /// read, and whether it was revoked.
    pub(crate) fn verify(&self, token: &str) -> Option<VerifiedToken> {
        if token.len() > MAX_TOKEN_LEN {
            return None;
        }
        let (message, signature) = token.rsplit_once('.')?;
        let (header, payload) = message.split_once('.')?;
        let SignedHeader {
            marked_until,
            has_kid,
        } = self.signed_header(header, message, signature)?;
        let payload = decode_object(payload)?;
        let claims = Claims::parse(&payload, has_kid)?;
        Some(VerifiedToken {
            user_id: parse_user_id(&claims.sub)?,
            issued: claims.exp.saturating_sub(TOKEN_TTL_SECONDS),
            marked_until,
            username: claims.username,
            exp: claims.exp,
            nbf: claims.nbf,
        })
    }

    /// Returns the header of a token if its signature is valid. The usual headers of this service name their
    /// key and are compared as text, which is cheaper than parsing them.
    fn signed_header(&self, header: &str, message: &str, signature: &str) -> Option<SignedHeader> {
        let is_signed_with = |key: &Key| key.verify(message, signature);
        let keyring = self.keyring.read();
        if let Some(key) = keyring.find_by_header(header) {
            if !is_signed_with(key) {
                return None;
            }
            return Some(SignedHeader {
                marked_until: 0,
                has_kid: true,
            });
        }
        let header: OtherHeader = serde_json::from_slice(&decode_object(header)?).ok()?;
        // No critical extension is supported, so a token that names one is refused (RFC 7515, section 4.1.11).
        if header.alg != "HS256" || header.crit {
            return None;
        }
        let mut candidates = keyring.candidates(header.kid.as_deref());
        if !candidates.any(is_signed_with) {
            return None;
        }
        Some(SignedHeader {
            marked_until: header.marked_until.unwrap_or_default(),
            has_kid: header.kid.is_some(),
        })
    }
}

impl VerifiedToken {
    /// Returns whether the token is valid at this time, in Unix seconds, by `exp` and `nbf`. If `exp` is later
    /// than this service would set it, the token is refused: it comes from another program, or from a clock
    /// that was ahead.
    pub(crate) fn is_valid_at(&self, now: u64) -> bool {
        let latest = now.saturating_add(TOKEN_TTL_SECONDS + MAX_EXTRA_SECONDS);
        now < self.exp && self.exp <= latest && self.nbf.is_none_or(|nbf| nbf <= now)
    }

    /// Returns whether the token was revoked, or was issued to an earlier user with the same id. A restored
    /// database assigns ids again that were first assigned after the backup. [`User::marked_until`] explains
    /// which tokens need a mark.
    pub(crate) fn is_revoked(&self, user: &User) -> bool {
        let required = match &self.username {
            UsernameClaim::MustMatch(name) if name.as_ref() != Some(&user.username) => return true,
            UsernameClaim::MustMatch(_) => user.marked_until(),
            UsernameClaim::Ignored => user.tokens_marked_until,
        };
        let lacks_mark = self.issued < required && self.marked_until != required;
        lacks_mark || self.issued < user.tokens_not_before
    }
}

/// The claims of a token that this service issues.
#[derive(Serialize)]
struct IssuedClaims<'a> {
    sub: String,
    username: &'a str,
    role: &'a str,
    exp: u64,
}

/// The claims of a presented token that decide whether it is valid. serde refuses floats and repeated claims.
#[derive(Deserialize)]
struct Claims<'a> {
    #[serde(borrow)]
    sub: Cow<'a, str>,
    /// The claim `username`, which only [`ClaimsWithKid`] parses.
    #[serde(skip)]
    username: UsernameClaim,
    exp: u64,
    /// The claim `nbf`. Tokens of this service do not have it.
    nbf: Option<u64>,
}

/// The claim `username` of a token, and whether it has to match.
#[derive(Debug, Default)]
enum UsernameClaim {
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
    fn parse(payload: &'a [u8], has_kid: bool) -> Option<Self> {
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
fn decode_object(part: &str) -> Option<Vec<u8>> {
    let json = URL_SAFE_NO_PAD.decode(part).ok()?;
    // serde would also accept an array for a struct, but claims are members of an object.
    let is_object = json.trim_ascii_start().first() == Some(&b'{');
    is_object.then_some(json)
}

/// The id for a `sub` outside the range of ids. No user has it.
const NO_USER: i64 = -1;

/// Parses the claim `sub`. Only the canonical decimal form is valid, so that each id has one spelling. A number
/// outside the range of ids becomes [`NO_USER`].
fn parse_user_id(sub: &str) -> Option<i64> {
    let digits = sub.strip_prefix('-').unwrap_or(sub);
    let is_canonical = match digits.as_bytes() {
        [b'0'] => digits.len() == sub.len(),
        [b'1'..=b'9', rest @ ..] => rest.iter().all(u8::is_ascii_digit),
        _ => false,
    };
    is_canonical.then(|| sub.parse().unwrap_or(NO_USER))
}

#[cfg(test)]
mod tests;
