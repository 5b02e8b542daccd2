//! The whole record at one moment, for the command that verifies it.

use super::{AuditRow, Seal, Transfer, seal::REMOVAL_EVENTS, sql::audit::rows::AUDIT_COLUMNS};
use rolegate_sql_store::{LongTransaction, StoreError};
use serde_json::Value;

/// Seals whose rows are read at once.
const PAGE: i64 = 20;

const SEALED_AT: &str = "SELECT at FROM audit_seal WHERE revision = $1";
const NEXT_AT: &str = "SELECT at FROM audit WHERE revision > $1 ORDER BY revision LIMIT 1";

const UNCOVERED: &str = "SELECT count(*) FROM audit
    WHERE revision <= (SELECT min(revision) FROM audit_seal)
        OR revision > (SELECT max(revision) FROM audit_seal)";

/// The record at one moment.
pub(crate) struct SealedRecord(LongTransaction);

impl Transfer {
    pub(crate) async fn record(&self) -> Result<SealedRecord, StoreError> {
        Ok(SealedRecord(self.database().begin_snapshot().await?))
    }
}

/// What a row of the record says about rows that are not there any more.
#[derive(Clone, Debug, PartialEq, Eq)]
pub(crate) struct RecordedRemoval {
    /// When it was written, in Unix seconds.
    pub(crate) at: i64,
    /// The last revision that is removed.
    pub(crate) removed_through: i64,
    /// What retention removed; `None` if the rows were removed before removals were recorded.
    pub(crate) retention: Option<RetentionOfRemoval>,
    /// When the seal of the last removed row was made, in Unix seconds; `None` if there is no such seal.
    pub(crate) sealed_at: Option<i64>,
    /// When the first row behind that seal was written, in Unix seconds.
    pub(crate) next_at: Option<i64>,
}

#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) struct RetentionOfRemoval {
    /// The removed rows are from before this time, in Unix seconds.
    pub(crate) removed_before: i64,
    /// The setting `AUDIT_RETENTION_DAYS`.
    pub(crate) days: i64,
}

/// The numbers of what tells an emptied record from a new one.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) struct RecordContents {
    /// The sealed rows.
    pub(crate) rows: i64,
    /// The rows that wait for a seal.
    pub(crate) pending: i64,
    /// The users that exist.
    pub(crate) users: i64,
}

impl SealedRecord {
    /// The removals that the record says of the rows up to this revision, the newest first.
    pub(crate) async fn removals(
        &mut self,
        revision: i64,
    ) -> Result<Vec<RecordedRemoval>, StoreError> {
        let recorded = self
            .0
            .statement("SELECT at, details, revision FROM audit WHERE event")
            .push_any(&REMOVAL_EVENTS)
            .push(" UNION ALL SELECT at, details, id + 4611686018427387904 FROM audit_pending WHERE event")
            .push_any(&REMOVAL_EVENTS)
            .push(" ORDER BY 3 DESC");
        let mut removals = Vec::new();
        for (at, details, _) in self.0.fetch::<(i64, String, i64)>(recorded).await? {
            let details: Value = serde_json::from_str(&details).unwrap_or_default();
            let Some(removed_through) = details["removed_through"].as_i64() else {
                continue;
            };
            if removed_through < revision {
                continue;
            }
            let removed_before = details["removed_before"].as_i64();
            let days = details["retention_days"].as_i64();
            let retention =
                removed_before
                    .zip(days)
                    .map(|(removed_before, days)| RetentionOfRemoval {
                        removed_before,
                        days,
                    });
            removals.push(RecordedRemoval {
                at,
                removed_through,
                retention,
                sealed_at: self.first_at(SEALED_AT, removed_through).await?,
                next_at: self.first_at(NEXT_AT, removed_through).await?,
            });
        }
        Ok(removals)
    }

    /// When the oldest row was written that is there, in Unix seconds.
    pub(crate) async fn begins_at(&mut self) -> Result<Option<i64>, StoreError> {
        self.first_at(NEXT_AT, -1).await
    }

    async fn first_at(
        &mut self,
        select: &'static str,
        revision: i64,
    ) -> Result<Option<i64>, StoreError> {
        let select = self.0.statement(select).bind(revision);
        let first = self.0.fetch::<(i64,)>(select).await?.pop();
        Ok(first.map(|(at,)| at))
    }

    /// The oldest seal; `None` if somebody has removed every seal, because the migration makes the first one.
    pub(crate) async fn oldest_seal(&mut self) -> Result<Option<Seal>, StoreError> {
        let seal = "SELECT revision, at, digest FROM audit_seal ORDER BY revision LIMIT 1";
        let seal = self.0.statement(seal);
        Ok(self.0.fetch::<Seal>(seal).await?.pop())
    }

    /// The number of rows that no seal covers.
    pub(crate) async fn uncovered_rows(&mut self) -> Result<i64, StoreError> {
        self.count(UNCOVERED).await
    }

    /// What the database has beside the seals.
    pub(crate) async fn contents(&mut self) -> Result<RecordContents, StoreError> {
        Ok(RecordContents {
            rows: self.count("SELECT count(*) FROM audit").await?,
            pending: self.count("SELECT count(*) FROM audit_pending").await?,
            users: self.count("SELECT count(*) FROM \"user\"").await?,
        })
    }

    async fn count(&mut self, select: &'static str) -> Result<i64, StoreError> {
        let select = self.0.statement(select);
        let count = self.0.fetch::<(i64,)>(select).await?.pop();
        Ok(count.map_or(0, |(count,)| count))
    }

    /// The first seals behind this revision, and the rows up to the last of them; none at the end.
    pub(crate) async fn next(
        &mut self,
        revision: i64,
    ) -> Result<(Vec<Seal>, Vec<AuditRow>), StoreError> {
        let seals = "SELECT revision, at, digest FROM audit_seal WHERE revision > $1
            ORDER BY revision LIMIT $2";
        let seals = self.0.statement(seals).bind(revision).bind(PAGE);
        let seals: Vec<Seal> = self.0.fetch(seals).await?;
        let rows = self.0.statement("SELECT ").push(AUDIT_COLUMNS);
        let rows =
            rows.push(" FROM audit WHERE revision > $1 AND revision <= $2 ORDER BY revision");
        let rows = rows
            .bind(revision)
            .bind(seals.last().map_or(0, |seal| seal.revision));
        Ok((seals, self.0.fetch(rows).await?))
    }
}
