//! Implements `UserStore`: users in an SQL database.

use super::{
    sql_store::SqlStore,
    user_rows::{SELECT_CREDENTIALS, SELECT_USERS},
};
use crate::{
    audit::Requested,
    change::Change,
    store::{
        RoleUsage, StoreError, UserFilter, UserStore, WriteError, list_query::list,
        tables::ROLES_IN_USE,
    },
    user::{Credentials, ListedUser, User},
};
use async_trait::async_trait;
use rolegate_sql_store::{STATEMENT_TIMEOUT, Timed};
use secrecy::{ExposeSecret, SecretString};
use std::sync::Arc;
use tokio::time::timeout;

pub(super) const SET_PASSWORD: &str = r#"UPDATE "user" SET password = "#;
/// Precedes a hash in a statement. While the second factor is on, the prefix `otp:` makes the hash invalid for
/// processes that do not know the second factor, so that they refuse the password.
pub(super) const HASH_PREFIX: &str = "CASE WHEN second_factor THEN 'otp:' ELSE '' END || ";

#[async_trait]
impl UserStore for SqlStore {
    async fn change_user(&self, request: Arc<Requested<Change>>) -> Result<User, WriteError> {
        self.make_change(request).await
    }

    async fn users_by_id(&self, ids: &[i64]) -> Result<Timed<Vec<User>>, StoreError> {
        let select = self
            .database
            .statement(SELECT_USERS)
            .push(" WHERE id")
            .push_any(ids);
        self.database.read_timed(select).await
    }

    async fn credentials_by_username(
        &self,
        usernames: &[String],
    ) -> Result<Timed<Vec<Credentials>>, StoreError> {
        let select = self
            .database
            .statement(SELECT_CREDENTIALS)
            .push(" WHERE username")
            .push_any(usernames);
        self.database.read_timed(select).await
    }

    async fn highest_password_cost(&self) -> Result<Option<u32>, StoreError> {
        // A bcrypt hash has 60 characters and is the end of the text, because the name of a pepper may precede it. The
        // cost has two digits, as in `$2b$12$`.
        let select = self.database.statement(
            r#"SELECT coalesce(max(substr(password, length(password) - 55, 2)), '') FROM "user"
            WHERE length(password) >= 60
                AND substr(password, length(password) - 59) LIKE '$2_$__$%'"#,
        );
        let highest: Option<String> = self.database.read(select).await?.pop();
        Ok(highest.and_then(|cost| cost.parse().ok()))
    }

    async fn roles_in_use(&self) -> Result<Vec<RoleUsage>, StoreError> {
        self.database
            .read(self.database.statement(ROLES_IN_USE))
            .await
    }

    async fn replace_password(
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

    async fn list(&self, filter: &UserFilter) -> Result<Vec<ListedUser>, StoreError> {
        let listed = timeout(STATEMENT_TIMEOUT, list(&self.database, filter.clone())).await;
        listed.unwrap_or(Err(StoreError::TimedOut))
    }
}
