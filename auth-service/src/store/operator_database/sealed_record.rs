//! Reads the whole record as of one moment, for the command `audit verify`.

use super::OperatorDatabase;
use crate::{
    audit::{AuditRow, parse_details},
    store::seal::{REMOVAL_EVENTS, SELECT_SEALS, Seal},
};
use rolegate_sql_store::{LongTransaction, StoreError, row};
use serde::Deserialize;

/// The maximum number of seals on a page, which also contains their rows.
const PAGE_SEALS: i64 = 20;

const SEALED_AT: &str = "SELECT at FROM audit_seal WHERE revision = $1";
const NEXT_AT: &str = "SELECT at FROM audit WHERE revision > $1 ORDER BY revision LIMIT 1";

const UNCOVERED: &str = "SELECT count(*) FROM audit
    WHERE revision <= (SELECT min(revision) FROM audit_seal)
        OR revision > (SELECT max(revision) FROM audit_seal)";

/// The record as of one moment. The open transaction keeps the rows of that moment readable.
pub(crate) struct SealedRecord {
    snapshot: LongTransaction,
}

impl OperatorDatabase {
    pub(crate) async fn record(&self) -> Result<SealedRecord, StoreError> {
        Ok(SealedRecord {
            snapshot: self.database.begin_snapshot().await?,
        })
    }
}

/// A row of the record that declares that earlier rows were removed.
#[derive(Debug)]
pub(crate) struct RecordedRemoval {
    /// The time at which the row was written, in Unix seconds.
    pub(crate) at: i64,
    /// The rule by which retention removed the rows; `None` if they were removed before removals were recorded.
    pub(crate) retention: Option<RecordedRetention>,
    /// The time of the seal of the last removed row, in Unix seconds; `None` if there is no such seal.
    pub(crate) sealed_at: Option<i64>,
    /// The time at which the first row after that seal was written, in Unix seconds; `None` if there is no such row.
    pub(crate) next_at: Option<i64>,
}

/// The retention rule by which rows were removed, as the record states it.
#[derive(Clone, Copy, Debug, Deserialize)]
pub(crate) struct RecordedRetention {
    /// The removed rows are from before this time, in Unix seconds.
    pub(crate) removed_before: i64,
    /// The value of the setting `AUDIT_RETENTION_DAYS` when the rows were removed.
    #[serde(rename = "retention_days")]
    pub(crate) days: i64,
}

/// The counts by which the verification distinguishes an emptied record from a new one.
#[derive(Clone, Copy, Debug)]
pub(crate) struct RecordContents {
    /// The number of sealed rows.
    pub(crate) rows: i64,
    /// The number of rows that wait for a seal.
    pub(crate) pending: i64,
    /// The number of existing users.
    pub(crate) users: i64,
}

/// Consecutive seals, and the rows that they cover.
pub(crate) struct SealedPage {
    pub(crate) seals: Vec<Seal>,
    pub(crate) rows: Vec<AuditRow>,
}

row! {
    struct RemovalRow {
        at: i64,
        details: String,
    }
}

impl SealedRecord {
    /// Returns the recorded removals that reached this revision or a later one, the newest first. Each removed all rows
    /// up to the revision that it names.
    pub(crate) async fn removals(
        &mut self,
        revision: i64,
    ) -> Result<Vec<RecordedRemoval>, StoreError> {
        let select = self
            .snapshot
            .statement("SELECT at, details, revision FROM audit WHERE event")
            .push_any(&REMOVAL_EVENTS)
            .push(" UNION ALL SELECT at, details, id + 4611686018427387904 FROM audit_pending WHERE event")
            .push_any(&REMOVAL_EVENTS)
            .push(" ORDER BY 3 DESC");
        let mut removals = Vec::new();
        for row in self.snapshot.fetch::<RemovalRow>(select).await? {
            let details = parse_details(&row.details);
            let Some(removed_through) = details["removed_through"].as_i64() else {
                continue;
            };
            if removed_through < revision {
                continue;
            }
            removals.push(RecordedRemoval {
                at: row.at,
                retention: RecordedRetention::deserialize(&details).ok(),
                sealed_at: self.first_at(SEALED_AT, removed_through).await?,
                next_at: self.first_at(NEXT_AT, removed_through).await?,
            });
        }
        Ok(removals)
    }

    /// Returns the time at which the oldest remaining row was written, in Unix seconds; `None` if the record has no
    /// rows.
    pub(crate) async fn begins_at(&mut self) -> Result<Option<i64>, StoreError> {
        self.first_at(NEXT_AT, -1).await
    }

    async fn first_at(
        &mut self,
        select: &'static str,
        revision: i64,
    ) -> Result<Option<i64>, StoreError> {
        let select = self.snapshot.statement(select).bind(revision);
        Ok(self.snapshot.fetch(select).await?.pop())
    }

    /// Returns the oldest seal. `None` is a sign of tampering, because the migration inserts the first seal and
    /// retention always leaves one.
    pub(crate) async fn oldest_seal(&mut self) -> Result<Option<Seal>, StoreError> {
        let select = self
            .snapshot
            .statement(SELECT_SEALS)
            .push(" ORDER BY revision LIMIT 1");
        Ok(self.snapshot.fetch(select).await?.pop())
    }

    /// Returns the number of rows in the sealed record that no seal covers, which is 0 unless the record was tampered
    /// with.
    pub(crate) async fn uncovered_rows(&mut self) -> Result<i64, StoreError> {
        self.count(UNCOVERED).await
    }

    /// Counts the sealed rows, the unsealed rows and the users.
    pub(crate) async fn contents(&mut self) -> Result<RecordContents, StoreError> {
        Ok(RecordContents {
            rows: self.count("SELECT count(*) FROM audit").await?,
            pending: self.count("SELECT count(*) FROM audit_pending").await?,
            users: self.count("SELECT count(*) FROM \"user\"").await?,
        })
    }

    async fn count(&mut self, select: &'static str) -> Result<i64, StoreError> {
        let select = self.snapshot.statement(select);
        self.snapshot.fetch_one(select).await
    }

    /// Returns the first seals after this revision, and the rows up to the last of these seals. The page is empty if
    /// there are no more seals.
    pub(crate) async fn next_page(&mut self, revision: i64) -> Result<SealedPage, StoreError> {
        let select = self
            .snapshot
            .statement(SELECT_SEALS)
            .push(" WHERE revision > $1 ORDER BY revision LIMIT $2")
            .bind(revision)
            .bind(PAGE_SEALS);
        let seals: Vec<Seal> = self.snapshot.fetch(select).await?;
        let last_revision = seals.last().map_or(0, |seal| seal.revision);
        let select = self
            .snapshot
            .statement("SELECT ")
            .push_columns::<AuditRow>()
            .push(" FROM audit WHERE revision > $1 AND revision <= $2 ORDER BY revision")
            .bind(revision)
            .bind(last_revision);
        Ok(SealedPage {
            seals,
            rows: self.snapshot.fetch(select).await?,
        })
    }
}
