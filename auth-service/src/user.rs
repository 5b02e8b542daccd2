//! Stored users.

use rolegate_proto::Role;
use secrecy::SecretString;

/// How far ahead of the clock tokens are issued, in seconds: revocations in a row move
/// `tokens_not_before` ahead, and a login waits until it is this near.
pub(crate) const MAX_ISSUE_AHEAD_SECONDS: u64 = 30;

/// How far a failover to another server may set the clock back, in seconds.
pub(crate) const MAX_CLOCK_SETBACK_SECONDS: u64 = 2;

/// How far ahead of the clock a revocation stores its time, in seconds: later than every token issued so far,
/// in the current second and by the clock before a failover.
pub(crate) const REVOCATION_AHEAD_SECONDS: u64 = 1 + MAX_CLOCK_SETBACK_SECONDS;

/// A user without secrets.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct User {
    /// Assigned by the database, at least 1. Given out twice only by `user import --reuse-ids`, or after a restore without
    /// `user end-all`; [`User::created_at`] tells such users apart.
    pub id: i64,
    /// Unique, compared byte for byte.
    pub username: String,
    /// The stored role.
    pub role: Role,
    /// Tokens issued before this time are revoked, in Unix seconds. Every change of the password
    /// increases it, so it also identifies the version of the password.
    pub tokens_not_before: u64,
    /// Whether every credential of the user is refused, as if the user did not exist.
    pub disabled: bool,
    /// The stored part of `User::marked_until`, in Unix seconds: set when a revocation lowers `tokens_not_before`,
    /// otherwise 0.
    pub tokens_marked_until: u64,
    /// Whether a password needs a one-time code beside it.
    pub second_factor: bool,
    /// When the user was created, in Unix seconds; `None` if it is not known: for users from before it was kept, and for
    /// users who were moved here with their tokens.
    pub created_at: Option<u64>,
}

impl User {
    pub(crate) fn is_active_admin(&self) -> bool {
        self.role == Role::ADMIN && !self.disabled
    }

    /// The time, in Unix seconds, before which a token must be marked: one that was issued earlier is valid only if its
    /// header has exactly this `marked_until`. It is at least `created_at`, so a token that was issued to an earlier user
    /// with the same id is refused. Tokens that are issued while the clock is behind `created_at` are marked, and valid.
    pub(crate) fn marked_until(&self) -> u64 {
        self.tokens_marked_until
            .max(self.created_at.unwrap_or_default())
    }
}

/// A user in a list, and when they last logged in, in Unix seconds.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct ListedUser {
    /// The user.
    pub user: User,
    /// The last login with a password; `None` for none since it is kept.
    pub last_login_at: Option<u64>,
}

/// A user with the password hash, which is not printed.
#[derive(Clone, Debug)]
pub struct Credentials {
    /// The user.
    pub user: User,
    /// A bcrypt hash, `$2b$12$…`.
    pub password_hash: SecretString,
}
