//! Writes `last_used_at` of opaque tokens: all that were used, together, once a minute.

use rolegate_sql_store::{Database, StoreError};
use rolegate_telemetry::logs::error_chain;
use serde::Serialize;
use std::{
    collections::BTreeMap,
    sync::{Arc, Mutex, MutexGuard, PoisonError},
    time::Duration,
};
use tokio::time::{Instant, MissedTickBehavior, interval_at};

const INTERVAL: Duration = Duration::from_mins(1);
/// Tokens of a statement.
const MAX_BATCH: usize = 1000;

/// Writes that must succeed before all other replicas have written the uses that they could not write.
const SUCCESSES: u8 = 2;

/// The uses that are not written yet.
#[derive(Debug, Default)]
pub(super) struct TokenUsage(Mutex<Unwritten>);

#[derive(Debug, Default)]
struct Unwritten {
    /// The last use of each token, in Unix seconds.
    last: BTreeMap<i64, u64>,
    /// The first use that could not be written, and how many writes must succeed from now on.
    failing_since: Option<(u64, u8)>,
}

impl TokenUsage {
    /// Writes to this database until the value is dropped.
    pub(super) fn start(database: &Database) -> Arc<Self> {
        let usage = Arc::new(Self::default());
        let (weak, database) = (Arc::downgrade(&usage), database.clone());
        tokio::spawn(async move {
            let mut interval = interval_at(Instant::now() + INTERVAL, INTERVAL);
            interval.set_missed_tick_behavior(MissedTickBehavior::Delay);
            loop {
                interval.tick().await;
                let Some(usage) = weak.upgrade() else { return };
                usage.write(&database).await;
            }
        });
        usage
    }

    pub(super) fn note(&self, token_id: i64, at: u64) {
        let mut unwritten = self.unwritten();
        let last = unwritten.last.entry(token_id).or_insert(at);
        *last = at.max(*last);
    }

    pub(super) fn noted(&self, token_id: i64) -> Option<u64> {
        self.unwritten().last.get(&token_id).copied()
    }

    pub(super) fn failing_since(&self) -> Option<u64> {
        self.unwritten().failing_since.map(|(since, _)| since)
    }

    /// Writes what was noted. What cannot be written stays for the next time.
    pub(super) async fn write(&self, database: &Database) {
        let used: Vec<(i64, u64)> = self.unwritten().last.clone().into_iter().collect();
        // By ascending id, which makes deadlocks with other replicas unlikely; one costs a minute.
        for batch in used.chunks(MAX_BATCH) {
            let written = write_batch(database, batch).await;
            let mut unwritten = self.unwritten();
            if let Err(error) = written {
                let error = error_chain(&error);
                tracing::warn!(error, tokens = batch.len(), "cannot write when tokens were used");
                let first = batch.iter().map(|(_, at)| *at).min().unwrap_or_default();
                let since = unwritten.failing_since.map_or(first, |(since, _)| since);
                unwritten.failing_since = Some((since, SUCCESSES));
            } else {
                unwritten.last.retain(|id, at| batch.binary_search(&(*id, *at)).is_err());
                let since = unwritten.failing_since;
                unwritten.failing_since =
                    since.map(|(since, left)| (since, left - 1)).filter(|(_, left)| *left > 0);
            }
        }
    }

    fn unwritten(&self) -> MutexGuard<'_, Unwritten> {
        self.0.lock().unwrap_or_else(PoisonError::into_inner)
    }
}

async fn write_batch(database: &Database, used: &[(i64, u64)]) -> Result<(), StoreError> {
    let used: Vec<_> = used
        .iter()
        .map(|&(token_id, at)| TokenUse { token_id, used_at: super::seconds_to_store(at) })
        .collect();
    let update = database.statement("UPDATE api_key SET last_used_at = r.used_at");
    let update = update.push_rows(&[("token_id", "bigint"), ("used_at", "bigint")], &used).push(
        " AND id = r.token_id AND (last_used_at IS NULL OR last_used_at < r.used_at) RETURNING id",
    );
    database.write::<(i64,)>(update).await.map(drop)
}

#[derive(Serialize)]
struct TokenUse {
    token_id: i64,
    used_at: i64,
}
