//! The database of users: the trait [`UserStore`], for PostgreSQL and for SQLite.
//!
//! PostgreSQL is for production; SQLite is the embedded default, so that one command runs
//! everything. Reads return `Option`s and lists, writes return typed errors. SQL stays in this module.
//!
//! - [`open()`]: the store of a URL; `sql`: its statements; `list_query`: the longest of them;
//!   `tables`: its schema.
//! - [`ApiKeyStore`]: the part about API keys.
//! - `transfer`: all users at once, for the commands that import and export them.
//! - [`BatchedReads`]: concurrent reads of single users or keys share statements.

mod api_keys;
mod batched_reads;
mod list_query;
mod sql;
mod tables;
mod transfer;

pub use api_keys::{ApiKeyStore, InsertKeyError, NewApiKey};
pub use batched_reads::BatchedReads;
pub use rolegate_sql_store::StoreError;
pub use sql::open;
pub(crate) use sql::open_beside;
pub use tables::inspect;
pub(crate) use transfer::{Import, Transfer, UserRecord};

use crate::user::{Credentials, User};
use async_trait::async_trait;
use rolegate_proto::Role;
use rolegate_sql_store::{StoreStatus, Timed};
use secrecy::SecretString;

/// The label of this store in metrics.
pub(crate) const NAME: &str = "users";

/// Why a user was not inserted.
#[derive(Debug, thiserror::Error)]
pub enum InsertError {
    /// By the unique index; there is no check before the insert.
    #[error("the username is taken")]
    UsernameTaken,
    /// The actor may not insert users.
    #[error(transparent)]
    Actor(ActorError),
    /// The store failed.
    #[error(transparent)]
    Store(#[from] StoreError),
}

/// Why an admin's write failed. The transaction of the write locks and checks all admins, so of two
/// admins who delete each other, the second one fails, and of the last two who leave, one stays.
#[derive(Debug, thiserror::Error)]
pub enum ActorError {
    /// The actor no longer exists.
    #[error("the actor does not exist")]
    NotFound,
    /// The actor is no longer an admin.
    #[error("the actor is not an admin")]
    NotAdmin,
    /// The user is the last admin who is not disabled.
    #[error("no admin would be left")]
    LastAdmin,
    /// The store failed.
    #[error(transparent)]
    Store(#[from] StoreError),
}

/// Who sets a password, and the condition that the write checks again.
#[derive(Clone, Copy, Debug)]
pub enum PasswordWriter {
    /// The user with this id, who is an admin.
    Admin(i64),
    /// The user themselves, whose password has not changed since it was verified.
    Owner {
        /// `tokens_not_before` at the time of the verification.
        seen: u64,
    },
    /// A person with access to the database; no condition.
    Operator,
}

impl PasswordWriter {
    pub(crate) fn admin(self) -> Option<i64> {
        if let Self::Admin(id) = self { Some(id) } else { None }
    }

    fn seen(self) -> Option<u64> {
        if let Self::Owner { seen } = self { Some(seen) } else { None }
    }
}

/// Who ends the tokens of a user, and the condition that the write checks.
#[derive(Clone, Copy, Debug)]
pub enum Revoker {
    /// The user with this id, who is an admin.
    Admin(i64),
    /// The bearer of a token that was issued at this time and is still good. Otherwise each of many
    /// logouts by one token would move the user's next login further into the future.
    Bearer {
        /// In Unix seconds.
        issued: u64,
    },
    /// A person with access to the database; no condition.
    Operator,
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
    /// Only users who are not disabled.
    pub is_enabled: bool,
}

/// A database of users.
///
/// Reads by key take many keys, for [`BatchedReads`]; they return rows in any order and omit unknown
/// keys.
#[async_trait]
pub trait UserStore: ApiKeyStore {
    /// Succeeds if the database answers a statement.
    async fn ping(&self) -> Result<(), StoreError>;

    /// Inserts a user if `actor` is an admin, or without an actor: a registration, or the operator.
    async fn insert(&self, actor: Option<i64>, user: NewUser) -> Result<User, InsertError>;

    /// The users with these ids.
    async fn users_by_id(&self, ids: &[i64]) -> Result<Timed<Vec<User>>, StoreError>;

    /// The users with these names, with their hashes.
    async fn credentials_by_username(
        &self,
        usernames: &[String],
    ) -> Result<Timed<Vec<Credentials>>, StoreError>;

    /// The highest cost of the bcrypt hashes. Reads all users.
    async fn highest_password_cost(&self) -> Result<Option<u32>, StoreError>;

    /// Sets the role of a user if `actor` is an admin who leaves an admin, or without an actor, for the
    /// operator. `None` if there is no such user.
    async fn set_role(
        &self,
        actor: Option<i64>,
        id: i64,
        role: Role,
    ) -> Result<Option<User>, ActorError>;

    /// Disables a user, which also revokes the tokens as `revoke_tokens` does, or enables the user,
    /// under the conditions of `set_role`.
    async fn set_disabled(
        &self,
        actor: Option<i64>,
        id: i64,
        disabled: bool,
    ) -> Result<Option<User>, ActorError>;

    /// Revokes the tokens of a user. `tokens_not_before` becomes a time shortly after the present, or
    /// grows by one if it is not earlier than that. If it is so late that no token can have been issued at
    /// it, it stays, and an operator lowers it; a bearer's always grows. `None` if there is no such user,
    /// or the token of the bearer is not good any more.
    async fn revoke_tokens(&self, by: Revoker, id: i64) -> Result<Option<User>, ActorError>;

    /// Deletes and returns a user, with the API keys, under the conditions of `set_role`. Ids are never
    /// reused.
    async fn delete(&self, actor: Option<i64>, id: i64) -> Result<Option<User>, ActorError>;

    /// Sets a password, of which this is the hash, and revokes the tokens, if the condition of `writer`
    /// holds; otherwise, or without such a user, `None`. `tokens_not_before` always grows.
    async fn set_password(
        &self,
        id: i64,
        hash: SecretString,
        writer: PasswordWriter,
    ) -> Result<Option<User>, StoreError>;

    /// Replaces the hash `old` with another one of the same password; whether it still was `old`.
    async fn replace_password(
        &self,
        id: i64,
        old: &SecretString,
        new: SecretString,
    ) -> Result<bool, StoreError>;

    /// Users by ascending id.
    async fn list(&self, filter: &UserFilter) -> Result<Vec<User>, StoreError>;

    /// The state of the connection pools, and of the last write.
    fn status(&self) -> StoreStatus;

    /// Finishes running statements and closes every connection.
    async fn close(&self);
}

/// The user `id` out of the rows of this user, of `actor` and of all admins, if `actor` may write. A write
/// that `keeps_admin` leaves an admin what they are.
fn require_admin(
    rows: &[User],
    actor: Option<i64>,
    id: i64,
    keeps_admin: bool,
) -> Result<Option<User>, ActorError> {
    let row = |id| rows.iter().find(|user| user.id == id);
    let target = row(id);
    if let Some(actor) = actor {
        let actor = row(actor).filter(|actor| !actor.disabled).ok_or(ActorError::NotFound)?;
        if actor.role != Role::Admin {
            return Err(ActorError::NotAdmin);
        }
        let has_other = rows.iter().any(|user| user.id != id && user.is_active_admin());
        if !keeps_admin && !has_other && target.is_some_and(User::is_active_admin) {
            return Err(ActorError::LastAdmin);
        }
    }
    Ok(target.cloned())
}

#[cfg(test)]
pub(crate) mod tests;
