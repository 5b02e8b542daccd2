//! Removes what is older than `AUDIT_RETENTION_DAYS` from the record, and says so in the record.
//!
//! A clock that is ahead must not cost the record, so the time before which rows may be removed is kept in the database
//! and moves at most two days an hour, whichever process moves it. A clock that was ahead for a moment must not keep the
//! rows around it for ever either, so the end of the removed rows is where the fewest rows are on the wrong side. Rows
//! whose time cannot be believed, however many, are not looked at: they leave with the rows around them.

use super::pending_rows::insert_pending;
use crate::{
    audit::{Details, Entry, Removal},
    store::{
        AuditStore as _, DAY_SECONDS, Seal, StoreError,
        seal::REMOVAL_EVENTS,
        sql::{encoding::encode_count, sql_store::SqlStore},
    },
};
use rolegate_sql_store::{FollowUp, Timed};
use serde_json::Value;
use sqlx::{FromRow, Row};

const HOUR_SECONDS: i64 = 3600;
/// How far the time before which rows are removed moves in an hour.
const MAX_MOVE: i64 = 2 * DAY_SECONDS;
/// Rows from before 2020 are by a clock that was not set.
const YEAR_2020: i64 = 1_577_836_800;
/// The oldest rows with a time to believe, which are looked at together.
const PAGE: i64 = 20_000;
/// Seals whose rows one statement removes.
const REMOVED_SEALS: i64 = 20;

const AGED_ROWS: &str =
    "SELECT revision, at FROM audit WHERE at BETWEEN $1 AND $2 ORDER BY revision LIMIT $3";

/// The row of the table `audit_retention`. Its column `base_revision` is not used any more.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
struct Progress {
    /// Rows from before this time may be removed, in Unix seconds.
    removed_before: i64,
    /// When that time was moved, in Unix seconds.
    moved_at: i64,
}

/// A row of the record whose time can be believed.
#[derive(Clone, Copy, Debug)]
struct AgedRow {
    revision: i64,
    /// Unix seconds.
    at: i64,
}

/// What a row of the record says about rows that were removed.
#[derive(Clone, Copy, Debug)]
struct RecordedRemoval {
    /// `None` if the row cannot be read: it must not stop retention.
    removed_through: Option<i64>,
}

impl<'r, R: Row> FromRow<'r, R> for Progress
where
    (i64, i64): FromRow<'r, R>,
{
    fn from_row(row: &'r R) -> sqlx::Result<Self> {
        let (removed_before, moved_at) = FromRow::from_row(row)?;
        Ok(Self {
            removed_before,
            moved_at,
        })
    }
}

impl<'r, R: Row> FromRow<'r, R> for AgedRow
where
    (i64, i64): FromRow<'r, R>,
{
    fn from_row(row: &'r R) -> sqlx::Result<Self> {
        let (revision, at) = FromRow::from_row(row)?;
        Ok(Self { revision, at })
    }
}

impl<'r, R: Row> FromRow<'r, R> for RecordedRemoval
where
    (String,): FromRow<'r, R>,
{
    fn from_row(row: &'r R) -> sqlx::Result<Self> {
        let details = <(String,)>::from_row(row).ok();
        let details: Value = details
            .and_then(|(details,)| serde_json::from_str(&details).ok())
            .unwrap_or_default();
        Ok(Self {
            removed_through: details["removed_through"].as_i64(),
        })
    }
}

impl Progress {
    /// Whether the time has moved within the last hour.
    fn has_moved_lately(self, now: i64) -> bool {
        (self.moved_at..self.moved_at.saturating_add(HOUR_SECONDS)).contains(&now)
    }

    /// Begins an hour without a move, after a clock that was ahead.
    fn restart(self, limit: i64, now: i64) -> Self {
        Self {
            removed_before: self.removed_before.min(limit),
            moved_at: now,
        }
    }

    /// Moves the time on; `None` if nothing is old enough. It never goes back: a row that a clock was behind for, and that
    /// stays with the rows around it, would hold back all later ones.
    fn next(self, oldest_at: i64, limit: i64, now: i64) -> Option<Self> {
        if oldest_at >= limit {
            return None;
        }
        let from = self.removed_before.max(oldest_at);
        Some(Self {
            removed_before: limit.min(from.saturating_add(MAX_MOVE)),
            moved_at: now,
        })
    }
}

