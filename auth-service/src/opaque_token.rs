//! Opaque tokens: the API keys of programs and the sessions of people, who act as a user.
//!
//! A token is `rgk_`, `rgs_` or `rgd_` and 32 random bytes in base64url. It is found by its SHA-256, which is
//! all that is stored of it: 256 random bits cannot be guessed, so they need no slow hash, and a lookup by
//! digest compares no secret.

use crate::user::User;
use base64::{Engine as _, engine::general_purpose::URL_SAFE_NO_PAD};
use rolegate_proto::{
    Reason, Role,
    limits::{API_KEY_PREFIX, DOMAIN_SESSION_PREFIX, SESSION_PREFIX},
};
use secrecy::{ExposeSecret as _, SecretString};
use sha2::{Digest as _, Sha256};
use std::io;

/// Before base64url.
const RANDOM_BYTES: usize = 32;
/// Characters of a token that are stored, for people to recognise it.
const SHOWN_CHARS: usize = 8;
/// What the token of a password link begins with.
const LINK_PREFIX: &str = "rgl_";
/// What the token of a pending sign-in begins with.
const PENDING_PREFIX: &str = "rgp_";
/// What credentials begin with.
const PREFIXES: [(&str, TokenKind); 3] = [
    (API_KEY_PREFIX, TokenKind::ApiKey),
    (SESSION_PREFIX, TokenKind::Session),
    (DOMAIN_SESSION_PREFIX, TokenKind::Session),
];

/// What a token is.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum TokenKind {
    /// Of a program: its user acts with the lower of the stored role and the key's, and not for everything.
    ApiKey,
    /// Of a person, made by a password: stands for an access token, or with [`DOMAIN_SESSION_PREFIX`] or
    /// [`OpaqueToken::cookie_only`] in a cookie only.
    Session,
}

/// A stored token.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub struct OpaqueToken {
    /// Assigned by the database, at least 1, never reused, also not by the other kind.
    pub id: i64,
    /// The user who acts by it.
    pub user_id: i64,
    /// As its user named it; empty for a session without a name.
    pub name: String,
    /// The first 8 characters of the token.
    pub prefix: String,
    /// The highest role that it grants; `None` for the user's.
    pub role: Option<Role>,
    /// In Unix seconds, as the times below.
    pub created_at: u64,
    /// When it ends; `None` for never.
    pub expires_at: Option<u64>,
    /// When it was last presented while it was good, up to a minute late.
    pub last_used_at: Option<u64>,
    /// Of a session: it is good while this is [`User::tokens_not_before`].
    pub not_before: Option<u64>,
    /// Of a session: the address of the client that made it, if known.
    pub client_address: Option<String>,
    /// Of a session: the `User-Agent` of that client, which may say anything.
    pub user_agent: Option<String>,
    /// Of a key: the username of the admin who created it for the user.
    pub created_by: Option<String>,
    /// Of a session: whether it is good in a cookie only, and is no token of the API.
    pub cookie_only: bool,
    /// Of a session: the same for both sessions that one sign-in made.
    pub pair_id: Option<i64>,
}

/// What a decision needs of a stored token.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct TokenBearer {
    /// The digest of the token.
    pub digest: String,
    /// The id of the token.
    pub token_id: i64,
    /// The highest role that it grants; `None` for the user's.
    pub role: Option<Role>,
    /// When it ends, in Unix seconds as the times below; `None` for never.
    pub expires_at: Option<u64>,
    /// When it was last used, or created.
    pub last_used_at: u64,
    /// As [`OpaqueToken::not_before`]; `None` for an API key.
    pub not_before: Option<u64>,
    /// As [`OpaqueToken::cookie_only`].
    pub cookie_only: bool,
    /// The user who acts by it, as stored.
    pub user: User,
}

/// A token that was generated and is not stored yet.
#[derive(Clone, Debug)]
pub struct NewToken {
    /// The token itself.
    pub token: SecretString,
    /// Its digest.
    pub digest: String,
    /// What else is stored; the database assigns the id.
    pub stored: OpaqueToken,
}

impl TokenKind {
    /// The kind of a credential by its first characters, good or not; `None` for an access token.
    pub(crate) fn of(credential: &str) -> Option<Self> {
        split(credential).map(|(kind, _)| kind)
    }

    /// What people call it, at the start of a sentence.
    pub(crate) const fn title(self) -> &'static str {
        match self {
            Self::ApiKey => "API key",
            Self::Session => "Session",
        }
    }

    /// The reasons for one that breaks a rule, and for one that does not exist.
    pub(crate) const fn reasons(self) -> (Reason, Reason) {
        match self {
            Self::ApiKey => (Reason::ApiKeyInvalid, Reason::ApiKeyNotFound),
            Self::Session => (Reason::SessionInvalid, Reason::SessionNotFound),
        }
    }
}

