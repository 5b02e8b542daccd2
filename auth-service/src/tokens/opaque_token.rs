//! Opaque tokens: the API keys of programs and the sessions of people. The bearer acts as the token's user.
//!
//! A token is a prefix (`rgk_` for API keys, `rgs_` or `rgd_` for sessions) and 32 random bytes in base64url.
//! Only its SHA-256 is stored, and a token is found by this digest. It needs no slow hash, because 256 random
//! bits cannot be guessed, and a lookup by digest compares no secret.
//!
//! This file generates tokens, computes their digests and tells whether a stored token is valid. The tokens of
//! password links and pending sign-ins are made in the same way, but are not credentials. `store` has the rows.

use crate::{secret_generation::random_bytes, user::User};
use base64::{Engine as _, engine::general_purpose::URL_SAFE_NO_PAD};
use rolegate_proto::{
    Reason, Role,
    limits::{API_KEY_PREFIX, DOMAIN_SESSION_PREFIX, SESSION_PREFIX},
};
use secrecy::{ExposeSecret as _, SecretString};
use sha2::{Digest as _, Sha256};
use std::io;

/// The number of random bytes in a token, before they are encoded in base64url.
const RANDOM_BYTES: usize = 32;
/// The number of characters at the start of a token that are stored, so that people can recognize it.
const SHOWN_CHARS: usize = 8;
/// The prefix of the token of a password link.
const PASSWORD_LINK_PREFIX: &str = "rgl_";
/// The prefix of the token of a pending sign-in.
const PENDING_SIGN_IN_PREFIX: &str = "rgp_";
/// The prefixes of tokens that are credentials.
const CREDENTIAL_PREFIXES: [&str; 3] = [API_KEY_PREFIX, SESSION_PREFIX, DOMAIN_SESSION_PREFIX];

/// The kind of a token, which says whether a program or a person presents it.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum TokenKind {
    /// The token of a program. The program acts as the user of the token, with the lower of the stored role and
    /// the role of the key. Some calls accept no API key.
    ApiKey,
    /// The token of a person, created with a password. It is used like an access token. If it has the prefix
    /// [`DOMAIN_SESSION_PREFIX`], or if [`OpaqueToken::cookie_only`] is true, it is valid only in a cookie.
    Session,
}

/// The stored properties of an opaque token, without the token itself and its digest.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub struct OpaqueToken {
    /// The id, at least 1. The database assigns it and never reuses it, not even for a token of the other kind.
    pub id: i64,
    /// The id of the user who acts with the token.
    pub user_id: i64,
    /// The name that the user gave the token; empty for a session without a name.
    pub name: String,
    /// The first 8 characters of the token, by which people recognize it.
    pub prefix: String,
    /// The highest role that the token grants; `None` if it grants the user's role.
    pub role: Option<Role>,
    /// The time at which the token was created, in Unix seconds like the times below.
    pub created_at: u64,
    /// The time at which the token expires; `None` if it never does.
    pub expires_at: Option<u64>,
    /// The time at which the token was last presented while it was valid. It is stored with a delay of up to a
    /// minute.
    pub last_used_at: Option<u64>,
    /// The value of [`User::tokens_not_before`] that the session requires: the session is valid only while both
    /// values are equal. A session that is to survive a change of the user's value gets the new value. `None`
    /// for an API key.
    pub not_before: Option<u64>,
    /// The address of the client that created a session, if it is known.
    pub client_address: Option<String>,
    /// The `User-Agent` header of the client that created a session. The client can send any text.
    pub user_agent: Option<String>,
    /// The username of the admin who created an API key for its user; `None` if the user or an operator created
    /// it.
    pub created_by: Option<String>,
    /// True for a session that is accepted only in a cookie, not as a bearer token of the API.
    pub cookie_only: bool,
    /// The id that the two sessions of one sign-in have in common, so that both can be revoked together.
    pub pair_id: Option<i64>,
}

