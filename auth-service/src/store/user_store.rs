//! The contract of the store of users: how users are inserted, read, changed, deleted and listed.
//!
//! `sql/users.rs` implements it for PostgreSQL and SQLite, and one conformance suite, `tests.rs`, checks both. The tests
//! of the use cases run on SQLite, too: `sql/tests/test_store.rs` makes calls fail or wait, and stops the clock.

use super::{
    AuditStore, second_factor::SecondFactorStore, token_store::TokenStore, write_error::WriteError,
};
use crate::{
    audit::Requested,
    change::Change,
    user::{Credentials, ListedUser, User},
};
use async_trait::async_trait;
use rolegate_proto::Role;
use rolegate_sql_store::{StoreError, Timed, row};
use secrecy::SecretString;
use std::sync::Arc;

/// The label of this store in metrics.
pub(crate) const NAME: &str = "users";

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
#[async_trait]
pub(crate) trait UserStore: TokenStore + AuditStore + SecondFactorStore {
    /// Makes a change of a user under the condition of its principal, and records it in the same transaction. Returns
    /// the user as the change has left it; a deleted user as it was.
    ///
    /// - An admin must still be one; otherwise the write fails with [`WriteError::ActorNotFound`] or
    ///   [`WriteError::NotAdmin`], and a change of a password with [`WriteError::UserNotFound`]. It fails with
    ///   [`WriteError::LastAdmin`] if no admin would be left.
    /// - If the user does not exist, or no longer fits what the principal has verified, the write fails with
    ///   [`WriteError::UserNotFound`].
    /// - For a change by the operator, the user only has to exist.
    async fn change_user(&self, request: Arc<Requested<Change>>) -> Result<User, WriteError>;

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
