//! Writes `last_used_at` of opaque tokens, and `last_login_at` of users: all that were used, together, once a
//! minute. Each process of the service also writes that it could: when it could not, sessions that nobody seems to use
//! may be in use at another process.

use super::encoding::encode_seconds;
use crate::store::{MAX_PAUSE_AHEAD, UsageKind, UsagePause};
use parking_lot::Mutex;
use rolegate_sql_store::{Database, FollowUp, Statement, StoreError};
use rolegate_telemetry::{log_once::LogOnce, logs::error_chain};
use serde_json::json;
use std::{collections::BTreeMap, sync::Arc, time::Duration};
use tokio::time::sleep;

const INTERVAL: Duration = Duration::from_mins(1);
/// The interval after a write that failed. The pause should be known soon after its end, also to a process that has just
/// started.
const RETRY_INTERVAL: Duration = Duration::from_secs(10);
/// Uses of a statement.
const MAX_BATCH: usize = 1000;

/// Writes that must succeed before all other replicas have written the uses that they could not write.
const SUCCESSES: u8 = 2;

/// How long a pause is kept, in seconds: the longest `SESSION_IDLE_SECONDS`.
const PAUSE_TTL: i64 = 31_536_000;

/// Limits how often a failure is logged, because it is repeated every few seconds.
static FAILED: LogOnce<UsageKind> = LogOnce::at_most(2, INTERVAL);

/// The uses of this kind that are not written yet.
#[derive(Debug)]
pub(super) struct TokenUsage {
    kind: UsageKind,
    /// Set in a service. A command uses no token, so it writes nothing of that kind.
    is_service: bool,
    unwritten: Mutex<Unwritten>,
}

#[derive(Debug, Default)]
struct Unwritten {
    /// The last use of each token, or login of each user, in Unix seconds.
    last: BTreeMap<i64, u64>,
    /// When this process last wrote that it could write uses, in Unix seconds.
    written_at: Option<u64>,
    failing: Option<Failing>,
}

/// Uses cannot be written, or could not a while ago.
#[derive(Clone, Copy, Debug)]
struct Failing {
    /// The last time, in Unix seconds, at which they could be written.
    since: u64,
    successes_left: u8,
}

impl TokenUsage {
    pub(super) fn new(kind: UsageKind, is_service: bool) -> Self {
        Self {
            kind,
            is_service,
            unwritten: Mutex::default(),
        }
    }

    /// Writes to this database until the value is dropped.
    pub(super) fn start(kind: UsageKind, is_service: bool, database: &Database) -> Arc<Self> {
        let usage = Arc::new(Self::new(kind, is_service));
        let (weak, database) = (Arc::downgrade(&usage), database.clone());
        tokio::spawn(async move {
            // At once, so that a process that starts while nothing can be written knows it.
            let mut wait = if is_service { Duration::ZERO } else { INTERVAL };
            loop {
                sleep(wait).await;
                let Some(usage) = weak.upgrade() else { return };
                usage.write(&database).await;
                wait = usage.interval();
            }
        });
        usage
    }

    fn interval(&self) -> Duration {
        if self.unwritten.lock().failing.is_some() {
            RETRY_INTERVAL
        } else {
            INTERVAL
        }
    }

    pub(super) fn note(&self, id: i64, at: u64) {
        let mut unwritten = self.unwritten.lock();
        let last = unwritten.last.entry(id).or_insert(at);
        *last = at.max(*last);
    }

    pub(super) fn noted(&self, id: i64) -> Option<u64> {
        self.unwritten.lock().last.get(&id).copied()
    }

    pub(super) fn failing_since(&self) -> Option<u64> {
        self.unwritten.lock().failing.map(|failing| failing.since)
    }

    /// Writes what was noted, and in a service that tokens' uses can be written. What cannot be written stays for the next
    /// time.
    pub(super) async fn write(&self, database: &Database) {
        let used: Vec<(i64, u64)> = self.unwritten.lock().last.clone().into_iter().collect();
        let mut result = Ok(());
        for batch in used.chunks(MAX_BATCH) {
            match self.write_batch(database, batch).await {
                Ok(()) => self
                    .unwritten
                    .lock()
                    .last
                    .retain(|id, at| batch.binary_search(&(*id, *at)).is_err()),
                Err(error) => result = Err(error),
            }
        }
        if self.kind == UsageKind::Token && self.is_service && result.is_ok() {
            result = self.record_write(database).await;
        }
        if let Err(error) = result {
            if FAILED.is_due(self.kind) {
                let error = error_chain(&error);
                let what = if self.kind == UsageKind::Token {
                    "tokens"
                } else {
                    "passwords"
                };
                tracing::warn!(
                    error,
                    uses = used.len(),
                    "cannot write when {what} were used"
                );
            }
            self.note_failure(database).await;
        }
    }

