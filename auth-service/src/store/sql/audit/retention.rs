//! Removes what is older than `AUDIT_RETENTION_DAYS` from the record, and says so in the record.
//!
//! A clock that is ahead must not cost the record, so the time before which rows may be removed is kept in the database
//! and moves at most two days an hour, whichever process moves it. A clock that was ahead for a moment must not keep the
//! rows around it for ever either, so the end of the removed rows is where the fewest rows are on the wrong side.

use super::{SqlStore, count_to_store, insert_pending};
use crate::{
    audit::{Details, Entry, Removal},
    store::{AuditStore as _, DAY_SECONDS, Seal, StoreError, seal::REMOVAL_EVENTS},
};
use rolegate_sql_store::{Then, Timed};
use serde_json::Value;
use sqlx::{FromRow, Row};

const HOUR_SECONDS: i64 = 3600;
/// How far the time before which rows are removed moves in an hour.
const MAX_MOVE: i64 = 2 * DAY_SECONDS;
/// Rows from before 2020 are by a clock that was not set.
const YEAR_2020: i64 = 1_577_836_800;
/// The oldest rows, among which is one whose time can be believed.
const OLDEST_ROWS: usize = 20;
/// Rows that are looked at together.
const PAGE: usize = 20_000;
/// Seals whose rows one statement removes.
const REMOVED_SEALS: i64 = 20;

/// The row of the table `audit_retention`.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
struct Progress {
    /// The revision behind which the record began when the time was moved.
    base_revision: i64,
    /// Rows from before this time may be removed, in Unix seconds.
    removed_before: i64,
    /// When that time was moved, in Unix seconds.
    moved_at: i64,
}

/// What a row of the record says about its age.
#[derive(Clone, Debug)]
struct AgedRow {
    revision: i64,
    /// Unix seconds.
    at: i64,
    event: String,
}

impl<'r, R: Row> FromRow<'r, R> for Progress
where
    (i64, i64, i64): FromRow<'r, R>,
{
    fn from_row(row: &'r R) -> sqlx::Result<Self> {
        let (base_revision, removed_before, moved_at) = FromRow::from_row(row)?;
        Ok(Self {
            base_revision,
            removed_before,
            moved_at,
        })
    }
}

impl<'r, R: Row> FromRow<'r, R> for AgedRow
where
    (i64, i64, String): FromRow<'r, R>,
{
    fn from_row(row: &'r R) -> sqlx::Result<Self> {
        let (revision, at, event) = FromRow::from_row(row)?;
        Ok(Self {
            revision,
            at,
            event,
        })
    }
}

impl Progress {
    /// Moves the time on, at most once an hour; `None` if it stays.
    fn next(self, base_revision: i64, oldest_at: i64, limit: i64, now: i64) -> Option<Self> {
        if self.moved_at > now {
            // The clock was ahead. Whatever it allowed then, the next move is in an hour.
            return Some(Self {
                moved_at: now,
                removed_before: self.removed_before.min(limit),
                ..self
            });
        }
        if now - self.moved_at < HOUR_SECONDS || oldest_at >= limit {
            return None;
        }
        let is_stuck = self.base_revision == base_revision && self.moved_at > 0;
        let from = if is_stuck {
            self.removed_before.max(oldest_at)
        } else {
            oldest_at
        };
        Some(Self {
            base_revision,
            removed_before: limit.min(from.saturating_add(MAX_MOVE)),
            moved_at: now,
        })
    }
}

/// The time of the oldest row, among the first that have a time to believe.
fn oldest_at(rows: &[AgedRow], now: i64) -> Option<i64> {
    rows.iter()
        .take(OLDEST_ROWS)
        .map(|row| row.at)
        .filter(|at| (YEAR_2020..=now).contains(at))
        .min()
}

/// How many of the first rows are removed: the number that leaves the fewest rows on the wrong side. Rows from the
/// future, or from before 2020, say nothing about their age.
fn removable(rows: &[AgedRow], before: i64, now: i64) -> usize {
    let mut balance = 0_i64;
    let mut lowest = 0;
    let mut removable = 0;
    for (index, row) in rows.iter().enumerate() {
        if row.at > now || row.at < YEAR_2020 {
            continue;
        }
        balance += if row.at < before { -1 } else { 1 };
        if balance < lowest {
            lowest = balance;
            removable = index + 1;
        }
    }
    removable
}

