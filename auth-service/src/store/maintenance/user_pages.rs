//! Users in pages by ascending id.

use super::Maintenance;
use crate::{store::sql::user_rows::USER_COLUMNS, user::Credentials};
use rolegate_proto::Role;
use rolegate_sql_store::{Statement, StoreError, row};
use std::collections::HashMap;

/// The number of users that one statement reads.
const PAGE_USERS: i64 = 1000;

row! {
    struct LastLoginRow {
        id: i64,
        last_login_at: i64,
    }
}

impl Maintenance {
    /// The first users behind this id, by ascending id, or those who have this role or a key with it; none
    /// at the end.
    pub(crate) async fn users_after(
        &self,
        id: i64,
        role: Option<Role>,
    ) -> Result<Vec<Credentials>, StoreError> {
        let select = self.database().statement("SELECT ");
        self.database().read(page_after(select, id, role)).await
    }

    /// When these users last signed in with a password, in Unix seconds by their ids.
    pub(crate) async fn last_logins(&self, ids: &[i64]) -> Result<HashMap<i64, u64>, StoreError> {
        let select = r#"SELECT id, last_login_at FROM "user" WHERE last_login_at > 0 AND id"#;
        let select = self.database().statement(select).push_any(ids);
        let rows: Vec<LastLoginRow> = self.database().read(select).await?;
        Ok(rows
            .into_iter()
            .map(|row| (row.id, row.last_login_at.unsigned_abs()))
            .collect())
    }
}

/// The statement of the first users behind this id, who have this role or a key with it if there is one.
pub(super) fn page_after(select: Statement, id: i64, role: Option<Role>) -> Statement {
    let mut select = select
        .push(USER_COLUMNS)
        .push(r#", password FROM "user" WHERE id > $1"#)
        .bind(id)
        .bind(PAGE_USERS);
    if let Some(role) = role {
        select = select
            .push(" AND (role = $3 OR id IN (SELECT user_id FROM api_key WHERE role = $3))")
            .bind(role.as_str());
    }
    select.push(" ORDER BY id LIMIT $2")
}
