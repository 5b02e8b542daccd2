//! Stored users.

use rolegate_proto::Role;
use secrecy::SecretString;

/// How far ahead of its clock a replica issues tokens, in seconds: revocations in a row move
/// `tokens_not_before` ahead, and a login waits until it is this near. Far below what replicas accept,
/// so their clocks may differ.
pub(crate) const MAX_LEAD_SECONDS: u64 = 30;

/// A user without secrets.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct User {
    /// Assigned by the database, at least 1, never reused.
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
}

impl User {
    /// Whether the user may act as an admin.
    pub(crate) fn is_active_admin(&self) -> bool {
        self.role == Role::Admin && !self.disabled
    }
}

/// A user with the password hash, which is not printed.
#[derive(Clone, Debug)]
pub struct Credentials {
    /// The user.
    pub user: User,
    /// A bcrypt hash, `$2b$12$…`.
    pub password_hash: SecretString,
}
