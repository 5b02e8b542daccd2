//! API keys and sessions, as they are stored and listed. The bearer acts as the token's user.

use super::secret::{GeneratedToken, SecretKind};
use rolegate_proto::{GroupName, Role};
use secrecy::{ExposeSecret as _, SecretString};
use std::io;

/// The number of characters at the start of a token that are stored, so that people can recognize it.
const SHOWN_CHARS: usize = 8;

/// The kind of a token, which says whether a program or a person presents it.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum TokenKind {
    /// The token of a program. The program acts as the user of the token, with the lower of the stored role and
    /// the role of the key. Some calls accept no API key.
    ApiKey,
    /// The token of a person, created with a password. It is used like an access token, or only in a cookie: see
    /// [`SessionDetails::cookie_only`].
    Session,
}

/// The stored properties of an opaque token, without the token itself and its digest.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct OpaqueToken {
    /// The id, at least 1. The database assigns it and never reuses it, not even for a token of the other kind.
    pub id: i64,
    /// The id of the user who acts with the token.
    pub user_id: i64,
    /// The name that the user gave the token; empty for a session without a name.
    pub name: String,
    /// The first 8 characters of the token, by which people recognize it.
    pub prefix: String,
    /// The time at which the token was created, in Unix seconds like the times below.
    pub created_at: u64,
    /// The time at which the token expires; `None` if it never does.
    pub expires_at: Option<u64>,
    /// The time at which the token was last presented while it was valid. It is stored with a delay of up to a
    /// minute.
    pub last_used_at: Option<u64>,
    /// The kind of the token, with the properties that only this kind has.
    pub details: TokenDetails,
}

/// The kind of a token, with the properties that only tokens of this kind have.
#[derive(Clone, Debug, PartialEq, Eq)]
pub enum TokenDetails {
    /// The token is an API key.
    ApiKey {
        /// The highest role that the key grants; `None` if it grants the user's role.
        role: Option<Role>,
        /// The groups that the key has, as far as its user is in them, by ascending name; `None` if the key names no
        /// groups.
        groups: Option<Vec<GroupName>>,
        /// The username of the admin who created the key for its user; `None` if the user or an operator created it.
        created_by: Option<String>,
    },
    /// The token is a session.
    Session(SessionDetails),
}

/// The properties that only sessions have.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub struct SessionDetails {
    /// The value of [`User::tokens_not_before`](crate::user::User::tokens_not_before) that the session requires: it is
    /// valid only while both values are equal. A session that is to survive a change of the user's value gets the new
    /// value.
    pub not_before: u64,
    /// The address of the client that created the session, if it is known.
    pub client_address: Option<String>,
    /// The `User-Agent` header of the client that created the session. The client can send any text.
    pub user_agent: Option<String>,
    /// True if the session is accepted only in a cookie, not as a bearer token of the API. It is also true for a session
    /// of a domain, which its prefix already rules out as a bearer token before the row is read.
    pub cookie_only: bool,
    /// The id that the two sessions of one sign-in have in common, so that both can be revoked together.
    pub pair_id: Option<i64>,
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

impl NewToken {
    /// Generates a token of this user that does not expire. `created_at` is in Unix seconds. Fails only if the system
    /// provides no random bytes.
    pub fn generate(
        kind: SecretKind<'_>,
        user_id: i64,
        name: String,
        created_at: u64,
        details: TokenDetails,
    ) -> io::Result<Self> {
        let GeneratedToken { token, digest } = kind.generate()?;
        let stored = OpaqueToken {
            id: 0,
            user_id,
            name,
            prefix: token.expose_secret().chars().take(SHOWN_CHARS).collect(),
            created_at,
            expires_at: None,
            last_used_at: None,
            details,
        };
        Ok(Self {
            token,
            digest,
            stored,
        })
    }
}

impl OpaqueToken {
    pub(crate) fn kind(&self) -> TokenKind {
        match self.details {
            TokenDetails::ApiKey { .. } => TokenKind::ApiKey,
            TokenDetails::Session(_) => TokenKind::Session,
        }
    }

    /// Returns the highest role that the token grants; `None` if it grants the user's role, as every session does.
    pub(crate) fn role(&self) -> Option<Role> {
        match self.details {
            TokenDetails::ApiKey { role, .. } => role,
            TokenDetails::Session(_) => None,
        }
    }

    /// Returns the groups that this API key names; `None` if it names none, or the token is a session.
    pub(crate) fn groups(&self) -> Option<&[GroupName]> {
        match &self.details {
            TokenDetails::ApiKey { groups, .. } => groups.as_deref(),
            TokenDetails::Session(_) => None,
        }
    }

    /// Returns the username of the admin who created this API key for its user, if one did.
    pub(crate) fn created_by(&self) -> Option<&str> {
        match &self.details {
            TokenDetails::ApiKey { created_by, .. } => created_by.as_deref(),
            TokenDetails::Session(_) => None,
        }
    }

    /// Returns the properties that only a session has; `None` for an API key.
    pub(crate) fn session(&self) -> Option<&SessionDetails> {
        match &self.details {
            TokenDetails::ApiKey { .. } => None,
            TokenDetails::Session(details) => Some(details),
        }
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