/// How many of the first rows are removed: the number that leaves the fewest rows on the wrong side.
fn removable(rows: &[AgedRow], before: i64) -> usize {
    let mut balance = 0_i64;
    let mut lowest = 0;
    let mut removable = 0;
    for (index, row) in rows.iter().enumerate() {
        balance += if row.at < before { -1 } else { 1 };
        if balance < lowest {
            lowest = balance;
            removable = index + 1;
        }
    }
    removable
}

impl SqlStore {
    /// Removes rows that are older than this many days.
    pub(super) async fn remove_rows_older_than(&self, days: u32) -> Result<(), StoreError> {
        let [base, _] = self.seals().await?;
        let Timed {
            at,
            value: progress,
        } = self.progress().await?;
        let now = i64::try_from(at).unwrap_or(i64::MAX);
        let limit = now - i64::from(days) * DAY_SECONDS;
        self.record_unrecorded_removal(&base, limit, days).await?;
        if progress.moved_at > now {
            let restarted = progress.restart(limit, now);
            return self.move_on(progress, restarted).await.map(drop);
        }
        let before = if progress.has_moved_lately(now) {
            let before = progress.removed_before.min(limit);
            // Nothing more is removed in this hour, except what an interrupted removal has left.
            if !self.has_batch_from_before(before).await? {
                return Ok(());
            }
            before
        } else {
            let oldest_at = self.oldest_at(now).await?;
            let Some(next) = oldest_at.and_then(|oldest_at| progress.next(oldest_at, limit, now))
            else {
                return Ok(());
            };
            if !self.move_on(progress, next).await? {
                // Another process was first; the next look is in a minute.
                return Ok(());
            }
            next.removed_before
        };
        while self.remove_page(before, now, days).await? {}
        Ok(())
    }

    /// Whether all rows of the first batch are from before this time. Later seals are never older.
    async fn has_batch_from_before(&self, before: i64) -> Result<bool, StoreError> {
        let first = self
            .database
            .statement("SELECT at FROM audit_seal ORDER BY revision LIMIT 1 OFFSET 1");
        let first = self.database.read::<(i64,)>(first).await?.pop();
        Ok(first.is_some_and(|(at,)| at < before))
    }

    /// The time of the oldest row. The database looks for it, and returns no page.
    async fn oldest_at(&self, now: i64) -> Result<Option<i64>, StoreError> {
        let oldest = self
            .database
            .statement("SELECT min(at) FROM (")
            .push(AGED_ROWS)
            .push(") AS oldest")
            .bind(YEAR_2020)
            .bind(now)
            .bind(PAGE);
        let oldest = self.database.read::<(Option<i64>,)>(oldest).await?.pop();
        Ok(oldest.and_then(|(at,)| at))
    }

    /// The oldest rows whose time can be believed.
    async fn aged_rows(&self, now: i64) -> Result<Vec<AgedRow>, StoreError> {
        let select = self
            .database
            .statement(AGED_ROWS)
            .bind(YEAR_2020)
            .bind(now)
            .bind(PAGE);
        self.database.read(select).await
    }

    async fn progress(&self) -> Result<Timed<Progress>, StoreError> {
        let select = self
            .database
            .statement("SELECT removed_before, moved_at FROM audit_retention");
        let Timed { at, mut value } = self.database.read_timed(select).await?;
        let missing = || StoreError::Failed(sqlx::Error::RowNotFound.into());
        let value = value.pop().ok_or_else(missing)?;
        Ok(Timed { at, value })
    }

    /// Stores the progress, if it is still what it was.
    async fn move_on(&self, from: Progress, to: Progress) -> Result<bool, StoreError> {
        let update = self
            .database
            .statement(
                "UPDATE audit_retention SET removed_before = $1, moved_at = $2
                    WHERE moved_at = $3 AND removed_before = $4 RETURNING moved_at",
            )
            .bind(to.removed_before)
            .bind(to.moved_at)
            .bind(from.moved_at)
            .bind(from.removed_before);
        Ok(!self.database.write::<(i64,)>(update).await?.is_empty())
    }

    /// Removes the rows of some seals; whether there may be more.
    async fn remove_page(&self, before: i64, now: i64, days: u32) -> Result<bool, StoreError> {
        let rows = self.aged_rows(now).await?;
        let removable = &rows[..removable(&rows, before)];
        let Some(end) = removable.last() else {
            return Ok(false);
        };
        let Some(last) = self.last_removable(end.revision, before).await? else {
            return Ok(false);
        };
        if !self.has_other_rows_than_removals(last).await? {
            // Their removal would need such a row again.
            return Ok(false);
        }
        let removal = Removal {
            removed_through: last,
            removed_before: before,
            retention_days: days,
        };
        self.record_removal(removal).await?;
        while self.remove_seals(last).await? {}
        let is_full = encode_count(rows.len()) >= PAGE;
        Ok(is_full && removable.len() == rows.len())
    }

