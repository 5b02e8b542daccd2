//! Reads all users in pages, by ascending id, for exports and for snapshots.

use super::OperatorDatabase;
use crate::user::{Credentials, user_columns};
use rolegate_sql_store::{LongTransaction, Row, StoreError, TableRow};

/// The maximum number of users that one statement reads.
const PAGE_USERS: i64 = 1000;

const SELECT_PAGE: &str = concat!(
    "SELECT ",
    user_columns!(),
    r#", password, "user".disabled AS is_disabled FROM "user" WHERE id > $1 ORDER BY id LIMIT $2"#
);

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
        let page = self
            .transaction
            .statement(SELECT_PAGE)
            .bind(self.last_id)
            .bind(PAGE_USERS);
        let users: Vec<ExportedUser> = self.transaction.fetch(page).await?;
        if let Some(last) = users.last() {
            self.last_id = last.credentials.user.id;
        }
        Ok(users)
    }
}
