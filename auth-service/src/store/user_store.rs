//! The contract of the store of users: how users are inserted, read, changed, deleted and listed.
//!
//! `sql/users.rs` implements it for PostgreSQL and SQLite. The tests of the use cases run on a store in memory,
//! `tests/memory.rs`. One conformance suite, `tests.rs`, checks all implementations.

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

/// A user to insert. The database assigns the id.
#[derive(Debug)]
pub struct NewUser {
    /// The username, which is already validated.
    pub username: String,
    /// The bcrypt hash of the password.
    pub password_hash: SecretString,
    /// The role that the user has from the beginning.
    pub role: Role,
    /// The link by which the user sets the first password; `None` to make no link.
    pub link: Option<NewPasswordLink>,
}

/// A password link to insert, either together with a new user or for an existing user.
#[derive(Debug)]
pub struct NewPasswordLink {
    /// The digest of the token in the link. The token itself is not stored.
    pub digest: String,
    /// The time at which the link expires, in Unix seconds.
    pub expires_at: u64,
}

/// A change of a user: a new name, disabling or enabling the user, or both.
#[derive(Debug)]
pub struct UserUpdate {
    /// The new name; `None` keeps the stored one.
    pub rename: Option<Rename>,
    /// True disables the user, and false enables the user; `None` keeps the stored value.
    pub disabled: Option<bool>,
}

/// A new name for a user. The write fails with [`WriteError::UserNotFound`] if the name or the `tokens_not_before` of
/// the user has changed since the user was read.
#[derive(Debug)]
pub struct Rename {
    /// The name that the user had when the user was read.
    pub from: String,
    /// The new name, which is already validated.
    pub to: String,
    /// The `tokens_not_before` that the user had when the user was read.
    pub tokens_not_before: u64,
}

/// Selects a page of users. A user must match all filters.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub struct UserFilter {
    /// The id after which the page begins; 0 begins with the first user.
    pub after: i64,
    /// The maximum number of users on the page.
    pub limit: i64,
    /// The text with which the usernames begin, taken literally; empty selects all users.
    pub username_prefix: String,
    /// The stored role; `None` selects all roles.
    pub role: Option<Role>,
    /// True selects disabled users, and false selects enabled users; `None` selects both.
    pub disabled: Option<bool>,
    /// The text that a username must contain, taken literally but case-insensitive; empty selects all users.
    pub search: String,
}

row! {
    /// The number of users or of API keys that have a role. A role may have two of these rows: one for its users, and
    /// one for its keys.
    #[derive(Clone, Debug, PartialEq, Eq, PartialOrd, Ord)]
    pub struct RoleUsage {
        /// The name of the role. The settings may no longer have a role of this name.
        pub role: String,
        /// The number of users who have the role.
        pub users: i64,
        /// The number of API keys that have the role.
        pub api_keys: i64,
    }
}

/// The contract of a store of users, their credentials and the record.
///
/// Reads by key take many keys, so that `BatchedReads` can merge concurrent reads. They return rows in any order, and
/// omit unknown keys.
///
/// Most writes follow these rules:
///
/// - `actor` is the admin who makes the change. The write checks in its transaction that the actor is still an active
///   admin; otherwise it fails with [`WriteError::ActorNotFound`] or [`WriteError::NotAdmin`]. Without an actor, the
///   operator makes the change, and no role is checked.
/// - `writer` replaces `actor` in the changes that users can make themselves. It describes who makes the change, and
///   the condition that must hold.
/// - `write` is what the transaction records about the change.
/// - If the user to change does not exist, the write fails with [`WriteError::UserNotFound`].
#[async_trait]
pub(crate) trait UserStore: TokenStore + AuditStore + SecondFactorStore {
    /// Inserts a user for `actor`. Without an actor, a registration or the operator inserts the user. Fails with
    /// [`WriteError::UsernameTaken`] if another user has the name.
    async fn insert(
        &self,
        actor: Option<i64>,
        user: NewUser,
        write: Write,
    ) -> Result<User, WriteError>;

    /// Returns the users with these ids, and the time of the read.
    async fn users_by_id(&self, ids: &[i64]) -> Result<Timed<Vec<User>>, StoreError>;

    /// Returns the users with these names and their password hashes, and the time of the read.
    async fn credentials_by_username(
        &self,
        usernames: &[String],
    ) -> Result<Timed<Vec<Credentials>>, StoreError>;

    /// Returns the highest cost of all bcrypt hashes; `None` if there is no such hash. The statement reads all users.
    async fn highest_password_cost(&self) -> Result<Option<u32>, StoreError>;

    /// Returns the stored roles by name, with the numbers of users and of API keys that have them.
    async fn roles_in_use(&self) -> Result<Vec<RoleUsage>, StoreError>;

    /// Sets the role of a user for `actor`. Fails with [`WriteError::LastAdmin`] if no admin would be left, unless the
    /// operator makes the change.
    async fn set_role(
        &self,
        actor: Option<i64>,
        id: i64,
        role: Role,
        write: Write,
    ) -> Result<User, WriteError>;

    /// Renames a user, disables or enables the user, or does both, under the conditions of [`Self::set_role`]. Fails
    /// with [`WriteError::UsernameTaken`] if another user has the new name.
    ///
    /// Disabling also revokes the user's tokens and ends the sessions, as [`Self::revoke_tokens`] does for an admin,
    /// and deletes the password link. A new name revokes access tokens, because they contain the old name, whereas
    /// sessions and API keys stay valid.
    async fn update(
        &self,
        actor: Option<i64>,
        id: i64,
        update: UserUpdate,
        write: Write,
    ) -> Result<User, WriteError>;

    /// Disables or enables a user, as [`Self::update`] does.
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

    /// Revokes the access tokens of a user, and deletes the user's sessions except the one with which the writer acts.
    ///
    /// `tokens_not_before` becomes a time shortly after the present. If it already is that time or a later one, it
    /// grows by one. A value that is later than the issue time of every possible token is an exception:
    ///
    /// - A revocation by an admin leaves such a value as it is, and one by the operator lowers it.
    /// - A user's own logout always increases the value. A second logout with the same token then fails, so only the
    ///   first logout can move the user's next login into the future.
    async fn revoke_tokens(
        &self,
        id: i64,
        writer: Writer,
        write: Write,
    ) -> Result<User, WriteError>;

    /// Deletes a user with all credentials, under the conditions of [`Self::set_role`]. Returns the deleted user. The
    /// database never assigns the id again.
    async fn delete(&self, actor: Option<i64>, id: i64, write: Write) -> Result<User, WriteError>;

    /// Stores the hash of a new password, revokes the access tokens, and deletes the password link. Also deletes the
    /// sessions except the one with which the writer acts.
    ///
    /// `tokens_not_before` always grows, because it also identifies the version of the password. The statement itself
    /// has the condition of the writer, even that of an admin. So the write fails with [`WriteError::UserNotFound`] if
    /// the condition does not hold.
    async fn set_password(
        &self,
        id: i64,
        hash: SecretString,
        writer: Writer,
        write: Write,
    ) -> Result<User, WriteError>;

    /// Replaces the hash `old` with another hash of the same password, and returns whether `old` was still stored. The
    /// password stays the same, so the change is not recorded.
    async fn replace_password(
        &self,
        id: i64,
        old: &SecretString,
        new: SecretString,
    ) -> Result<bool, StoreError>;

    /// Lists users by ascending id. A search by [`UserFilter::search`] reads all users after [`UserFilter::after`]
    /// until the page is full.
    async fn list(&self, filter: &UserFilter) -> Result<Vec<ListedUser>, StoreError>;
}
