//! Users as they are stored.

use rolegate_proto::Role;
use secrecy::SecretString;

/// A user without secrets.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct User {
    /// Assigned by the database, at least 1, never given out twice.
    pub id: i64,
    /// Unique, compared byte for byte.
    pub username: String,
    /// The stored role.
    pub role: Role,
    /// Unix seconds: tokens of theirs that were issued earlier are not good any more. Every change of
    /// the password moves it on, so it tells one password from the next, too.
    pub tokens_not_before: u64,
}

/// A user with the stored hash of the password. The hash does not print.
#[derive(Clone, Debug)]
pub struct Credentials {
    /// Whose they are.
    pub user: User,
    /// A bcrypt hash, `$2b$12$…`.
    pub password_hash: SecretString,
}
