//! Removes rows of the record that are older than `AUDIT_RETENTION_DAYS`, and records each removal.
//!
//! Clocks are trusted as little as possible:
//!
//! - A cutoff decides which rows are old, and is stored in the database (`removed_before`). It moves towards its
//!   target, the time `AUDIT_RETENTION_DAYS` ago, by at most two days an hour, whichever process moves it. So a clock
//!   that is ahead does not remove the whole record at once.
//! - Rows are removed only from the beginning up to a seal, because `audit verify` checks the remaining rows from that
//!   seal on. The removal ends where the fewest rows are on the wrong side of the cutoff ([`count_removable`]). So a
//!   few rows from a clock that was ahead or behind do not keep the rows around them forever.
//! - Rows from before 2020 or from the future do not affect this choice, however many there are. They are removed with
//!   the rows around them.

mod progress;

use super::pending_rows::insert_pending;
use crate::{
    audit::{AuditRow, Entry, Removal, parse_details},
    store::{
        seal::{REMOVAL_EVENTS, Seal},
        user_store::{
            UserStore,
            audit::DAY_SECONDS,
            encoding::{encode_count, encode_seconds},
        },
    },
};
use progress::{AgedRow, Progress, count_removable};
use rolegate_sql_store::{FollowUp, Row, Statement, StoreError, TableRow, Timed, row};
use serde_json::json;
use std::slice;

/// The beginning of 2020, in Unix seconds. Rows from before that time come from a clock that was not set.
const YEAR_2020: i64 = 1_577_836_800;
/// The maximum number of rows on a page, which contains the oldest rows with a credible time.
const PAGE_ROWS: i64 = 20_000;
/// The maximum number of seals whose rows one statement removes.
const BATCH_SEALS: i64 = 20;

/// Appends the `SELECT` of a page of the oldest rows with a credible time, which is between 2020 and `now`.
fn push_aged_rows(statement: Statement, now: i64) -> Statement {
    statement
        .push(
            "SELECT revision, at FROM audit WHERE at BETWEEN $1 AND $2 ORDER BY revision LIMIT $3",
        )
        .bind(YEAR_2020)
        .bind(now)
        .bind(PAGE_ROWS)
}

/// The last removed revision, as a row of the record about a removal states it.
struct RemovedThrough {
    /// The revision; `None` if the row cannot be read, which must not stop retention.
    revision: Option<i64>,
}

impl TableRow for RemovedThrough {
    fn from_row(row: Row<'_>) -> sqlx::Result<Self> {
        let details: String = row.get("details").unwrap_or_default();
        Ok(Self {
            revision: parse_details(&details)["removed_through"].as_i64(),
        })
    }
}

row! {
    /// The last revision and the number of the oldest seals whose rows one statement removes.
    struct OldSeals {
        last: i64,
        count: i64,
    }
}

impl UserStore {
    /// Removes rows that are older than this many days by the clock of the database, as far as the cutoff allows, and
    /// records what was removed. The rows removed within an hour span at most two days.
    pub(crate) async fn remove_old_rows(&self, days: u32) -> Result<(), StoreError> {
        let oldest = self.seals().await?.oldest;
        let select = self
            .database
            .statement("SELECT removed_before, moved_at FROM audit_retention");
        let read: Timed<Option<Progress>> = self.read_one(select).await?;
        let progress = read.value.ok_or_else(StoreError::row_not_found)?;
        let now = encode_seconds(read.at);
        let target = now - i64::from(days) * DAY_SECONDS;
        self.record_unrecorded_removal(&oldest, target, days)
            .await?;
        let Some(cutoff) = self.due_cutoff(progress, target, now).await? else {
            return Ok(());
        };
        while self.remove_page(cutoff, now, days).await? {}
        Ok(())
    }

