//! Where users are kept: one small trait, two engines.
//!
//! PostgreSQL is the real one; SQLite is the embedded default, so that one command runs everything.
//! Look-ups return what there is, writes say what kept them from happening. Nothing above this
//! module sees SQL, and nothing here decides.

mod batched_reads;
mod inspection;
mod list_query;
mod open;
mod postgres;
mod sqlite;

pub use batched_reads::BatchedReads;
pub(crate) use inspection::{examine, inspect};
pub use open::open;
pub use postgres::PostgresStore;
use rolegate_sql_store::PoolStats;
pub use rolegate_sql_store::StoreError;
pub use sqlite::SqliteStore;

use crate::user::{Credentials, User};
use async_trait::async_trait;
use rolegate_proto::Role;
use secrecy::SecretString;

/// What metrics call this store.
pub(crate) const NAME: &str = "users";

/// Why a user was not inserted.
#[derive(Debug, thiserror::Error)]
pub enum InsertError {
    /// The unique constraint says so; nobody checks first.
    #[error("the username is taken")]
    UsernameTaken,
    /// The store failed.
    #[error(transparent)]
    Store(#[from] StoreError),
}

/// Why a write on behalf of an admin did not happen. The actor is looked at in the same transaction
/// as the write, so admins who act on each other take turns, and the second one is refused.
#[derive(Debug, thiserror::Error)]
pub enum ActorError {
    /// The actor does not exist any more.
    #[error("the actor is gone")]
    NotFound,
    /// The actor is no admin any more.
    #[error("the actor is no admin")]
    NotAdmin,
    /// The store failed.
    #[error(transparent)]
    Store(#[from] StoreError),
}

/// A password to set.
#[derive(Debug)]
pub struct NewPassword {
    /// A bcrypt hash.
    pub hash: SecretString,
    /// Tokens issued earlier are ended, in Unix seconds. What is stored is this, or one more than
    /// was stored before, whichever is later.
    pub tokens_not_before: u64,
}

/// Who sets a password, and what must still hold when it is written.
#[derive(Clone, Copy, Debug)]
pub enum PasswordWriter {
    /// The user with this id, as an admin.
    Admin(i64),
    /// The user themselves: nobody else has set another one, so that `tokens_not_before` is `seen`.
    Owner {
        /// As it was when the password was checked.
        seen: u64,
    },
    /// Whoever can open the database.
    Operator,
}

impl PasswordWriter {
    /// Who must be an admin.
    fn admin(self) -> Option<i64> {
        if let Self::Admin(id) = self { Some(id) } else { None }
    }

    /// What `tokens_not_before` must be.
    fn seen(self) -> Option<u64> {
        if let Self::Owner { seen } = self { Some(seen) } else { None }
    }
}

/// A user to insert; the database assigns the id.
#[derive(Debug)]
pub struct NewUser {
    /// Has passed the rules.
    pub username: String,
    /// A bcrypt hash.
    pub password_hash: SecretString,
    /// The first role.
    pub role: Role,
}

/// Which users to list.
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
}

/// What auth-service needs of a database of users.
///
/// Reads by key take many keys, because concurrent look-ups share a statement; the results come in
/// no particular order, and unknown keys are simply absent.
#[async_trait]
pub trait UserStore: Send + Sync + 'static {
    /// Succeeds when a statement can be answered now.
    async fn ping(&self) -> Result<(), StoreError>;

    /// Inserts a user; the username's uniqueness is the database's to keep.
    async fn insert(&self, user: NewUser) -> Result<User, InsertError>;

    /// The users with these ids.
    async fn users_by_id(&self, ids: &[i64]) -> Result<Vec<User>, StoreError>;

    /// The users with these names, with their hashes.
    async fn credentials_by_username(
        &self,
        usernames: &[String],
    ) -> Result<Vec<Credentials>, StoreError>;

    /// Replaces the role of a user, while `actor` is an admin, or for the operator (`None`), who need
    /// not be anybody; `None` when nobody has this id.
    async fn set_role(
        &self,
        actor: Option<i64>,
        id: i64,
        role: Role,
    ) -> Result<Option<User>, ActorError>;

    /// Deletes a user, while `actor` is an admin; who it was, or `None` when nobody has this id. The
    /// id is never given out again.
    async fn delete(&self, actor: i64, id: i64) -> Result<Option<User>, ActorError>;

    /// Sets a password, while what `writer` says still holds. `None` when it was not set.
    async fn set_password(
        &self,
        id: i64,
        new: NewPassword,
        writer: PasswordWriter,
    ) -> Result<Option<User>, StoreError>;

    /// Replaces a hash by another one of the same password, if it still is `old`; whether it was.
    async fn replace_password(
        &self,
        id: i64,
        old: &SecretString,
        new: SecretString,
    ) -> Result<bool, StoreError>;

    /// Users by ascending id.
    async fn list(&self, filter: &UserFilter) -> Result<Vec<User>, StoreError>;

    /// The pools of connections, and how they are used now.
    fn pools(&self) -> Vec<PoolStats>;

    /// Finishes what is under way and closes every connection.
    async fn close(&self);
}

/// The one to write to, out of the rows of `actor` and `id`; an error where the actor may not write.
fn require_admin(rows: &[User], actor: Option<i64>, id: i64) -> Result<Option<User>, ActorError> {
    let row = |id| rows.iter().find(|user| user.id == id);
    if let Some(actor) = actor {
        let actor = row(actor).ok_or(ActorError::NotFound)?;
        if actor.role != Role::Admin {
            return Err(ActorError::NotAdmin);
        }
    }
    Ok(row(id).cloned())
}

/// Unix seconds as the store holds them.
fn seconds_to_store(seconds: u64) -> i64 {
    seconds.try_into().unwrap_or(i64::MAX)
}

/// Unix seconds from the store, whose constraint keeps them from being negative.
fn seconds_from_store(seconds: i64) -> sqlx::Result<u64> {
    seconds.try_into().map_err(|error| sqlx::Error::Decode(Box::new(error)))
}

/// A role as the store holds it. The table's constraint admits no other text.
fn role_from_text(text: &str) -> sqlx::Result<Role> {
    text.parse().map_err(|error| sqlx::Error::Decode(Box::new(error)))
}

#[cfg(test)]
pub(crate) mod tests;
