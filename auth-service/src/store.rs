//! The database of users: the trait `UserStore`, for PostgreSQL and for SQLite.
//!
//! PostgreSQL is for production; SQLite is the embedded default, so that one command runs
//! everything. Reads return `Option`s and lists, writes return typed errors. SQL stays in this module.
//!
//! - `open`: the store of a URL; `sql`: its statements; `list_query`: the longest of them;
//!   `tables`: its schema.
//! - `TokenStore`: the part about API keys and sessions; `additions`: how many are made in a minute; `usage_pause`: when
//!   their uses could not be written.
//! - `maintenance`: what the commands of an operator do.
//! - `BatchedReads`: concurrent reads of single users or tokens share statements.
//! - `SecondFactorStore`, `AuditStore`: those about links and codes, and about the record. `audit_row`: its rows, which may be
//!   unreadable (`checked_row`); `seal`: its digests; `user_change`: the changes in it that other services learn of.

pub(crate) mod additions;
mod audit_row;
mod audit_store;
mod batched_reads;
mod checked_row;
mod inspection;
mod list_query;
mod maintenance;
mod opaque_tokens;
pub(crate) mod seal;
mod second_factor;
#[cfg(simulation)]
#[path = "../../tests/simulation/stores/users.rs"]
pub mod simulated;
mod sql;
mod tables;
mod usage_pause;
mod user_change;

pub(crate) use audit_row::AuditRow;
pub(crate) use audit_store::{AuditFilter, AuditStore, DAY_SECONDS, SEAL_INTERVAL, Snapshot};
pub(crate) use batched_reads::BatchedReads;
pub(crate) use checked_row::{CheckedRow, END_OF_9999, UnreadableColumn};
pub(crate) use inspection::UnsealedRows;
pub use inspection::{UserFacts, inspect};
pub use maintenance::HighestNumbers;
pub(crate) use maintenance::{
    ApiKeys, EndOfAll, Import, MAX_PAGE_ROWS, Maintenance, RecordContents, RecordedRemoval,
    SealedRecord, UserRecord,
};
pub(crate) use opaque_tokens::{SessionEnd, TokenSelection, TokenStore, UsageKind};
pub(crate) use rolegate_sql_store::FileClock;
pub use rolegate_sql_store::StoreError;
pub(crate) use seal::Seal;
pub use seal::SealReference;
pub(crate) use second_factor::{
    CodeLimit, CodePurpose, OneTimeCodeUse, PASSWORD_LINK_SECONDS, SecondFactorStore,
    StoredPasswordLink, StoredSecondFactor, WrongCodes,
};
pub(crate) use sql::{open, open_beside};
pub(crate) use usage_pause::{MAX_PAUSE_AHEAD, UsagePause, uses_in_time};
pub(crate) use user_change::{CheckedChange, UserChange};

use crate::{
    audit::Write,
    user::{Credentials, ListedUser, User},
};
use async_trait::async_trait;
use rolegate_proto::Role;
use rolegate_sql_store::Timed;
use secrecy::{ExposeSecret as _, SecretString};
use std::time::Duration;

/// The label of this store in metrics.
pub(crate) const NAME: &str = "users";

/// Why a write failed. The transaction of an admin's write locks and checks all admins, so of two admins
/// who delete each other, the second one fails, and of the last two who leave, one stays.
#[derive(Debug, thiserror::Error)]
pub enum WriteError {
    /// By the unique index; there is no check before the write.
    #[error("the username is taken")]
    UsernameTaken,
    /// There is no such user, or the condition of the [`Writer`] no longer holds.
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

/// Who changes a password, ends tokens or makes one, and the condition that the write checks.
#[derive(Clone, Debug)]
pub enum Writer {
    /// The user with this id, who is an admin.
    Admin(i64),
    /// The user themselves, whose password and tokens have not changed since they were verified.
    Owner {
        /// As it was at the time of the verification.
        tokens_not_before: u64,
        /// The session by which they act, which must not have ended. A new password does not end it.
        session_id: Option<i64>,
    },
    /// The user, who is not disabled and has these credentials, as they were verified.
    Login {
        /// As it was at that time.
        tokens_not_before: u64,
        /// The stored hash.
        password_hash: SecretString,
    },
    /// The user, who is not disabled and has the password link with this digest, which is used then.
    Link(String),
    /// The user, who is not disabled and has shown the code of a pending sign-in, which is used then.
    PendingSignIn {
        /// As it was when the sign-in was found.
        tokens_not_before: u64,
        /// The digest of the pending sign-in.
        digest: String,
    },
    /// A person with access to the database; no condition.
    Operator,
}

impl Writer {
    pub(crate) fn admin_id(&self) -> Option<i64> {
        if let Self::Admin(id) = self {
            Some(*id)
        } else {
            None
        }
    }

