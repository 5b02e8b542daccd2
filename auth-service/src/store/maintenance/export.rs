//! All users at one moment.

use super::{Maintenance, user_pages::page_after};
use crate::user::Credentials;
use rolegate_sql_store::{LongTransaction, StoreError};

/// A transaction that reads all users as of one moment.
pub(crate) struct Export {
    transaction: LongTransaction,
    last_id: i64,
}

/// How far the record is sealed at that moment.
pub(in crate::store) struct SealState {
    /// The last revision that is sealed.
    pub(in crate::store) last_revision: i64,
    /// The ids of the rows that are not sealed.
    pub(in crate::store) unsealed_ids: Vec<i64>,
}

impl Maintenance {
    pub(crate) async fn export(&self) -> Result<Export, StoreError> {
        Ok(Export {
            transaction: self.database().begin_snapshot().await?,
            last_id: 0,
        })
    }
}

impl Export {
    pub(in crate::store) async fn seal_state(&mut self) -> Result<SealState, StoreError> {
        let last = "SELECT max(revision) FROM audit_seal";
        let last = self.transaction.statement(last);
        let last = self.transaction.fetch::<(i64,)>(last).await?.pop();
        let ids = self.transaction.statement("SELECT id FROM audit_pending");
        let ids = self.transaction.fetch::<(i64,)>(ids).await?;
        Ok(SealState {
            last_revision: last.map_or(0, |(revision,)| revision),
            unsealed_ids: ids.into_iter().map(|(id,)| id).collect(),
        })
    }

    /// The next users by ascending id; none at the end.
    pub(crate) async fn next_page(&mut self) -> Result<Vec<Credentials>, StoreError> {
        let select = self.transaction.statement("SELECT ");
        let page = page_after(select, self.last_id, None);
        let users: Vec<Credentials> = self.transaction.fetch(page).await?;
        if let Some(last) = users.last() {
            self.last_id = last.user.id;
        }
        Ok(users)
    }
}