/// The last seal up to which the first rows can be removed, so that `audit verify` finds their age: the seal is from
/// before that time, or a later row is older than the seal, which a clock that was ahead has dated.
fn last_removable<'s>(seals: &'s [Seal], rows: &[AgedRow], before: i64) -> Option<&'s Seal> {
    seals.iter().rev().find(|seal| {
        let next = rows.iter().find(|row| row.revision > seal.revision);
        seal.at < before || next.is_some_and(|next| next.at < seal.at)
    })
}

impl SqlStore {
    /// Removes rows that are older than this many days.
    pub(super) async fn remove_rows_older_than(&self, days: u32) -> Result<(), StoreError> {
        let [base, _] = self.seals().await?;
        let oldest = self.aged_rows(OLDEST_ROWS).await?;
        let now = i64::try_from(oldest.at).unwrap_or(i64::MAX);
        let limit = now - i64::from(days) * DAY_SECONDS;
        self.record_unrecorded_removal(&base, limit, days).await?;
        let Some(oldest_at) = oldest_at(&oldest.value, now) else {
            return Ok(());
        };
        let progress = self.progress().await?;
        let before = match progress.next(base.revision, oldest_at, limit, now) {
            Some(next) if self.move_on(progress, next).await? => next.removed_before,
            // Another process was first; the next look is in a minute.
            Some(_) => return Ok(()),
            None => progress.removed_before.min(limit),
        };
        while self.remove_page(before, now, days).await? {}
        Ok(())
    }

    async fn progress(&self) -> Result<Progress, StoreError> {
        let select = self
            .database
            .statement("SELECT base_revision, removed_before, moved_at FROM audit_retention");
        let progress = self.database.read(select).await?.pop();
        progress.ok_or_else(|| StoreError::Failed(sqlx::Error::RowNotFound.into()))
    }

    /// Stores the progress, if it is still what it was.
    async fn move_on(&self, from: Progress, to: Progress) -> Result<bool, StoreError> {
        let update = self
            .database
            .statement(
                "UPDATE audit_retention SET base_revision = $1, removed_before = $2, moved_at = $3
                    WHERE moved_at = $4 AND removed_before = $5 RETURNING moved_at",
            )
            .bind(to.base_revision)
            .bind(to.removed_before)
            .bind(to.moved_at)
            .bind(from.moved_at)
            .bind(from.removed_before);
        Ok(!self.database.write::<(i64,)>(update).await?.is_empty())
    }

    async fn aged_rows(&self, count: usize) -> Result<Timed<Vec<AgedRow>>, StoreError> {
        let select = self
            .database
            .statement("SELECT revision, at, event FROM audit ORDER BY revision LIMIT $1")
            .bind(count_to_store(count));
        self.database.read_timed(select).await
    }

    /// Removes the rows of some seals; whether there may be more.
    async fn remove_page(&self, before: i64, now: i64, days: u32) -> Result<bool, StoreError> {
        let rows = self.aged_rows(PAGE).await?.value;
        let removable = &rows[..removable(&rows, before, now)];
        let Some(end) = removable.last() else {
            return Ok(false);
        };
        let select = self
            .database
            .statement(
                "SELECT revision, at, digest FROM audit_seal WHERE revision >= $1 AND revision <= $2
                    ORDER BY revision",
            )
            .bind(removable[0].revision)
            .bind(end.revision);
        let seals: Vec<Seal> = self.database.read(select).await?;
        let Some(last) = last_removable(&seals, &rows, before) else {
            return Ok(false);
        };
        let says_only_that_rows_were_removed = removable
            .iter()
            .take_while(|row| row.revision <= last.revision)
            .all(|row| REMOVAL_EVENTS.contains(&&*row.event));
        if says_only_that_rows_were_removed {
            // Their removal would need such a row again.
            return Ok(false);
        }
        let removal = Removal {
            removed_through: last.revision,
            removed_before: before,
            retention_days: days,
        };
        self.record_removal(removal).await?;
        while self.remove_seals(last.revision).await? {}
        Ok(rows.len() == PAGE && end.revision == rows[PAGE - 1].revision)
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
        let recorded = self.database.read::<(String,)>(select).await?;
        let is_recorded = recorded.iter().any(|(details,)| {
            let details: Value = serde_json::from_str(details).unwrap_or_default();
            details["removed_through"].as_i64() >= Some(base.revision)
        });
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
        let then = Then::of_rows(move |_: &[(i64,)]| Ok(vec![seals.clone().bind(last)]));
        self.database.write_all(rows, then).await?;
        Ok(count == REMOVED_SEALS)
    }
}

#[cfg(test)]
mod tests;