impl NewToken {
    /// Generates a token with this prefix and name, of a user, at this time in Unix seconds. Fails only without
    /// system randomness.
    pub fn generate(prefix: &str, user_id: i64, name: String, created_at: u64) -> io::Result<Self> {
        let (token, digest) = random_token(prefix, "")?;
        let prefix_shown = token.expose_secret().chars().take(SHOWN_CHARS).collect();
        let stored = OpaqueToken {
            user_id,
            name,
            prefix: prefix_shown,
            created_at,
            not_before: (prefix != API_KEY_PREFIX).then_some(0),
            ..OpaqueToken::default()
        };
        Ok(Self {
            token,
            digest,
            stored,
        })
    }
}

/// A new id for two sessions that one sign-in makes.
pub(crate) fn new_pair_id() -> io::Result<i64> {
    let mut random = [0_u8; 8];
    getrandom::fill(&mut random).map_err(io::Error::other)?;
    Ok(i64::from_ne_bytes(random) & i64::MAX)
}

/// A new token of a password link, and its digest. It is no credential.
pub fn password_link() -> io::Result<(SecretString, String)> {
    random_token(LINK_PREFIX, "")
}

/// A new token of a pending sign-in, and its digest, which contains the place. It is no credential.
pub(crate) fn pending_sign_in(place: &str) -> io::Result<(SecretString, String)> {
    random_token(PENDING_PREFIX, place)
}

/// A new token, and the digest of the token and of `place`.
fn random_token(prefix: &str, place: &str) -> io::Result<(SecretString, String)> {
    let mut random = [0_u8; RANDOM_BYTES];
    getrandom::fill(&mut random).map_err(io::Error::other)?;
    let token = format!("{prefix}{}", URL_SAFE_NO_PAD.encode(random));
    let digest = hex::encode(Sha256::digest(format!("{token}{place}")));
    Ok((SecretString::from(token), digest))
}

/// The digest by which a pending sign-in is found at this place, in hex; `None` if its token is malformed.
pub(crate) fn pending_sign_in_digest(token: &str, place: &str) -> Option<String> {
    digest_of(
        &format!("{token}{place}"),
        token.strip_prefix(PENDING_PREFIX)?,
    )
}

/// The digest by which a password link is found, in hex; `None` if its token is malformed.
pub(crate) fn link_digest(token: &str) -> Option<String> {
    digest_of(token, token.strip_prefix(LINK_PREFIX)?)
}

/// The digest by which a token is found, in hex; `None` if it is malformed.
pub(crate) fn digest(token: &str) -> Option<String> {
    digest_of(token, split(token)?.1)
}

fn digest_of(token: &str, encoded: &str) -> Option<String> {
    let mut random = [0_u8; RANDOM_BYTES + 1];
    let decoded = URL_SAFE_NO_PAD.decode_slice(encoded, &mut random);
    (decoded.ok()? == RANDOM_BYTES).then(|| hex::encode(Sha256::digest(token)))
}

/// The kind of a token, and what follows its prefix.
fn split(token: &str) -> Option<(TokenKind, &str)> {
    PREFIXES
        .iter()
        .find_map(|(prefix, kind)| Some((*kind, token.strip_prefix(prefix)?)))
}

impl OpaqueToken {
    pub(crate) fn kind(&self) -> TokenKind {
        if self.not_before.is_some() {
            TokenKind::Session
        } else {
            TokenKind::ApiKey
        }
    }

    /// When a session ends unless it is used, of which `idle` is the limit in seconds.
    pub(crate) fn idle_expires_at(&self, idle: u64) -> u64 {
        let end = self
            .last_used_at
            .unwrap_or(self.created_at)
            .saturating_add(idle);
        self.expires_at
            .map_or(end, |expires_at| end.min(expires_at))
    }
}

impl TokenBearer {
    pub(crate) fn kind(&self) -> TokenKind {
        if self.not_before.is_some() {
            TokenKind::Session
        } else {
            TokenKind::ApiKey
        }
    }

    /// Whether it is good at this time, in Unix seconds, apart from the idle limit of sessions.
    pub(crate) fn is_good(&self, at: u64) -> bool {
        !self.user.disabled
            && self.expires_at.is_none_or(|end| at < end)
            && self
                .not_before
                .is_none_or(|own| own == self.user.tokens_not_before)
    }

    /// The user with the lower of the stored role and the key's.
    pub(crate) fn into_bounded_user(self) -> User {
        let role = self
            .role
            .map_or(self.user.role, |bound| bound.lower(self.user.role));
        User { role, ..self.user }
    }
}

#[cfg(test)]
mod tests;
