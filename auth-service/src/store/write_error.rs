//! Why a write failed.

use rolegate_sql_store::StoreError;
use std::time::Duration;

/// Why a write failed. The transaction of an admin's write locks and checks all admins, so of two admins
/// who delete each other, the second one fails, and of the last two who leave, one stays.
#[derive(Debug, thiserror::Error)]
pub enum WriteError {
    /// The unique index has refused the name; nothing checks it before the write.
    #[error("the username is taken")]
    UsernameTaken,
    /// There is no such user, or the condition of the [`Writer`](super::Writer) no longer holds.
    #[error("the user does not exist or has changed")]
    UserNotFound,
    /// The actor no longer exists.
    #[error("the actor does not exist")]
    ActorNotFound,
    /// The actor is no longer an admin.
    #[error("the actor is not an admin")]
    NotAdmin,
    /// The user is the last admin who is not disabled.
    #[error("no admin would be left")]
    LastAdmin,
    /// The user is an admin, for whom other admins make no keys.
    #[error("the user is an admin")]
    UserIsAdmin,
    /// The user has [`MAX_API_KEYS`](rolegate_proto::limits::MAX_API_KEYS) keys. The transaction of the
    /// insert locks the user, so concurrent inserts do not exceed it.
    #[error("the user has too many API keys")]
    ApiKeyLimit,
    /// Too much was added to the user within a minute: see `additions`.
    #[error("too much was added to the user")]
    TooManyAdditions {
        /// When there is room again.
        retry_after: Duration,
    },
    /// The second factor of the user is not on.
    #[error("the second factor is not on")]
    SecondFactorOff,
    /// The store failed.
    #[error(transparent)]
    Store(#[from] StoreError),
}
