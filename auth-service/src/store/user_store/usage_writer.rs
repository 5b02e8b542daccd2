//! Stores the times at which tokens and passwords were last used: `last_used_at` of opaque tokens, and `last_login_at`
//! of users.
//!
//! Uses are collected in memory and written together once a minute. Each process of the service also stores the time of
//! its last successful write. While a process cannot write, a session that seems unused may be in use at another
//! process: see `usage_pause`.

use super::{
    encoding::encode_seconds,
    usage_pauses::{forget_pauses, record_pause},
};
use parking_lot::Mutex;
use rolegate_program::{log_limiter::LogLimiter, logs::error_chain};
use rolegate_sql_store::{Database, FollowUp, StoreError, row};
use serde::Serialize;
use std::{collections::BTreeMap, sync::Arc, time::Duration};
use tokio::time::sleep;

const INTERVAL: Duration = Duration::from_mins(1);
/// The interval during an outage. It is short, so that the usage pause is stored soon after writes succeed again, and
/// even a process that has just started can read it.
const RETRY_INTERVAL: Duration = Duration::from_secs(10);
/// The maximum number of uses that one statement writes.
const MAX_BATCH: usize = 1000;

/// The number of writes that must succeed before an outage counts as over. By then, the other replicas have written the
/// uses that they could not write before.
const SUCCESSES: u8 = 2;

/// Limits how often a failure is logged, because failed writes are repeated every few seconds.
static FAILED: LogLimiter<UsageKind> = LogLimiter::silent_when_full(2, INTERVAL);

/// The kind of credential that was used. The store keeps the time of the last use of each token and of each user's
/// password.
#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord)]
pub(crate) enum UsageKind {
    /// A caller has presented a token. The time is stored as `last_used_at` of the token.
    Token,
    /// A user has logged in with the password. The time is stored as `last_login_at` of the user.
    Password,
}

/// The kind of process that has opened the store.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(super) enum Process {
    Service,
    /// A command, which uses no token and therefore does not store the time of its writes.
    Command,
}

/// Collects the uses of one kind in memory, and writes them to the database.
#[derive(Debug)]
pub(super) struct UsageWriter {
    kind: UsageKind,
    process: Process,
    unwritten: Mutex<Unwritten>,
}

#[derive(Debug, Default)]
struct Unwritten {
    /// The last use of each token, or the last login of each user, in Unix seconds by id.
    last: BTreeMap<i64, u64>,
    /// The time of this process's last successful write, in Unix seconds; `None` if it has written nothing yet.
    written_at: Option<u64>,
    outage: Option<Outage>,
}

/// An outage: uses cannot be written, or too few writes have succeeded since.
#[derive(Clone, Copy, Debug)]
struct Outage {
    /// The time of the last successful write before the outage, in Unix seconds.
    since: u64,
    successes_left: u8,
}

row! {
    /// A use that is to be written. It is serialized as a row for the statement.
    #[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord, Serialize)]
    struct Use {
        used_id: i64,
        /// The time of the use, in Unix seconds.
        used_at: i64,
    }
}

/// The parts of the statements that write the uses of one kind.
struct UsageStatements {
    /// Selects the rows to lock. The condition on their ids is appended.
    lock: &'static str,
    update: &'static str,
    condition: &'static str,
}

const TOKEN_USAGE: UsageStatements = UsageStatements {
    lock: "SELECT id FROM api_key WHERE id",
    update: "UPDATE api_key SET last_used_at = used_at",
    condition: " AND id = used_id AND coalesce(last_used_at, 0) < used_at RETURNING id",
};

const LOGIN_USAGE: UsageStatements = UsageStatements {
    lock: r#"SELECT id FROM "user" WHERE id"#,
    update: r#"UPDATE "user" SET last_login_at = used_at"#,
    condition: " AND id = used_id AND coalesce(last_login_at, 0) < used_at RETURNING id",
};

impl UsageWriter {
    pub(super) fn new(kind: UsageKind, process: Process) -> Self {
        Self {
            kind,
            process,
            unwritten: Mutex::default(),
        }
    }

    /// Starts a task that writes to this database at intervals, until the returned writer is dropped.
    pub(super) fn start(kind: UsageKind, process: Process, database: &Database) -> Arc<Self> {
        let writer = Arc::new(Self::new(kind, process));
        let weak = Arc::downgrade(&writer);
        let database = database.clone();
        tokio::spawn(async move {
            let mut wait = match process {
                // The first write comes at once, so that a process that starts during an outage notices the outage.
                Process::Service => Duration::ZERO,
                Process::Command => INTERVAL,
            };
            loop {
                sleep(wait).await;
                let Some(writer) = weak.upgrade() else { return };
                writer.write(&database).await;
                wait = writer.interval();
            }
        });
        writer
    }