/// The properties of a stored token that a decision needs, and the user of the token.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct TokenBearer {
    /// The digest of the token, in hex.
    pub digest: String,
    /// The id of the token.
    pub token_id: i64,
    /// The highest role that the token grants; `None` if it grants the user's role.
    pub role: Option<Role>,
    /// The time at which the token expires, in Unix seconds like the times below; `None` if it never does.
    pub expires_at: Option<u64>,
    /// The time at which the token was last used, or was created if it was never used.
    pub last_used_at: u64,
    /// See [`OpaqueToken::not_before`].
    pub not_before: Option<u64>,
    /// See [`OpaqueToken::cookie_only`].
    pub cookie_only: bool,
    /// The user who acts with the token, as stored.
    pub user: User,
}

/// A random token, and the digest by which it is found when it is presented.
#[derive(Clone, Debug)]
pub struct GeneratedToken {
    /// The token itself.
    pub token: SecretString,
    /// The digest of the token, in hex.
    pub digest: String,
}

/// A generated token, which the caller has not stored yet.
#[derive(Clone, Debug)]
pub struct NewToken {
    /// The token itself.
    pub token: SecretString,
    /// The digest of the token, in hex.
    pub digest: String,
    /// Everything else that is stored. The database assigns the id.
    pub stored: OpaqueToken,
}

impl TokenKind {
    /// Returns the kind of a credential by its prefix, whether or not the credential is valid. Returns `None`
    /// for a credential without such a prefix, such as an access token.
    pub(crate) fn detect(credential: &str) -> Option<Self> {
        let prefix = CREDENTIAL_PREFIXES
            .into_iter()
            .find(|prefix| credential.starts_with(prefix))?;
        Some(if prefix == API_KEY_PREFIX {
            Self::ApiKey
        } else {
            Self::Session
        })
    }

    /// Returns the kind of a stored token by its [`OpaqueToken::not_before`], which only sessions have.
    fn from_not_before(not_before: Option<u64>) -> Self {
        if not_before.is_some() {
            Self::Session
        } else {
            Self::ApiKey
        }
    }

    /// Returns the name of the kind for people, for the start of a sentence.
    pub(crate) const fn title(self) -> &'static str {
        match self {
            Self::ApiKey => "API key",
            Self::Session => "Session",
        }
    }

    /// Returns the reason with which a request for an invalid new token is refused.
    pub(crate) const fn invalid_reason(self) -> Reason {
        match self {
            Self::ApiKey => Reason::ApiKeyInvalid,
            Self::Session => Reason::SessionInvalid,
        }
    }

    /// Returns the reason with which a request is refused if no token has the given id.
    pub(crate) const fn not_found_reason(self) -> Reason {
        match self {
            Self::ApiKey => Reason::ApiKeyNotFound,
            Self::Session => Reason::SessionNotFound,
        }
    }
}

impl NewToken {
    /// Generates a token of this user, with this prefix and name. `created_at` is in Unix seconds. Fails only
    /// if the system provides no random bytes.
    pub fn generate(prefix: &str, user_id: i64, name: String, created_at: u64) -> io::Result<Self> {
        let GeneratedToken { token, digest } = generate(prefix, "")?;
        let shown_prefix = token.expose_secret().chars().take(SHOWN_CHARS).collect();
        let is_session = prefix != API_KEY_PREFIX;
        Ok(Self {
            token,
            digest,
            stored: OpaqueToken {
                user_id,
                name,
                prefix: shown_prefix,
                created_at,
                not_before: is_session.then_some(0),
                ..OpaqueToken::default()
            },
        })
    }
}

/// Generates the id that the two sessions of one sign-in have in common.
pub(crate) fn generate_pair_id() -> io::Result<i64> {
    Ok(i64::from_ne_bytes(random_bytes()?) & i64::MAX)
}

/// Generates the token of a password link. It is no credential.
pub fn generate_password_link() -> io::Result<GeneratedToken> {
    generate(PASSWORD_LINK_PREFIX, "")
}

