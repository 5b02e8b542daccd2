//! Writes `last_used_at` of opaque tokens, and `last_login_at` of users: all that were used, together, once a
//! minute.

use crate::store::Used;
use parking_lot::Mutex;
use rolegate_sql_store::{Database, StoreError, Then};
use rolegate_telemetry::logs::error_chain;
use serde_json::json;
use std::{collections::BTreeMap, sync::Arc, time::Duration};
use tokio::time::{Instant, MissedTickBehavior, interval_at};

const INTERVAL: Duration = Duration::from_mins(1);
/// Uses of a statement.
const MAX_BATCH: usize = 1000;

/// Writes that must succeed before all other replicas have written the uses that they could not write.
const SUCCESSES: u8 = 2;

/// The uses of this kind that are not written yet.
#[derive(Debug)]
pub(super) struct TokenUsage(Used, Mutex<Unwritten>);

#[derive(Debug, Default)]
struct Unwritten {
    /// The last use of each token, or login of each user, in Unix seconds.
    last: BTreeMap<i64, u64>,
    /// The first use that could not be written, and how many writes must succeed from now on.
    failing_since: Option<(u64, u8)>,
}

impl TokenUsage {
    /// Writes to this database until the value is dropped.
    pub(super) fn start(used: Used, database: &Database) -> Arc<Self> {
        let usage = Arc::new(Self(used, Mutex::default()));
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

    pub(super) fn note(&self, id: i64, at: u64) {
        let mut unwritten = self.1.lock();
        let last = unwritten.last.entry(id).or_insert(at);
        *last = at.max(*last);
    }

    pub(super) fn noted(&self, id: i64) -> Option<u64> {
        self.1.lock().last.get(&id).copied()
    }

    pub(super) fn failing_since(&self) -> Option<u64> {
        self.1.lock().failing_since.map(|(since, _)| since)
    }

    /// Writes what was noted. What cannot be written stays for the next time.
    pub(super) async fn write(&self, database: &Database) {
        let used: Vec<(i64, u64)> = self.1.lock().last.clone().into_iter().collect();
        for batch in used.chunks(MAX_BATCH) {
            let written = self.write_batch(database, batch).await;
            let mut unwritten = self.1.lock();
            if let Err(error) = written {
                let error = error_chain(&error);
                let what = if self.0 == Used::Token {
                    "tokens"
                } else {
                    "passwords"
                };
                tracing::warn!(
                    error,
                    uses = batch.len(),
                    "cannot write when {what} were used"
                );
                let first = batch.iter().map(|(_, at)| *at).min().unwrap_or_default();
                let since = unwritten.failing_since.map_or(first, |(since, _)| since);
                unwritten.failing_since = Some((since, SUCCESSES));
            } else {
                unwritten
                    .last
                    .retain(|id, at| batch.binary_search(&(*id, *at)).is_err());
                let since = unwritten.failing_since;
                unwritten.failing_since = since
                    .map(|(since, left)| (since, left - 1))
                    .filter(|(_, left)| *left > 0);
            }
        }
    }

    async fn write_batch(
        &self,
        database: &Database,
        uses: &[(i64, u64)],
    ) -> Result<(), StoreError> {
        let (lock, update, condition) = match self.0 {
            Used::Token => (
                "SELECT id FROM api_key WHERE id",
                "UPDATE api_key SET last_used_at = used_at",
                " AND id = used_id AND coalesce(last_used_at, 0) < used_at RETURNING id",
            ),
            Used::Password => (
                r#"SELECT id FROM "user" WHERE id"#,
                r#"UPDATE "user" SET last_login_at = used_at"#,
                " AND id = used_id AND coalesce(last_login_at, 0) < used_at RETURNING id",
            ),
        };
        // By ascending id, as other writes, none of which should lose a deadlock.
        let ids: Vec<i64> = uses.iter().map(|(id, _)| *id).collect();
        let lock = database.statement(lock).push_any(&ids).push(" ORDER BY id");
        let row =
            |(id, at): &(i64, _)| json!({ "used_id": id, "used_at": super::seconds_to_store(*at) });
        let rows: Vec<_> = uses.iter().map(row).collect();
        let update = database.statement(update);
        let update = update.push_rows(&[("used_id", "bigint"), ("used_at", "bigint")], &rows);
        let (update, check) = (update.push(condition), |_: &[(i64,)]| {
            Ok::<_, StoreError>(())
        });
        database
            .write_if::<_, (i64,), _>(lock, check, update, Then::nothing())
            .await
            .map(drop)
    }
}