    fn interval(&self) -> Duration {
        if self.unwritten.lock().outage.is_some() {
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

    /// Returns the time of the last use of this id that is not written yet, in Unix seconds.
    pub(super) fn unwritten(&self, id: i64) -> Option<u64> {
        self.unwritten.lock().last.get(&id).copied()
    }

    /// Returns the time of the last successful write before the outage, in Unix seconds; `None` if there is no outage.
    pub(super) fn failing_since(&self) -> Option<u64> {
        self.unwritten.lock().outage.map(|outage| outage.since)
    }

    /// Returns whether this writer also stores the time of each successful write.
    fn reports_writes(&self) -> bool {
        self.kind == UsageKind::Token && self.process == Process::Service
    }

    /// Writes the collected uses. In a service, the writer of token uses then also stores the time of this write, or
    /// begins an outage if the write has failed. After a failure, keeps the uses for the next write. A failure is
    /// logged at most once a minute for each kind of use.
    pub(super) async fn write(&self, database: &Database) {
        let uses = self.uses();
        let mut result = Ok(());
        for batch in uses.chunks(MAX_BATCH) {
            match self.write_batch(database, batch).await {
                Ok(()) => self.forget(batch),
                Err(error) => result = Err(error),
            }
        }
        if self.reports_writes() && result.is_ok() {
            result = self.record_write(database).await;
        }
        if let Err(error) = result {
            if FAILED.claim(self.kind) {
                let error = error_chain(&error);
                let what = match self.kind {
                    UsageKind::Token => "tokens",
                    UsageKind::Password => "passwords",
                };
                tracing::warn!(
                    error,
                    uses = uses.len(),
                    "cannot write when {what} were used"
                );
            }
            self.note_failure(database).await;
        }
    }

    /// Returns the uses that are not written yet, by ascending id, which [`Self::forget`] relies on.
    fn uses(&self) -> Vec<Use> {
        self.unwritten.lock().last.iter().map(new_use).collect()
    }

    /// Removes written uses from memory, unless a later use of the same id was added meanwhile.
    fn forget(&self, written: &[Use]) {
        self.unwritten
            .lock()
            .last
            .retain(|id, at| written.binary_search(&new_use((id, at))).is_err());
    }

    /// Stores the time of this successful write. During an outage, also stores the pause from the beginning of the
    /// outage until now, in place of the one that an earlier success stored. After [`SUCCESSES`] successful writes, the
    /// outage is over.
    async fn record_write(&self, database: &Database) -> Result<(), StoreError> {
        let record = database.statement(
            "INSERT INTO usage_write (id, written_at) VALUES (1, $NOW)
                ON CONFLICT (id) DO UPDATE SET written_at = excluded.written_at
                RETURNING written_at",
        );
        // This update changes no row, because no row has this id. It tests the table of the uses, because it fails if
        // the table is locked or cannot be written.
        let touch = "UPDATE api_key SET last_used_at = last_used_at WHERE id = -1";
        let mut then = vec![database.statement(touch), forget_pauses(database)];
        if let Some(since) = self.failing_since() {
            then.extend(record_pause(database, since));
        }
        let written = database
            .write_with(record, FollowUp::fixed(then))
            .await?
            .pop();
        let mut unwritten = self.unwritten.lock();
        unwritten.written_at = written.and_then(|at: i64| at.try_into().ok());
        if let Some(outage) = &mut unwritten.outage {
            outage.successes_left -= 1;
            if outage.successes_left == 0 {
                unwritten.outage = None;
            }
        }
        Ok(())
    }

    /// Begins or prolongs an outage, because uses cannot be written. Does nothing if this writer does not store the
    /// time of its writes. The outage counts from the last successful write of this process or, if this process has
    /// written nothing yet, of any process.
    pub(super) async fn note_failure(&self, database: &Database) {
        if !self.reports_writes() {
            return;
        }
        let since = match self.last_write() {
            Some(since) => Some(since),
            None => stored_write(database).await,
        };
        // If the time of the last write cannot be read, sessions cannot be read either, so none is considered idle.
        let Some(since) = since else { return };
        self.unwritten.lock().outage = Some(Outage {
            since,
            successes_left: SUCCESSES,
        });
    }

    /// Returns the time of this process's last successful write before the outage; `None` if it has written nothing
    /// yet.
    fn last_write(&self) -> Option<u64> {
        let unwritten = self.unwritten.lock();
        match unwritten.outage {
            Some(outage) => Some(outage.since),
            None => unwritten.written_at,
        }
    }

    async fn write_batch(&self, database: &Database, uses: &[Use]) -> Result<(), StoreError> {
        let sql = match self.kind {
            UsageKind::Token => TOKEN_USAGE,
            UsageKind::Password => LOGIN_USAGE,
        };
        // All writes lock rows by ascending id, so that they do not deadlock.
        let ids: Vec<i64> = uses.iter().map(|used| used.used_id).collect();
        let lock = database
            .statement(sql.lock)
            .push_any(&ids)
            .push(" ORDER BY id");
        let update = database
            .statement(sql.update)
            .push_rows(uses)
            .push(sql.condition);
        let nothing = FollowUp::<i64>::none();
        let written = database.write_locked(lock, update, nothing).await;
        written.map(drop)
    }
}

fn new_use((id, at): (&i64, &u64)) -> Use {
    Use {
        used_id: *id,
        used_at: encode_seconds(*at),
    }
}

/// Returns the time of the last successful write of any process; `None` if it cannot be read.
async fn stored_write(database: &Database) -> Option<u64> {
    let select = database.statement("SELECT written_at FROM usage_write");
    let written_at: i64 = database.read_optional(select).await.ok()??;
    written_at.try_into().ok()
}
