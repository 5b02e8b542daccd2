//! Reads users in pages, by ascending id, for commands and for snapshots.

use super::OperatorDatabase;
use crate::user::{Credentials, user_columns};
use rolegate_proto::Role;
use rolegate_sql_store::{LongTransaction, Row, Statement, StoreError, TableRow};

/// The maximum number of users that one statement reads.
const PAGE_USERS: i64 = 1000;

const SELECT_SHOWN: &str = concat!(
    "SELECT ",
    user_columns!(),
    r#", password, last_login_at FROM "user""#
);

const SELECT_EXPORTED: &str = concat!(
    "SELECT ",
    user_columns!(),
    r#", password, "user".disabled AS is_disabled FROM "user""#
);

/// A user with everything that the commands `user list` and `user show` print.
pub(crate) struct ShownUser {
    pub(crate) credentials: Credentials,
    /// When the user last logged in with the password, in Unix seconds; `None` if no login was stored.
    pub(crate) last_login_at: Option<u64>,
}

impl TableRow for ShownUser {
    fn from_row(row: Row<'_>) -> sqlx::Result<Self> {
        Ok(Self {
            credentials: Credentials::from_row(row)?,
            last_login_at: row.optional_seconds("last_login_at")?,
        })
    }
}

/// A user as an export writes it.
pub(crate) struct ExportedUser {
    pub(crate) credentials: Credentials,
    /// True if the user was disabled, whether or not the account has ended.
    pub(crate) is_disabled: bool,
}

impl TableRow for ExportedUser {
    fn from_row(row: Row<'_>) -> sqlx::Result<Self> {
        Ok(Self {
            credentials: Credentials::from_row(row)?,
            is_disabled: row.get("is_disabled")?,
        })
    }
}

/// A transaction that reads all users as of one moment.
pub(crate) struct Export {
    transaction: LongTransaction,
    last_id: i64,
}

/// The state of sealing at the moment of the export.
pub(in crate::store) struct SealState {
    /// The last sealed revision.
    pub(in crate::store) last_revision: i64,
    /// The ids of the rows that are not sealed yet.
    pub(in crate::store) unsealed_ids: Vec<i64>,
}

impl OperatorDatabase {
    pub(crate) async fn export(&self) -> Result<Export, StoreError> {
        Ok(Export {
            transaction: self.database.begin_snapshot().await?,
            last_id: 0,
        })
    }

    /// Returns a page of the users after this id, by ascending id; it is empty if there are none. If `role` is given,
    /// the page has only users with that role and users with an API key of that role.
    pub(crate) async fn users_after(
        &self,
        id: i64,
        role: Option<Role>,
    ) -> Result<Vec<ShownUser>, StoreError> {
        let select = self.database.statement(SELECT_SHOWN);
        self.database.read(select_page(select, id, role)).await
    }

    /// Returns the user with this name; `None` if there is none.
    pub(crate) async fn user_named(&self, username: &str) -> Result<Option<ShownUser>, StoreError> {
        let select = self
            .database
            .statement(SELECT_SHOWN)
            .push(" WHERE username = $1")
            .bind(username.to_owned());
        self.database.read_optional(select).await
    }
}

impl Export {
    pub(in crate::store) async fn seal_state(&mut self) -> Result<SealState, StoreError> {
        let last = self
            .transaction
            .statement("SELECT max(revision) FROM audit_seal");
        let last_revision = self.transaction.fetch_one(last).await?;
        let ids = self.transaction.statement("SELECT id FROM audit_pending");
        Ok(SealState {
            last_revision,
            unsealed_ids: self.transaction.fetch(ids).await?,
        })
    }

    /// Returns the next page of users, by ascending id; it is empty after the last user.
    pub(crate) async fn next_page(&mut self) -> Result<Vec<ExportedUser>, StoreError> {
        let select = self.transaction.statement(SELECT_EXPORTED);
        let page = select_page(select, self.last_id, None);
        let users: Vec<ExportedUser> = self.transaction.fetch(page).await?;
        if let Some(last) = users.last() {
            self.last_id = last.credentials.user.id;
        }
        Ok(users)
    }
}

/// Completes the statement `select`, which ends with the table of users, so that it reads a page of the users after this
/// id. If `role` is given, it reads only users with that role and users with an API key of that role.
fn select_page(select: Statement, id: i64, role: Option<Role>) -> Statement {
    let mut select = select.push(" WHERE id > $1").bind(id).bind(PAGE_USERS);
    if let Some(role) = role {
        select = select
            .push(" AND (role = $3 OR id IN (SELECT user_id FROM api_key WHERE role = $3))")
            .bind(role.as_str());
    }
    select.push(" ORDER BY id LIMIT $2")
}
