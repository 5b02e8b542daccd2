//! The types of stored users.

use rolegate_proto::Role;
use secrecy::SecretString;

/// The maximum time by which a token may be issued ahead of the clock, in seconds.
///
/// Each revocation moves `tokens_not_before` ahead of the clock, so several in a row add up. A
/// login then waits until `tokens_not_before` is at most this far ahead, and fails if its deadline
/// comes first.
pub(crate) const MAX_ISSUE_AHEAD_SECONDS: u64 = 30;

/// The maximum number of seconds by which the clock may go back when PostgreSQL fails over to
/// another server.
pub(crate) const MAX_CLOCK_SETBACK_SECONDS: u64 = 2;

/// The number of seconds by which a revocation sets `tokens_not_before` ahead of the clock.
///
/// The resulting time is later than that of every token that was dated by the clock, even in the
/// current second. Before a failover, the clock of another server may have been ahead. `revocation`
/// in the store has the rules for an old `tokens_not_before` that is later still.
pub(crate) const REVOCATION_AHEAD_SECONDS: u64 = 1 + MAX_CLOCK_SETBACK_SECONDS;

/// A stored user, without the password hash and other secrets.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct User {
    /// The id, at least 1, which the database assigns.
    ///
    /// Two users get the same id only by `user import --reuse-ids`, or after a restore without
    /// `user end-all`. [`User::created_at`] distinguishes such users.
    pub id: i64,
    /// The username, which is unique and compared byte for byte.
    pub username: String,
    /// The stored role, which has no effect in some cases: see `Actor::ineffective_role`.
    pub role: Role,
    /// Tokens issued before this time, in Unix seconds, are revoked. Every change of the password
    /// increases it, so it also identifies the version of the password.
    pub tokens_not_before: u64,
    /// True if every credential of the user is refused, as if the user did not exist.
    pub disabled: bool,
    /// The stored part of `User::marked_until`, in Unix seconds; 0 if there is none.
    ///
    /// A revocation sets it when it lowers a `tokens_not_before` that is far in the future. The
    /// clock was ahead when that time was stored, so tokens that were issued by the same clock must
    /// not become valid again.
    pub tokens_marked_until: u64,
    /// True if a login with the password also needs a one-time code.
    pub second_factor: bool,
    /// When the user was created, in Unix seconds. `None` for users who were created by a version
    /// that did not store it, and for users who were imported with their tokens.
    pub created_at: Option<u64>,
}

impl User {
    pub(crate) fn is_active_admin(&self) -> bool {
        self.role == Role::ADMIN && !self.disabled
    }

    /// Returns the time, in Unix seconds, before which a token is valid only with a mark: its
    /// header must contain exactly this `marked_until`.
    ///
    /// It is at least `created_at`, so a token of an earlier user with the same id is refused.
    /// Tokens that are issued while the clock is behind `created_at` carry the mark, and are valid.
    pub(crate) fn marked_until(&self) -> u64 {
        self.tokens_marked_until
            .max(self.created_at.unwrap_or_default())
    }
}

/// A user as shown in lists, with the time of the last login.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct ListedUser {
    /// The user.
    pub user: User,
    /// When the user last logged in with the password, in Unix seconds; `None` if no login was
    /// stored.
    pub last_login_at: Option<u64>,
}

/// A user with the password hash, which `Debug` does not print.
#[derive(Clone, Debug)]
pub struct Credentials {
    /// The user.
    pub user: User,
    /// The stored hash, such as `$2b$12$…`.
    pub password_hash: SecretString,
}
