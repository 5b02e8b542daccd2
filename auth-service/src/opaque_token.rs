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

/// The random bytes of a token, before base64url.
const RANDOM_BYTES: usize = 32;
/// The first characters of a token that are stored, for people to recognise it.
const SHOWN_CHARS: usize = 8;
/// The prefix of the token of a password link.
const PASSWORD_LINK_PREFIX: &str = "rgl_";
/// The prefix of the token of a pending sign-in.
const PENDING_SIGN_IN_PREFIX: &str = "rgp_";
/// The prefixes of tokens that are credentials.
const CREDENTIAL_PREFIXES: [&str; 3] = [API_KEY_PREFIX, SESSION_PREFIX, DOMAIN_SESSION_PREFIX];

/// The kind of a token: it tells who presents the token, and for what.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum TokenKind {
    /// The token of a program: its user acts with the lower of the stored role and the key's, and may not do everything.
    ApiKey,
    /// The token of a person, made by a password. It is used like an access token; with [`DOMAIN_SESSION_PREFIX`] or
    /// [`OpaqueToken::cookie_only`] it counts in a cookie only.
    Session,
}

/// A stored token.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub struct OpaqueToken {
    /// Assigned by the database, at least 1, never reused, also not by the other kind.
    pub id: i64,
    /// The user who acts by it.
    pub user_id: i64,
    /// The name that its user gave it; empty for a session without a name.
    pub name: String,
    /// The first 8 characters of the token.
    pub prefix: String,
    /// The highest role that it grants; `None` for the user's.
    pub role: Option<Role>,
    /// When it was created, in Unix seconds as the times below.
    pub created_at: u64,
    /// When it ends; `None` for never.
    pub expires_at: Option<u64>,
    /// When it was last presented while it was active, up to a minute late.
    pub last_used_at: Option<u64>,
    /// A session is active while this is [`User::tokens_not_before`]; `None` for an API key.
    pub not_before: Option<u64>,
    /// The address of the client that made a session, if known.
    pub client_address: Option<String>,
    /// The `User-Agent` of the client that made a session, which may say anything.
    pub user_agent: Option<String>,
    /// The username of the admin who created a key for its user.
    pub created_by: Option<String>,
    /// Whether a session counts in a cookie only, and is no token of the API.
    pub cookie_only: bool,
    /// An id that both sessions of one sign-in have in common.
    pub pair_id: Option<i64>,
}

/// The part of a stored token that a decision needs, with its user.
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
    /// See [`OpaqueToken::not_before`].
    pub not_before: Option<u64>,
    /// See [`OpaqueToken::cookie_only`].
    pub cookie_only: bool,
    /// The user who acts by it, as stored.
    pub user: User,
}

/// A random token, and the digest by which it will be found.
#[derive(Clone, Debug)]
pub struct GeneratedToken {
    /// The token itself.
    pub token: SecretString,
    /// Its digest, in hex.
    pub digest: String,
}

/// A token that was generated and is not stored yet.
#[derive(Clone, Debug)]
pub struct NewToken {
    /// The token itself.
    pub token: SecretString,
    /// Its digest.
    pub digest: String,
    /// Everything else that is stored; the database assigns the id.
    pub stored: OpaqueToken,
}

impl TokenKind {
    /// Reads the kind of a credential from its prefix, whether or not it is valid; `None` for an access token.
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

    /// Tells sessions from API keys by [`OpaqueToken::not_before`], which only sessions have.
    fn from_not_before(not_before: Option<u64>) -> Self {
        if not_before.is_some() {
            Self::Session
        } else {
            Self::ApiKey
        }
    }

    /// The name for people, at the start of a sentence.
    pub(crate) const fn title(self) -> &'static str {
        match self {
            Self::ApiKey => "API key",
            Self::Session => "Session",
        }
    }

    /// The reason for refusing a token that breaks a rule.
    pub(crate) const fn invalid_reason(self) -> Reason {
        match self {
            Self::ApiKey => Reason::ApiKeyInvalid,
            Self::Session => Reason::SessionInvalid,
        }
    }

    /// The reason for refusing the id of a token that does not exist.
    pub(crate) const fn not_found_reason(self) -> Reason {
        match self {
            Self::ApiKey => Reason::ApiKeyNotFound,
            Self::Session => Reason::SessionNotFound,
        }
    }
}

impl NewToken {
    /// Generates a token with this prefix and name, of a user, at this time in Unix seconds. Fails only without
    /// system randomness.
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

/// Generates an id for two sessions that one sign-in makes.
pub(crate) fn generate_pair_id() -> io::Result<i64> {
    let mut random = [0_u8; 8];
    getrandom::fill(&mut random).map_err(io::Error::other)?;
    Ok(i64::from_ne_bytes(random) & i64::MAX)
}

/// Generates the token of a password link, which is no credential.
pub fn generate_password_link() -> io::Result<GeneratedToken> {
    generate(PASSWORD_LINK_PREFIX, "")
}

/// Generates the token of a pending sign-in, which is no credential. The digest contains `binding`, so the token counts
/// for that only.
pub(crate) fn generate_pending_sign_in(binding: &str) -> io::Result<GeneratedToken> {
    generate(PENDING_SIGN_IN_PREFIX, binding)
}

/// Generates a token, with the digest of the token and of `binding`.
fn generate(prefix: &str, binding: &str) -> io::Result<GeneratedToken> {
    let mut random = [0_u8; RANDOM_BYTES];
    getrandom::fill(&mut random).map_err(io::Error::other)?;
    let token = format!("{prefix}{}", URL_SAFE_NO_PAD.encode(random));
    let digest = hex::encode(Sha256::digest(format!("{token}{binding}")));
    Ok(GeneratedToken {
        token: token.into(),
        digest,
    })
}

/// The digest by which a pending sign-in with this binding is found, in hex; `None` if its token is malformed.
pub(crate) fn pending_sign_in_digest(token: &str, binding: &str) -> Option<String> {
    let encoded = token.strip_prefix(PENDING_SIGN_IN_PREFIX)?;
    digest_if_well_formed(encoded, &format!("{token}{binding}"))
}

/// The digest by which a password link is found, in hex; `None` if its token is malformed.
pub(crate) fn password_link_digest(token: &str) -> Option<String> {
    digest_if_well_formed(token.strip_prefix(PASSWORD_LINK_PREFIX)?, token)
}

/// The digest by which an API key or a session is found, in hex; `None` if the token is malformed.
pub(crate) fn digest(token: &str) -> Option<String> {
    let encoded = CREDENTIAL_PREFIXES
        .into_iter()
        .find_map(|prefix| token.strip_prefix(prefix))?;
    digest_if_well_formed(encoded, token)
}

/// Hashes `content`, if the part of the token behind its prefix encodes as many bytes as a token has.
fn digest_if_well_formed(encoded: &str, content: &str) -> Option<String> {
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

    /// When a session ends unless it is used. `idle` is the longest time without use, in seconds.
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

    /// Whether the token is valid at this time, in Unix seconds, apart from the idle limit of sessions.
    pub(crate) fn is_active_at(&self, at: u64) -> bool {
        let is_revoked = self
            .not_before
            .is_some_and(|own| own != self.user.tokens_not_before);
        let is_expired = self.expires_at.is_some_and(|end| at >= end);
        !self.user.disabled && !is_revoked && !is_expired
    }

    /// The user with the lower of the stored role and the key's.
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
