//! The store of users: what it inserts, changes and lists.

use super::{
    AuditStore, opaque_tokens::TokenStore, second_factor::SecondFactorStore,
    write_error::WriteError, writer::Writer,
};
use crate::{
    audit::Write,
    user::{Credentials, ListedUser, User},
};
use async_trait::async_trait;
use rolegate_proto::Role;
use rolegate_sql_store::{StoreError, Timed, row};
use secrecy::SecretString;

/// The label of this store in metrics.
pub(crate) const NAME: &str = "users";

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
#[derive(Debug)]
pub struct UserUpdate {
    /// The new name; `None` for the stored one.
    pub rename: Option<Rename>,
    /// Whether the user is disabled; `None` for what is stored.
    pub disabled: Option<bool>,
}

/// A new name for a user who has not changed since they were read; otherwise there is no such user.
#[derive(Debug)]
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

row! {
    /// How many users and API keys have a role. A role may come twice: once for its users, once for its keys.
    #[derive(Clone, Debug, PartialEq, Eq, PartialOrd, Ord)]
    pub struct RoleUsage {
        /// Its name, perhaps of a role that the settings do not have any more.
        pub role: String,
        /// The number of users.
        pub users: i64,
        /// The number of API keys.
        pub api_keys: i64,
    }
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

    /// The stored roles in order, each with the number of users and of API keys that have it.
    async fn roles_in_use(&self) -> Result<Vec<RoleUsage>, StoreError>;

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
