//! The error of all writes in the database of users.

use rolegate_sql_store::{StoreError, row};
use std::time::Duration;

row! {
    /// An API key that names a group.
    #[derive(Debug)]
    pub struct NamingKey {
        /// The name of the key.
        pub key: String,
        /// The username of the user of the key.
        pub username: String,
    }
}

/// The reason why a write failed.
///
/// A transaction that could remove an admin locks and checks all active admins. So if two admins delete each other, the
/// second deletion fails. If the last two admins give up the role at the same time, one of them stays an admin.
#[derive(Debug, thiserror::Error)]
pub enum WriteError {
    /// Another user has the name. Only the unique index detects this error, because nothing checks the name before the
    /// write.
    #[error("the username is taken")]
    UsernameTaken,
    /// The user does not exist, or a condition of the write does not hold, such as that of its
    /// `Principal`.
    #[error("the user does not exist or has changed")]
    UserNotFound,
    /// The actor no longer exists, or is disabled.
    #[error("the actor does not exist")]
    ActorNotFound,
    /// The actor is no longer an admin.
    #[error("the actor is not an admin")]
    NotAdmin,
    /// The user is the last enabled admin whose account has no end.
    #[error("no enabled admin without an end would be left")]
    LastAdmin,
    /// The user is an admin, and admins cannot create keys for other admins.
    #[error("the user is an admin")]
    UserIsAdmin,
    /// The user has [`MAX_API_KEYS`](rolegate_proto::limits::MAX_API_KEYS) keys. The insert locks the user, so
    /// concurrent inserts do not exceed the limit.
    #[error("the user has too many API keys")]
    ApiKeyLimit,
    /// Too much was added to the user within a minute: see `additions`.
    #[error("too much was added to the user")]
    TooManyAdditions {
        /// The time until the limit allows another addition.
        retry_after: Duration,
    },
    /// No group has this id or name.
    #[error("the group does not exist")]
    GroupNotFound,
    /// Another group has the name.
    #[error("the group exists already")]
    GroupTaken,
    /// The user is in [`MAX_GROUPS`](rolegate_proto::limits::MAX_GROUPS) groups.
    #[error("the user is in too many groups")]
    GroupLimit,
    /// API keys name the group.
    #[error("API keys name the group")]
    GroupInUse(Vec<NamingKey>),
    /// The user is not in the group.
    #[error("the user is not in the group")]
    MembershipNotFound,
    /// The second factor of the user is not on.
    #[error("the second factor is not on")]
    SecondFactorOff,
    /// The store has failed, or is not available.
    #[error(transparent)]
    Store(#[from] StoreError),
}