    /// Writes that uses could be written now, and the pause that this ends, or ended a while ago.
    async fn record_write(&self, database: &Database) -> Result<(), StoreError> {
        let record = database
            .statement("INSERT INTO usage_write (id, written_at) VALUES (1, ")
            .push_now()
            .push(
                ") ON CONFLICT (id) DO UPDATE SET written_at = excluded.written_at
                RETURNING written_at",
            );
        // No row has this id. It fails where the table of the uses is locked, or cannot be written.
        let touch = "UPDATE api_key SET last_used_at = last_used_at WHERE id = -1";
        let mut then = vec![database.statement(touch), forget_pauses(database)];
        if let Some(since) = self.failing_since() {
            then.extend(record_pause(database, since));
        }
        let then = FollowUp::new(move |_: &[(i64,)]| Ok(then.clone()));
        let written = database.write_with(record, then).await?;
        let mut unwritten = self.unwritten.lock();
        unwritten.written_at = written.first().and_then(|(at,)| (*at).try_into().ok());
        unwritten.failing = unwritten.failing.and_then(|failing| {
            let successes_left = failing.successes_left - 1;
            (successes_left > 0).then_some(Failing {
                successes_left,
                ..failing
            })
        });
        Ok(())
    }

    /// Notes that uses cannot be written, since this process, or for one that has written nothing yet, any process last
    /// could.
    pub(super) async fn note_failure(&self, database: &Database) {
        if self.kind != UsageKind::Token || !self.is_service {
            return;
        }
        let known = {
            let unwritten = self.unwritten.lock();
            unwritten
                .failing
                .map(|failing| failing.since)
                .or(unwritten.written_at)
        };
        let since = match known {
            Some(since) => Some(since),
            None => stored_write(database).await,
        };
        // Without the time, the database cannot be read either, so nothing is decided by it.
        let Some(since) = since else { return };
        self.unwritten.lock().failing = Some(Failing {
            since,
            successes_left: SUCCESSES,
        });
    }

    async fn write_batch(
        &self,
        database: &Database,
        uses: &[(i64, u64)],
    ) -> Result<(), StoreError> {
        let (lock, update, condition) = match self.kind {
            UsageKind::Token => (
                "SELECT id FROM api_key WHERE id",
                "UPDATE api_key SET last_used_at = used_at",
                " AND id = used_id AND coalesce(last_used_at, 0) < used_at RETURNING id",
            ),
            UsageKind::Password => (
                r#"SELECT id FROM "user" WHERE id"#,
                r#"UPDATE "user" SET last_login_at = used_at"#,
                " AND id = used_id AND coalesce(last_login_at, 0) < used_at RETURNING id",
            ),
        };
        // By ascending id, as other writes, none of which should lose a deadlock.
        let ids: Vec<i64> = uses.iter().map(|(id, _)| *id).collect();
        let lock = database.statement(lock).push_any(&ids).push(" ORDER BY id");
        let row = |(id, at): &(i64, _)| json!({ "used_id": id, "used_at": encode_seconds(*at) });
        let rows: Vec<_> = uses.iter().map(row).collect();
        let update = database.statement(update);
        let update = update.push_rows(&[("used_id", "bigint"), ("used_at", "bigint")], &rows);
        let (update, check) = (update.push(condition), |_: &[(i64,)]| {
            Ok::<_, StoreError>(())
        });
        database
            .write_if::<_, (i64,), _>(lock, check, update, FollowUp::none())
            .await
            .map(drop)
    }
}

/// The pauses that are over, of which the latest count.
pub(super) async fn pauses(database: &Database) -> Result<Vec<UsagePause>, StoreError> {
    const MAX_PAUSES: i64 = 1000;
    let select = "SELECT began, ended FROM usage_pause ORDER BY ended DESC LIMIT ";
    let select = database.statement(select).push_bind(MAX_PAUSES);
    let rows = database.read::<(i64, i64)>(select).await?;
    let pause = |(began, ended): (i64, i64)| {
        Some(UsagePause {
            began: began.try_into().ok()?,
            ended: ended.try_into().ok()?,
        })
    };
    Ok(rows.into_iter().filter_map(pause).collect())
}

/// Records a pause that ends now, in place of those within it, which other processes recorded.
fn record_pause(database: &Database, began: u64) -> [Statement; 2] {
    let began = encode_seconds(began);
    let forget = database
        .statement("DELETE FROM usage_pause WHERE began >= $1 AND ended <= ")
        .bind(began)
        .push_now();
    let insert = database
        .statement("INSERT INTO usage_pause (began, ended) SELECT $1, now FROM (SELECT ")
        .bind(began)
        .push_now()
        .push(" AS now) AS clock WHERE now > $1");
    [forget, insert]
}

/// Forgets pauses that do not count: those that are too old, and those of a clock that was ahead.
fn forget_pauses(database: &Database) -> Statement {
    database
        .statement("DELETE FROM usage_pause WHERE ended < ")
        .push_now()
        .push(" - ")
        .push_bind(PAUSE_TTL)
        .push(" OR ended > ")
        .push_now()
        .push(" + ")
        .push_bind(encode_seconds(MAX_PAUSE_AHEAD))
}

/// When any process last wrote that it could write uses.
async fn stored_write(database: &Database) -> Option<u64> {
    let select = database.statement("SELECT written_at FROM usage_write");
    let rows = database.read::<(i64,)>(select).await.ok()?;
    rows.first()?.0.try_into().ok()
}