    /// The last seal up to this revision whose rows can be removed so that `audit verify` finds their age: the seal is
    /// from before that time, or the next row is older than the seal, which a clock that was ahead has dated.
    async fn last_removable(&self, end: i64, before: i64) -> Result<Option<i64>, StoreError> {
        let last = self
            .database
            .statement(
                "SELECT seal.revision FROM audit_seal AS seal
                WHERE seal.revision > (SELECT min(revision) FROM audit_seal) AND seal.revision <= $1
                    AND (seal.at < $2 OR seal.at > (SELECT later.at FROM audit AS later
                        WHERE later.revision > seal.revision ORDER BY later.revision LIMIT 1))
                ORDER BY seal.revision DESC LIMIT 1",
            )
            .bind(end)
            .bind(before);
        let last = self.database.read::<(i64,)>(last).await?.pop();
        Ok(last.map(|(revision,)| revision))
    }

    /// Whether any row up to this revision says something else than that rows were removed.
    async fn has_other_rows_than_removals(&self, through: i64) -> Result<bool, StoreError> {
        let other = self
            .database
            .statement("SELECT revision FROM audit WHERE revision <= ")
            .push_bind(through)
            .push(" AND NOT (event")
            .push_any(&REMOVAL_EVENTS)
            .push(") LIMIT 1");
        Ok(!self.database.read::<(i64,)>(other).await?.is_empty())
    }

    async fn record_removal(&self, removal: Removal) -> Result<(), StoreError> {
        let entry = Entry {
            event: "audit_pruned",
            details: Details {
                removal: Some(removal),
                ..Details::default()
            },
            ..Entry::default()
        };
        let insert = insert_pending(self.database.statement(""), std::slice::from_ref(&entry));
        self.database.write::<(i64,)>(insert).await?;
        entry.log();
        Ok(())
    }

    /// A process of an older release removes rows without saying so. If all that is missing is old enough, this says it.
    async fn record_unrecorded_removal(
        &self,
        base: &Seal,
        limit: i64,
        days: u32,
    ) -> Result<(), StoreError> {
        if base.is_first() || base.at >= limit {
            return Ok(());
        }
        let select = self
            .database
            .statement("SELECT details FROM (SELECT details FROM audit WHERE event")
            .push_any(&REMOVAL_EVENTS)
            // Each removal reaches further than the one before.
            .push(" ORDER BY revision DESC LIMIT 1) AS newest UNION ALL SELECT details FROM audit_pending WHERE event")
            .push_any(&REMOVAL_EVENTS);
        let recorded: Vec<RecordedRemoval> = self.database.read(select).await?;
        let is_recorded = recorded
            .iter()
            .any(|recorded| recorded.removed_through >= Some(base.revision));
        if is_recorded {
            return Ok(());
        }
        self.record_removal(Removal {
            removed_through: base.revision,
            removed_before: limit,
            retention_days: days,
        })
        .await
    }

    /// Removes the rows of the oldest seals up to this revision, whose seal stays; whether there may be more.
    async fn remove_seals(&self, through: i64) -> Result<bool, StoreError> {
        let select = self
            .database
            .statement(
                "SELECT coalesce(max(revision), -1), count(*) FROM (
                    SELECT revision FROM audit_seal WHERE revision <= $1 ORDER BY revision LIMIT $2) AS old",
            )
            .bind(through)
            .bind(REMOVED_SEALS);
        let Some((last, count)) = self.database.read::<(i64, i64)>(select).await?.pop() else {
            return Ok(false);
        };
        let rows = self
            .database
            .statement("DELETE FROM audit WHERE revision <= $1 RETURNING revision")
            .bind(last);
        let seals = self
            .database
            .statement("DELETE FROM audit_seal WHERE revision < $1");
        let then = FollowUp::new(move |_: &[(i64,)]| Ok(vec![seals.clone().bind(last)]));
        self.database.write_with(rows, then).await?;
        Ok(count == REMOVED_SEALS)
    }
}

#[cfg(test)]
mod tests;