    /// Moves the cutoff if the last move was at least an hour ago. Returns the cutoff if this process is to remove rows
    /// now, and `None` otherwise.
    async fn due_cutoff(
        &self,
        progress: Progress,
        target: i64,
        now: i64,
    ) -> Result<Option<i64>, StoreError> {
        if progress.moved_at > now {
            // The clock was ahead when the cutoff was last moved, so the hour until the next move begins again.
            self.store_progress(progress, progress.restart(target, now))
                .await?;
            return Ok(None);
        }
        if progress.has_moved_lately(now) {
            // Nothing more is removed in this hour, except the rows that an interrupted removal has left.
            let cutoff = progress.removed_before.min(target);
            let is_left = self.has_removable_batch(cutoff).await?;
            return Ok(is_left.then_some(cutoff));
        }
        self.move_cutoff(progress, target, now).await
    }

    /// Moves the cutoff towards the target, and returns the new cutoff. Returns `None` if no row is old enough, or if
    /// another process has moved the cutoff.
    async fn move_cutoff(
        &self,
        progress: Progress,
        target: i64,
        now: i64,
    ) -> Result<Option<i64>, StoreError> {
        let Some(oldest_at) = self.oldest_at(now).await? else {
            return Ok(None);
        };
        let Some(next) = progress.next(oldest_at, target, now) else {
            return Ok(None);
        };
        // If another process has moved the cutoff first, this process tries again in a minute.
        let is_stored = self.store_progress(progress, next).await?;
        Ok(is_stored.then_some(next.removed_before))
    }

    /// Returns whether all rows of the oldest batch are from before the cutoff. Later seals are never older, so they
    /// need not be checked.
    async fn has_removable_batch(&self, cutoff: i64) -> Result<bool, StoreError> {
        // The oldest seal covers only rows that were removed, or none at the beginning of the record. So the second
        // seal is the first one that ends a batch of existing rows.
        let second_seal = self
            .database
            .statement("SELECT at FROM audit_seal ORDER BY revision LIMIT 1 OFFSET 1");
        let sealed_at: Option<i64> = self.database.read_optional(second_seal).await?;
        Ok(sealed_at.is_some_and(|at| at < cutoff))
    }

    /// Returns the earliest time on the page of the oldest rows; `None` if the page is empty. The database computes it,
    /// so that the rows need not be transferred.
    async fn oldest_at(&self, now: i64) -> Result<Option<i64>, StoreError> {
        let oldest = self.database.statement("SELECT min(at) FROM (");
        let oldest = push_aged_rows(oldest, now).push(") AS oldest");
        let oldest = self.database.read_optional(oldest).await?;
        Ok(oldest.flatten())
    }

    /// Replaces the stored progress with `to` if it is still `from`. Returns whether it was replaced.
    async fn store_progress(&self, from: Progress, to: Progress) -> Result<bool, StoreError> {
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
        Ok(self.database.execute(update).await? > 0)
    }

    /// Reads a page of the oldest rows, and removes those that are old enough, up to a seal. Records the removal first.
    /// Returns whether there may be more rows to remove.
    async fn remove_page(&self, cutoff: i64, now: i64, days: u32) -> Result<bool, StoreError> {
        let select = push_aged_rows(self.database.statement(""), now);
        let rows: Vec<AgedRow> = self.database.read(select).await?;
        let removable = &rows[..count_removable(&rows, cutoff)];
        let Some(end) = removable.last() else {
            return Ok(false);
        };
        let Some(last) = self.last_removable(end.revision, cutoff).await? else {
            return Ok(false);
        };
        if !self.has_other_rows_than_removals(last).await? {
            // All old rows are about removals. Their removal would add another such row each time, so retention would
            // never end.
            return Ok(false);
        }
        let removal = Removal {
            removed_through: last,
            removed_before: cutoff,
            retention_days: days,
        };
        self.record_removal(removal).await?;
        while self.remove_sealed_rows(last).await? {}
        let is_full = encode_count(rows.len()) >= PAGE_ROWS;
        Ok(is_full && removable.len() == rows.len())
    }