    /// The `tokens_not_before` that the user must still have.
    fn expected_tokens_not_before(&self) -> Option<u64> {
        match self {
            Self::Owner {
                tokens_not_before, ..
            }
            | Self::Login {
                tokens_not_before, ..
            }
            | Self::PendingSignIn {
                tokens_not_before, ..
            } => Some(*tokens_not_before),
            Self::Admin(_) | Self::Link(_) | Self::Operator => None,
        }
    }

    fn link_digest(&self) -> Option<&str> {
        if let Self::Link(digest) = self {
            Some(digest)
        } else {
            None
        }
    }

    pub(crate) fn session_id(&self) -> Option<i64> {
        if let Self::Owner { session_id, .. } = self {
            *session_id
        } else {
            None
        }
    }

    /// Checks the condition of an insert of a token of the user `id`. Admins make no keys of admins.
    fn check_new_token(&self, rows: &[Credentials], id: i64) -> Result<(), WriteError> {
        let row = rows
            .iter()
            .find(|row| row.user.id == id)
            .ok_or(WriteError::UserNotFound)?;
        if let Self::Admin(_) = self {
            let users: Vec<User> = rows.iter().map(|row| row.user.clone()).collect();
            require_admin(&users, self.admin_id(), id, true)?;
            let is_admin = row.user.role == Role::ADMIN;
            return if is_admin {
                Err(WriteError::UserIsAdmin)
            } else {
                Ok(())
            };
        }
        let has_password = match self {
            Self::Login { password_hash, .. } => {
                password_hash.expose_secret() == row.password_hash.expose_secret()
            }
            _ => true,
        };
        let is_unchanged = self
            .expected_tokens_not_before()
            .is_none_or(|expected| expected == row.user.tokens_not_before);
        let may_add = has_password && is_unchanged && !row.user.disabled;
        if may_add {
            Ok(())
        } else {
            Err(WriteError::UserNotFound)
        }
    }
}

/// A user to insert; the database assigns the id.
#[derive(Debug)]
pub struct NewUser {
    /// Validated.
    pub username: String,
    /// A bcrypt hash.
    pub password_hash: SecretString,
    /// The role.
    pub role: Role,
    /// The link by which the user sets the first password.
    pub link: Option<NewPasswordLink>,
}

/// A password link to insert with its user.
#[derive(Debug)]
pub struct NewPasswordLink {
    /// The digest of its token.
    pub digest: String,
    /// When it ends, in Unix seconds.
    pub expires_at: u64,
}

/// What changes of a user.
#[derive(Clone, Debug)]
pub struct UserUpdate {
    /// The new name; `None` for the stored one.
    pub rename: Option<Rename>,
    /// Whether the user is disabled; `None` for what is stored.
    pub disabled: Option<bool>,
}

/// A new name for a user who has not changed since they were read; otherwise there is no such user.
#[derive(Clone, Debug)]
pub struct Rename {
    /// The name that was read.
    pub from: String,
    /// Validated.
    pub to: String,
    /// As it was read.
    pub tokens_not_before: u64,
}

/// Selects a page of users.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub struct UserFilter {
    /// Only greater ids.
    pub after: i64,
    /// At most this many.
    pub limit: i64,
    /// Only usernames that start with these characters, taken literally; empty for all.
    pub username_prefix: String,
    /// Only this role; `None` for all.
    pub role: Option<Role>,
    /// Only users who are, or are not, disabled; `None` for all.
    pub disabled: Option<bool>,
    /// Only usernames that contain this text, taken literally but for the case of its letters; empty for all.
    pub search: String,
}

/// A database of users.
///
/// Reads by key take many keys, for `BatchedReads`; they return rows in any order and omit unknown
/// keys. Writes fail with [`WriteError::UserNotFound`] without the user to change. Their last argument is
/// what the transaction records about them.
#[async_trait]
pub(crate) trait UserStore: TokenStore + AuditStore + SecondFactorStore {
    /// Inserts a user if `actor` is an admin, or without an actor: a registration, or the operator.
    async fn insert(
        &self,
        actor: Option<i64>,
        user: NewUser,
        write: Write,
    ) -> Result<User, WriteError>;

