//! Reads users, and replaces hashes of their passwords.

use super::{UserStore, user_rows::push_deciding_columns};
use crate::{
    store::{
        StoreError,
        list_query::{UserFilter, count_query, list_query},
        tables::{ROLES_IN_USE, RoleUsage},
    },
    user::{Credentials, LISTED_COLUMNS, ListedUser, User},
};
use rolegate_proto::GroupName;
use rolegate_sql_store::Timed;
use secrecy::{ExposeSecret, SecretString};

pub(super) const SET_PASSWORD: &str = r#"UPDATE "user" SET password = "#;
/// Precedes a hash in a statement. While the second factor is on, the prefix `otp:` makes the hash invalid for
/// processes that do not know the second factor, so that they refuse the password.
pub(super) const HASH_PREFIX: &str = "CASE WHEN second_factor THEN 'otp:' ELSE '' END || ";

impl UserStore {
    /// Returns the users with these ids, for decisions that require these groups, and the time of the read.
    pub(crate) async fn users_by_id(
        &self,
        ids: &[i64],
        required: &[GroupName],
    ) -> Result<Timed<Vec<User>>, StoreError> {
        let select = push_deciding_columns(self.database.statement("SELECT "), required)
            .push(r#" FROM "user" WHERE id"#)
            .push_any(ids);
        self.database.read_timed(select).await
    }

    /// Returns the users with these names and their password hashes, for decisions that require these groups, and the
    /// time of the read.
    pub(crate) async fn credentials_by_username(
        &self,
        usernames: &[String],
        required: &[GroupName],
    ) -> Result<Timed<Vec<Credentials>>, StoreError> {
        let select = push_deciding_columns(self.database.statement("SELECT "), required)
            .push(r#", password FROM "user" WHERE username"#)
            .push_any(usernames);
        self.database.read_timed(select).await
    }

    /// Returns the highest cost of all bcrypt hashes; `None` if there is no such hash. The statement reads all users.
    pub(crate) async fn highest_password_cost(&self) -> Result<Option<u32>, StoreError> {
        // A bcrypt hash has 60 characters and is the end of the text, because the name of a pepper may precede it. The
        // cost has two digits, as in `$2b$12$`.
        let select = self.database.statement(
            r#"SELECT coalesce(max(substr(password, length(password) - 55, 2)), '') FROM "user"
            WHERE length(password) >= 60
                AND substr(password, length(password) - 59) LIKE '$2_$__$%'"#,
        );
        let highest: Option<String> = self.database.read_optional(select).await?;
        Ok(highest.and_then(|cost| cost.parse().ok()))
    }

    /// Returns the stored roles by name, with the numbers of users and of API keys that have them.
    pub(crate) async fn roles_in_use(&self) -> Result<Vec<RoleUsage>, StoreError> {
        self.database
            .read(self.database.statement(ROLES_IN_USE))
            .await
    }

    /// Replaces the hash `old` with another hash of the same password, and returns whether `old` was still stored. The
    /// password stays the same, so the change is not recorded.
    pub(crate) async fn replace_password(
        &self,
        id: i64,
        old: &SecretString,
        new: SecretString,
    ) -> Result<bool, StoreError> {
        let update = self
            .database
            .statement(SET_PASSWORD)
            .push(HASH_PREFIX)
            .push("$3 WHERE id = $1 AND password = ")
            .push(HASH_PREFIX)
            .push("$2 RETURNING id")
            .bind(id)
            .bind(old.expose_secret())
            .bind(new.expose_secret());
        Ok(self.database.execute(update).await? > 0)
    }

    /// Returns a page of users.
    pub(crate) async fn list(&self, filter: &UserFilter) -> Result<Vec<ListedUser>, StoreError> {
        let select = list_query(self.database.statement("SELECT "), filter);
        self.database.read(select).await
    }

    /// Counts the users on all pages.
    pub(crate) async fn count(&self, filter: &UserFilter) -> Result<i64, StoreError> {
        let select = count_query(self.database.statement("SELECT "), filter);
        let count = self.database.read_optional(select).await?;
        Ok(count.unwrap_or_default())
    }

    /// Returns the user with this name as lists show it; `None` if there is none.
    pub(crate) async fn listed_user(
        &self,
        username: &str,
    ) -> Result<Option<ListedUser>, StoreError> {
        let select = self
            .database
            .statement("SELECT ")
            .push(LISTED_COLUMNS)
            .push(r#" FROM "user" WHERE username = "#)
            .push_bind(username);
        self.database.read_optional(select).await
    }
}
