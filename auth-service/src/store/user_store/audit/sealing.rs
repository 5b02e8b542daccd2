//! Writes pending events, and moves committed rows into the sealed record.
//!
//! A batch takes unsealed rows, gives them the revisions after the last seal, and inserts them with a new seal, in one
//! transaction.

use super::{
    pending_events::PendingEvents,
    pending_rows::insert_pending,
    sealed_batch::{SealedBatch, push_returning_taken},
};
use crate::{
    audit::{AuditRow, Entry},
    store::user_store::encoding::encode_count,
};
use rolegate_batcher::{Batcher, Limits};
use rolegate_sql_store::{Database, FollowUp, Statement, StoreError};
use sqlx::Error;
use std::{
    sync::{
        Arc,
        atomic::{AtomicUsize, Ordering},
    },
    time::Duration,
};
use tokio::time::Instant;

/// The batch size while the database is fast. It limits the events that a batch writes, and the rows outside of imports
/// that it seals. [`TAKE_NEXT`] takes other rows in addition.
pub(super) const MAX_BATCH: usize = 1000;
/// The maximum duration of a batch after which the next one may be larger.
const FAST_BATCH: Duration = Duration::from_secs(1);

/// Limits a process to one sealing run at a time. Waiting callers occupy no connection. Callers that wait at the same
/// time share the next run, which begins after all of them have called.
const ONE_AT_A_TIME: Limits = Limits {
    max_batch_size: usize::MAX,
    max_in_flight: 1,
    stall_timeout: Duration::from_secs(1),
    max_in_flight_stalled: 1,
};

/// Takes the next rows to seal: the first `$1` rows that are not of an import, the earlier imported rows of the same
/// users, and the `$2` oldest rows of all.
///
/// So changes by people do not wait for the many rows of an import, and the rows of each user keep their order.
const TAKE_NEXT: &str = "DELETE FROM audit_pending WHERE id IN (
        SELECT id FROM (SELECT id FROM audit_pending WHERE event <> 'user_imported' ORDER BY id LIMIT $1) AS urgent
        UNION SELECT id FROM audit_pending WHERE event = 'user_imported' AND user_id IN (SELECT user_id FROM
            (SELECT user_id FROM audit_pending WHERE event <> 'user_imported' ORDER BY id LIMIT $1) AS changed)
            AND id < (SELECT max(id) FROM
                (SELECT id FROM audit_pending WHERE event <> 'user_imported' ORDER BY id LIMIT $1) AS last)
        UNION SELECT id FROM (SELECT id FROM audit_pending ORDER BY id LIMIT $2) AS oldest)";

/// Takes the same rows as [`TAKE_NEXT`], by a statement that PostgreSQL executes fast.
///
/// The planner of PostgreSQL assumes that most rows of each user are imported, and would read all imported rows.
/// `OFFSET 0` keeps the planner from merging the subquery, so that it looks up the rows of one user after the other.
const TAKE_NEXT_IN_POSTGRES: &str = "WITH urgent AS MATERIALIZED (
            SELECT id, user_id FROM audit_pending WHERE event <> 'user_imported' ORDER BY id LIMIT $1),
        changed AS MATERIALIZED (SELECT DISTINCT user_id FROM urgent)
    DELETE FROM audit_pending WHERE id = ANY (ARRAY(
        SELECT id FROM urgent
        UNION SELECT imported.id FROM changed CROSS JOIN LATERAL (SELECT it.id FROM audit_pending AS it
            WHERE it.event = 'user_imported' AND it.user_id = changed.user_id
                AND it.id < (SELECT max(id) FROM urgent) OFFSET 0) AS imported
        UNION SELECT id FROM (SELECT id FROM audit_pending ORDER BY id LIMIT $2) AS oldest))";

/// Locks the oldest seal, so that one replica seals at a time. Even without the lock, two replicas could not use the
/// same revision, because it is the primary key.
const LOCK: &str = "SELECT revision FROM audit_seal ORDER BY revision LIMIT 1";

/// Takes the same lock as [`LOCK`], and makes PostgreSQL plan the statements of this transaction for the current number
/// of rows.
///
/// Usually nothing is pending, so PostgreSQL would keep a plan that reads the whole table. With a million pending rows,
/// that would take half a second for each batch.
const LOCK_IN_POSTGRES: &str =
    "SELECT revision, set_config('plan_cache_mode', 'force_custom_plan', true)
    FROM audit_seal ORDER BY revision LIMIT 1";

/// Seals the record for one process.
pub(in crate::store) struct Sealer {
    work: Arc<SealingWork>,
    sealings: Batcher<(), Result<bool, StoreError>>,
}