    /// Returns the revision of the last seal up to `end` with which the record may begin; `None` if there is no such
    /// seal.
    ///
    /// `audit verify` accepts a seal that is older than the cutoff. It also accepts one that is newer than the row
    /// after it, because such a seal comes from a clock that was ahead.
    async fn last_removable(&self, end: i64, cutoff: i64) -> Result<Option<i64>, StoreError> {
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
            .bind(cutoff);
        self.database.read_optional(last).await
    }

    /// Returns whether any row up to this revision is about something other than a removal.
    async fn has_other_rows_than_removals(&self, through: i64) -> Result<bool, StoreError> {
        let other = self
            .database
            .statement("SELECT revision FROM audit WHERE revision <= ")
            .push_bind(through)
            .push(" AND NOT (event")
            .push_any(&REMOVAL_EVENTS)
            .push(") LIMIT 1");
        Ok(!self.database.read::<i64>(other).await?.is_empty())
    }

    async fn record_removal(&self, removal: Removal) -> Result<(), StoreError> {
        let row = AuditRow {
            event: "audit_pruned".to_owned(),
            ..AuditRow::default()
        };
        let entry = Entry::new(row, json!(removal));
        let insert = insert_pending(self.database.statement(""), slice::from_ref(&entry));
        self.database.execute(insert).await?;
        entry.log();
        Ok(())
    }

    /// Records the removal of rows by a process of an older release, which does not record removals. Does nothing if
    /// the removal is already recorded, or if a missing row may be too young for retention.
    async fn record_unrecorded_removal(
        &self,
        oldest: &Seal,
        target: i64,
        days: u32,
    ) -> Result<(), StoreError> {
        if oldest.is_first() || oldest.at >= target {
            return Ok(());
        }
        let select = self
            .database
            .statement("SELECT details FROM (SELECT details FROM audit WHERE event")
            .push_any(&REMOVAL_EVENTS)
            // Each removal reaches further than the one before, so the newest one is enough.
            .push(" ORDER BY revision DESC LIMIT 1) AS newest UNION ALL SELECT details FROM audit_pending WHERE event")
            .push_any(&REMOVAL_EVENTS);
        let recorded: Vec<RemovedThrough> = self.database.read(select).await?;
        let is_recorded = recorded
            .iter()
            .any(|removed| removed.revision >= Some(oldest.revision));
        if is_recorded {
            return Ok(());
        }
        self.record_removal(Removal {
            removed_through: oldest.revision,
            removed_before: target,
            retention_days: days,
        })
        .await
    }

    /// Removes the rows that the oldest [`BATCH_SEALS`] seals up to this revision cover. Also removes these seals
    /// except the last one, with which the record then begins. Returns whether there may be more rows to remove.
    async fn remove_sealed_rows(&self, through: i64) -> Result<bool, StoreError> {
        // If there are no seals, `last` is -1, and no row has a revision that low.
        let select = self
            .database
            .statement(
                "SELECT coalesce(max(revision), -1) AS last, count(*) AS count FROM (
                    SELECT revision FROM audit_seal WHERE revision <= $1 ORDER BY revision LIMIT $2) AS old",
            )
            .bind(through)
            .bind(BATCH_SEALS);
        let Some(old) = self.database.read::<OldSeals>(select).await?.pop() else {
            return Ok(false);
        };
        let rows = self
            .database
            .statement("DELETE FROM audit WHERE revision <= $1 RETURNING revision")
            .bind(old.last);
        let seals = self
            .database
            .statement("DELETE FROM audit_seal WHERE revision < $1")
            .bind(old.last);
        let then = FollowUp::<i64>::fixed(vec![seals]);
        self.database.write_with(rows, then).await?;
        Ok(old.count == BATCH_SEALS)
    }
}

#[cfg(test)]
mod tests;