/// Generates the token of a pending sign-in. It is no credential. The digest covers `binding`, so the token is
/// found only together with the same binding.
pub(crate) fn generate_pending_sign_in(binding: &str) -> io::Result<GeneratedToken> {
    generate(PENDING_SIGN_IN_PREFIX, binding)
}

/// Generates a token. Its digest covers the token and `binding`.
fn generate(prefix: &str, binding: &str) -> io::Result<GeneratedToken> {
    let random: [u8; RANDOM_BYTES] = random_bytes()?;
    let token = format!("{prefix}{}", URL_SAFE_NO_PAD.encode(random));
    let digest = hex::encode(Sha256::digest(format!("{token}{binding}")));
    Ok(GeneratedToken {
        token: token.into(),
        digest,
    })
}

/// Returns the digest, in hex, by which a pending sign-in with this binding is found. Returns `None` if the
/// token is malformed.
pub(crate) fn pending_sign_in_digest(token: &str, binding: &str) -> Option<String> {
    digest_if_well_formed(
        &[PENDING_SIGN_IN_PREFIX],
        token,
        &format!("{token}{binding}"),
    )
}

/// Returns the digest, in hex, by which a password link is found. Returns `None` if the token is malformed.
pub(crate) fn password_link_digest(token: &str) -> Option<String> {
    digest_if_well_formed(&[PASSWORD_LINK_PREFIX], token, token)
}

/// Returns the digest, in hex, by which an API key or a session is found. Returns `None` if the token is
/// malformed.
pub(crate) fn digest(token: &str) -> Option<String> {
    digest_if_well_formed(&CREDENTIAL_PREFIXES, token, token)
}

/// Returns the SHA-256 of `content` if the token has one of these prefixes, and the rest of it encodes as many
/// bytes as a token has.
fn digest_if_well_formed(prefixes: &[&str], token: &str, content: &str) -> Option<String> {
    let encoded = prefixes
        .iter()
        .find_map(|prefix| token.strip_prefix(prefix))?;
    let mut random = [0_u8; RANDOM_BYTES + 1];
    let length = URL_SAFE_NO_PAD.decode_slice(encoded, &mut random).ok()?;
    if length != RANDOM_BYTES {
        return None;
    }
    Some(hex::encode(Sha256::digest(content)))
}

impl OpaqueToken {
    pub(crate) fn kind(&self) -> TokenKind {
        TokenKind::from_not_before(self.not_before)
    }

    /// Returns the time, in Unix seconds, at which a session expires if it is not used again. `idle` is the
    /// maximum time without use, in seconds.
    pub(crate) fn idle_expires_at(&self, idle: u64) -> u64 {
        let last_used_at = self.last_used_at.unwrap_or(self.created_at);
        let idle_end = last_used_at.saturating_add(idle);
        self.expires_at
            .map_or(idle_end, |expires_at| idle_end.min(expires_at))
    }
}

impl TokenBearer {
    pub(crate) fn kind(&self) -> TokenKind {
        TokenKind::from_not_before(self.not_before)
    }

    /// Returns whether the token is valid at this time, in Unix seconds: its user is not disabled, and the token
    /// is neither revoked nor expired. The idle limit of sessions is not checked here.
    pub(crate) fn is_active_at(&self, at: u64) -> bool {
        let is_revoked = self
            .not_before
            .is_some_and(|own| own != self.user.tokens_not_before);
        let is_expired = self.expires_at.is_some_and(|end| at >= end);
        !self.user.disabled && !is_revoked && !is_expired
    }

    /// Returns the user with the role that the token grants: the lower of the stored role and the token's.
    pub(crate) fn into_bounded_user(self) -> User {
        let mut user = self.user;
        if let Some(bound) = self.role {
            user.role = bound.lower(user.role);
        }
        user
    }
}

#[cfg(test)]
mod tests;