/// The state that all sealing runs of one process share.
struct SealingWork {
    database: Database,
    /// Sign-ins and refusals that are not in the record yet.
    pending_events: PendingEvents,
    /// The size of the next batch, as [`MAX_BATCH`] defines it. It is halved after each failure, such as a timeout, so
    /// that even a slow database makes progress.
    batch_size: AtomicUsize,
}

impl Sealer {
    pub(in crate::store) fn new(database: Database) -> Self {
        let work = Arc::new(SealingWork {
            database,
            pending_events: PendingEvents::default(),
            batch_size: AtomicUsize::new(MAX_BATCH),
        });
        let shared = Arc::clone(&work);
        let sealings = Batcher::new(ONE_AT_A_TIME, move |callers: Vec<()>| {
            let work = Arc::clone(&shared);
            async move { vec![work.seal().await; callers.len()] }
        });
        Self { work, sealings }
    }

    /// Writes pending events and seals a batch. Returns whether there may be more events or rows.
    pub(in crate::store) async fn seal(&self) -> Result<bool, StoreError> {
        self.sealings.submit(()).await?
    }

    /// Keeps an event in memory until the next sealing run writes it, unless too many events wait.
    pub(super) fn enqueue_event(&self, entry: Entry) {
        self.work.pending_events.add(entry);
    }

    /// Writes all pending events, in batches, as unsealed rows.
    pub(in crate::store) async fn write_pending_events(&self) -> Result<(), StoreError> {
        while self.work.write_pending_events(MAX_BATCH).await? {}
        Ok(())
    }

    /// Seals exactly these rows, if `last` is still the revision of the last seal. Otherwise seals nothing. Returns the
    /// number of sealed rows.
    pub(super) async fn seal_exactly(&self, last: i64, ids: &[i64]) -> Result<usize, StoreError> {
        let take = self
            .work
            .database
            .statement("DELETE FROM audit_pending WHERE (SELECT max(revision) FROM audit_seal) = ")
            .push_bind(last)
            .push(" AND id")
            .push_any(ids);
        self.work.seal_taken(take).await
    }
}

impl SealingWork {
    async fn seal(&self) -> Result<bool, StoreError> {
        let size = self.batch_size.load(Ordering::Relaxed);
        let began = Instant::now();
        let sealed = self.seal_batch(size).await;
        let next = match &sealed {
            Ok(_) if began.elapsed() < FAST_BATCH => size.saturating_mul(2).min(MAX_BATCH),
            Ok(_) => size,
            Err(_) => (size / 2).max(1),
        };
        self.batch_size.store(next, Ordering::Relaxed);
        sealed
    }

    async fn seal_batch(&self, size: usize) -> Result<bool, StoreError> {
        let has_more_events = self.write_pending_events(size).await?;
        let pending = self
            .database
            .statement("SELECT id FROM audit_pending LIMIT 1");
        if self.database.read_hint::<i64>(pending).await?.is_empty() {
            return Ok(has_more_events);
        }
        // A batch of one row takes the oldest row of all.
        let urgent = if size == 1 { 0 } else { size };
        let oldest = (size / 2).max(1);
        let take_next = if self.database.is_postgres() {
            TAKE_NEXT_IN_POSTGRES
        } else {
            TAKE_NEXT
        };
        let take = self
            .database
            .statement(take_next)
            .bind(encode_count(urgent))
            .bind(encode_count(oldest));
        let count = self.seal_taken(take).await?;
        Ok(has_more_events || count >= oldest)
    }

    /// Writes up to `count` pending events, and returns whether there are more. If the write fails, the events stay
    /// pending. If its outcome is unknown, they are dropped, and their refusals are counted as not recorded.
    async fn write_pending_events(&self, count: usize) -> Result<bool, StoreError> {
        let events = self.pending_events.take(count);
        if events.is_empty() {
            return Ok(false);
        }
        let insert = insert_pending(self.database.statement(""), &events);
        if let Err(error) = self.database.execute(insert).await {
            if error.is_outcome_unknown() {
                self.pending_events.give_up(&events);
            } else {
                self.pending_events.put_back(events);
            }
            return Err(error);
        }
        Ok(!self.pending_events.is_empty())
    }

    /// Appends the rows that this statement takes to the sealed record, and returns their number.
    async fn seal_taken(&self, take: Statement) -> Result<usize, StoreError> {
        let lock = self.database.statement(if self.database.is_postgres() {
            LOCK_IN_POSTGRES
        } else {
            LOCK
        });
        let insert = self.database.statement("INSERT INTO ");
        let then = FollowUp::new(move |taken: &[AuditRow]| {
            SealedBatch::of_taken(taken)
                .map(|batch| batch.insert(&insert))
                .ok_or_else(|| Error::Protocol("the record cannot be sealed".to_owned()))
        });
        let taken = self
            .database
            .write_locked(lock, push_returning_taken(take), then)
            .await?;
        Ok(taken.len())
    }
}