    /// The users with these ids.
    async fn users_by_id(&self, ids: &[i64]) -> Result<Timed<Vec<User>>, StoreError>;

    /// The users with these names, with their hashes.
    async fn credentials_by_username(
        &self,
        usernames: &[String],
    ) -> Result<Timed<Vec<Credentials>>, StoreError>;

    /// The highest cost of the bcrypt hashes. Reads all users.
    async fn highest_password_cost(&self) -> Result<Option<u32>, StoreError>;

    /// The stored roles in order, each with the number of users and of API keys that have it. A role may
    /// come twice.
    async fn roles_in_use(&self) -> Result<Vec<(String, i64, i64)>, StoreError>;

    /// Sets the role of a user if `actor` is an admin who leaves an admin, or without an actor, for the
    /// operator.
    async fn set_role(
        &self,
        actor: Option<i64>,
        id: i64,
        role: Role,
        write: Write,
    ) -> Result<User, WriteError>;

    /// Renames a user, disables or enables the user, or both, under the conditions of `set_role`. Disabling also revokes
    /// tokens and ends sessions as `revoke_tokens` does. A new name revokes access tokens, which have the old one; sessions
    /// and API keys go on.
    async fn update(
        &self,
        actor: Option<i64>,
        id: i64,
        update: UserUpdate,
        write: Write,
    ) -> Result<User, WriteError>;

    /// Disables or enables a user.
    async fn set_disabled(
        &self,
        actor: Option<i64>,
        id: i64,
        disabled: bool,
        write: Write,
    ) -> Result<User, WriteError> {
        let update = UserUpdate {
            rename: None,
            disabled: Some(disabled),
        };
        self.update(actor, id, update, write).await
    }

    /// Revokes the tokens of a user and deletes the sessions but that of the writer. `tokens_not_before` becomes a time shortly after the present, or
    /// grows by one if it is not earlier than that. If it is so late that no token can have been issued at
    /// it, it stays, and an operator lowers it; an owner's always grows, so of many logouts by one token
    /// only the first moves the next login into the future.
    async fn revoke_tokens(
        &self,
        id: i64,
        writer: Writer,
        write: Write,
    ) -> Result<User, WriteError>;

    /// Deletes and returns a user, with the API keys and sessions, under the conditions of `set_role`. Ids are never
    /// reused.
    async fn delete(&self, actor: Option<i64>, id: i64, write: Write) -> Result<User, WriteError>;

    /// Sets a password, of which this is the hash, revokes the tokens, and deletes the sessions but that of
    /// the writer. `tokens_not_before` always grows. An admin's condition is part of the statement: unless it holds, there is no such user.
    async fn set_password(
        &self,
        id: i64,
        hash: SecretString,
        writer: Writer,
        write: Write,
    ) -> Result<User, WriteError>;

    /// Replaces the hash `old` with another one of the same password; whether it still was `old`. Nothing
    /// changes for anybody, so it is not recorded.
    async fn replace_password(
        &self,
        id: i64,
        old: &SecretString,
        new: SecretString,
    ) -> Result<bool, StoreError>;

    /// Users by ascending id. A search reads all users behind [`UserFilter::after`], until the page is full.
    async fn list(&self, filter: &UserFilter) -> Result<Vec<ListedUser>, StoreError>;
}

/// Checks, with the rows of the user `id`, of `actor` and of all admins, whether `actor` may write. A write
/// that `keeps_admin` leaves an admin what they are.
fn require_admin(
    rows: &[User],
    actor: Option<i64>,
    id: i64,
    keeps_admin: bool,
) -> Result<(), WriteError> {
    let row = |id| rows.iter().find(|user| user.id == id);
    if let Some(actor) = actor {
        let actor = row(actor)
            .filter(|actor| !actor.disabled)
            .ok_or(WriteError::ActorNotFound)?;
        if actor.role != Role::ADMIN {
            return Err(WriteError::NotAdmin);
        }
    }
    let target = row(id).ok_or(WriteError::UserNotFound)?;
    let has_other = rows
        .iter()
        .any(|user| user.id != id && user.is_active_admin());
    if actor.is_some() && !keeps_admin && !has_other && target.is_active_admin() {
        return Err(WriteError::LastAdmin);
    }
    Ok(())
}

#[cfg(test)]
#[cfg(not(simulation))]
pub(crate) mod tests;
#[cfg(simulation)]
#[expect(dead_code, reason = "some of it is for tests only")]
mod tests {
    pub(super) mod memory;
}
