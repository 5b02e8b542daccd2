//! The way of rows from their transactions into the sealed record, and out of it.

use super::{AUDIT_COLUMNS, MAX_PENDING_EVENTS, PENDING, SqlStore, count_to_store, insert_pending};
use crate::store::{AuditRow, Seal, StoreError};
use rolegate_sql_store::{Statement, Then};
use sqlx::Error;
use std::mem;

/// Rows that one transaction seals.
pub(super) const BATCH: usize = 1000;
/// Seals whose rows one statement removes.
const PRUNED: i64 = 20;

/// The rows that are taken, with the last seal in place of commitments.
const TAKEN: &str =
    " RETURNING CAST(0 AS bigint), id, at, event, user_id, username, actor_id, actor, actor_key,
    actor_session, client_address, request_id, details, state,
    (SELECT revision || ' ' || at || ' ' || digest FROM audit_seal ORDER BY revision DESC LIMIT 1)";

/// The columns of a sealed row that the record adds.
const SEALED: [(&str, &str); 4] = [
    ("revision", "bigint"),
    ("id", "bigint"),
    ("at", "bigint"),
    ("commitments", "text"),
];

impl SqlStore {
    /// Writes the pending events. Those that cannot be written stay pending.
    pub(in crate::store::sql) async fn write_pending_events(&self) -> Result<(), StoreError> {
        let events = mem::take(&mut *self.pending_events.lock());
        if events.is_empty() {
            return Ok(());
        }
        let insert = insert_pending(self.database.statement(""), &events);
        let written = self.database.write::<(i64,)>(insert).await.map(drop);
        if written
            .as_ref()
            .is_err_and(|error| !error.is_outcome_unknown())
        {
            let mut kept = self.pending_events.lock();
            let newer = mem::replace(&mut *kept, events);
            kept.extend(newer);
            kept.truncate(MAX_PENDING_EVENTS);
        }
        written
    }

    /// Moves committed rows behind the last seal: the first, or all of these behind this revision, if it is
    /// still the last. Their number.
    pub(super) async fn seal_batch(
        &self,
        exactly: Option<(i64, &[i64])>,
    ) -> Result<usize, StoreError> {
        // One replica at a time; the key of a revision would stop a second one too.
        let lock = self
            .database
            .statement("SELECT revision FROM audit_seal ORDER BY revision LIMIT 1");
        let check = |_: &[(i64,)]| Ok::<_, StoreError>(());
        let take = self.database.statement("DELETE FROM audit_pending WHERE ");
        let take = if let Some((last, ids)) = exactly {
            let take = take
                .push("(SELECT max(revision) FROM audit_seal) = ")
                .push_bind(last);
            take.push(" AND id").push_any(ids)
        } else {
            let take = take.push("id IN (SELECT id FROM audit_pending ORDER BY id LIMIT ");
            take.push_bind(count_to_store(BATCH)).push(")")
        };
        let take = take.push(TAKEN);
        let [rows, seal] = [(); 2].map(|()| self.database.statement("INSERT INTO "));
        let then = Then::of_rows(move |taken: &[AuditRow]| match sealed(taken) {
            Some((sealed, next)) => {
                Ok(vec![insert_sealed(rows, &sealed), insert_seal(seal, &next)])
            }
            None => Err(Error::Protocol("the record cannot be sealed".to_owned())),
        });
        Ok(self.database.write_if(lock, check, take, then).await?.len())
    }

    /// Removes the rows of the oldest seals from before this time; whether there may be more.
    pub(super) async fn remove_oldest(&self, before: i64) -> Result<bool, StoreError> {
        let last = self.database.statement(
            "SELECT coalesce(max(revision), -1), count(*) FROM (
                SELECT revision FROM audit_seal WHERE at < $1 ORDER BY revision LIMIT $2) AS old",
        );
        let last = last.bind(before).bind(PRUNED);
        let Some((last, count)) = self.database.read::<(i64, i64)>(last).await?.pop() else {
            return Ok(false);
        };
        let rows = self
            .database
            .statement("DELETE FROM audit WHERE revision <= $1 RETURNING revision");
        let seals = self
            .database
            .statement("DELETE FROM audit_seal WHERE revision < $1");
        let seals = Then::of_rows(move |_: &[(i64,)]| Ok(vec![seals.bind(last)]));
        self.database.write_all(rows.bind(last), seals).await?;
        Ok(count == PRUNED)
    }
}

/// The rows with their revisions and salts, and their seal. `None` without randomness, or without the seal
/// before them.
fn sealed(taken: &[AuditRow]) -> Option<(Vec<AuditRow>, Seal)> {
    let mut last = taken.first()?.commitments.splitn(3, ' ');
    let (revision, at) = (last.next()?.parse().ok()?, last.next()?.parse().ok()?);
    let last = Seal {
        revision,
        at,
        digest: last.next()?.to_owned(),
    };
    sealed_behind(&last, taken, last.revision + 1)
}

/// The same behind a seal, where the first row gets the revision `first`.
pub(in crate::store) fn sealed_behind(
    last: &Seal,
    taken: &[AuditRow],
    first: i64,
) -> Option<(Vec<AuditRow>, Seal)> {
    let mut rows = taken.to_vec();
    rows.sort_unstable_by_key(|row| row.id);
    for (row, revision) in rows.iter_mut().zip(first..) {
        row.revision = revision;
        row.salt().ok()?;
    }
    let next = last.next(&rows).ok()?;
    Some((rows, next))
}

/// Takes rows that are not sealed yet, by their ids.
pub(in crate::store) fn take_pending(start: Statement, ids: &[i64]) -> Statement {
    start
        .push("DELETE FROM audit_pending WHERE id")
        .push_any(ids)
        .push(TAKEN)
}

/// Follows `INSERT INTO`.
pub(in crate::store) fn insert_sealed(start: Statement, rows: &[AuditRow]) -> Statement {
    let columns: Vec<_> = SEALED.into_iter().chain(PENDING).collect();
    let start = start
        .push("audit (")
        .push(AUDIT_COLUMNS)
        .push(") SELECT ")
        .push(AUDIT_COLUMNS);
    start.push_rows(&columns, rows)
}

/// Follows `INSERT INTO`.
pub(in crate::store) fn insert_seal(start: Statement, seal: &Seal) -> Statement {
    let start = start.push("audit_seal (revision, at, digest) VALUES ($1, $2, $3)");
    start
        .bind(seal.revision)
        .bind(seal.at)
        .bind(seal.digest.clone())
}
