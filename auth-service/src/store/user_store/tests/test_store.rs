//! The store of the tests of the use cases: the real store on an SQLite file. A test can stop its clock, and make its
//! calls fail or wait. In tests, `store.rs` shows this type in place of the real one.
//!
//! The store has a runtime of its own, and a call blocks the thread of the test until it is answered. So a test may
//! pause the time of its runtime: no time passes for it while SQLite works.

mod calls;

use super::super::{TABLES, UserStore, usage_writer::Process};
use crate::store::{OperatorDatabase, UsageKind};
use parking_lot::Mutex;
use rolegate_program::failure::Failure;
use rolegate_sql_store::{DatabaseUrl, FileClock, Statement};
use std::{
    mem,
    path::Path,
    sync::Arc,
    thread,
    time::{Duration, Instant},
};
use tempfile::TempDir;
use tokio::runtime::{Builder, Runtime};

/// How far the clock of the store may advance until it is set again. It must be less than a second, which is the unit of
/// the times in the database.
const MAX_CLOCK_ADVANCE: Duration = Duration::from_millis(200);

/// The real store, as a test of the use cases sees it.
pub(crate) struct TestStore {
    sql: Arc<UserStore>,
    /// The means by which a test controls the store; `None` if the store was opened for a command.
    control: Option<Control>,
}

struct Control {
    runtime: Arc<StoreRuntime>,
    state: Mutex<State>,
    _folder: TempDir,
}

#[derive(Debug, Default)]
struct State {
    /// The time of the store in Unix seconds, which only the test changes.
    now: u64,
    /// When the clock of the file was last set to `now`; `None` if it was not.
    clock_set: Option<Instant>,
    is_down: bool,
    is_read_only: bool,
    /// The name of the call that fails.
    failing: Option<&'static str>,
    /// The name of the call that never ends.
    stalled: Option<&'static str>,
    /// The number of calls that removed old rows.
    removals: usize,
    revokes_before_token: bool,
}

/// A runtime whose tasks run only while the thread of a test waits for a call.
struct StoreRuntime(Option<Runtime>);

impl StoreRuntime {
    fn new() -> Self {
        let runtime = Builder::new_current_thread().enable_all().build();
        Self(Some(runtime.expect("a runtime")))
    }

    /// Runs a call to its end on this runtime. It needs a thread, because the thread of a test is in another runtime.
    fn run<F: Future<Output: Send>>(&self, call: impl FnOnce() -> F + Send) -> F::Output {
        let runtime = self.0.as_ref().expect("not dropped");
        let run = || runtime.block_on(call());
        thread::scope(|scope| scope.spawn(run).join()).expect("no panic")
    }
}

impl Drop for StoreRuntime {
    fn drop(&mut self) {
        if let Some(runtime) = self.0.take() {
            // The runtime of a test may drop this one, which must then not wait for its threads.
            runtime.shutdown_background();
        }
    }
}

/// Opens the store for a service. Every call is that of the real store.
pub(crate) async fn open(url: &DatabaseUrl) -> Result<Arc<TestStore>, Failure> {
    let sql = super::super::open(url).await?;
    Ok(Arc::new(TestStore { sql, control: None }))
}

/// Opens the store for a command. Every call is that of the real store.
pub(crate) async fn open_beside(
    url: &DatabaseUrl,
    clock: FileClock,
) -> Result<(Arc<TestStore>, OperatorDatabase), Failure> {
    let (sql, database) = super::super::open_beside(url, clock).await?;
    Ok((Arc::new(TestStore { sql, control: None }), database))
}

impl TestStore {
    /// Opens a new store whose clock stands at this time.
    pub(crate) fn open_at(unix_seconds: u64) -> Self {
        let runtime = StoreRuntime::new();
        let memory = Path::new("/dev/shm");
        let folder = if memory.is_dir() {
            tempfile::tempdir_in(memory)
        } else {
            tempfile::tempdir()
        };
        let folder = folder.expect("a folder");
        let url = DatabaseUrl::from_file("DATABASE_URL", folder.path().join("users.db"));
        let sql = runtime.run(async || {
            let database = url.open(&TABLES, FileClock::Advance).await;
            UserStore::start(database.expect("opened"), Process::Service)
        });
        let store = Self {
            sql,
            control: Some(Control {
                runtime: Arc::new(runtime),
                state: Mutex::default(),
                _folder: folder,
            }),
        };
        store.set_time(unix_seconds);
        store.write_uses(UsageKind::Token);
        store
    }

    fn control(&self) -> &Control {
        self.control.as_ref().expect("opened by a test")
    }

    /// Sets the clock of the store, where it stands until it is set again.
    pub(crate) fn set_time(&self, unix_seconds: u64) {
        let mut state = self.control().state.lock();
        state.now = unix_seconds;
        state.clock_set = None;
    }

    /// Makes every call fail with `StoreError::TimedOut` from now on, or succeed again.
    pub(crate) fn set_down(&self, is_down: bool) {
        self.control().state.lock().is_down = is_down;
    }

    /// Makes the call of this name fail from now on.
    pub(crate) fn set_failing(&self, call: &'static str) {
        self.control().state.lock().failing = Some(call);
    }

    /// Makes snapshots wait forever from now on, as they do while the record is locked.
    pub(crate) fn stall_snapshots(&self) {
        self.control().state.lock().stalled = Some("snapshot");
    }

    /// Makes restrictions of sessions to cookies wait forever from now on, as they do while the table is locked.
    pub(crate) fn stall_restrictions(&self) {
        self.control().state.lock().stalled = Some("restrict_to_cookies");
    }

    /// Makes the store read-only or writable. While it is read-only, uses of tokens are not written, and sessions can
    /// neither be restricted nor ended.
    pub(crate) fn set_read_only(&self, is_read_only: bool) {
        if is_read_only {
            // A service writes once a minute, so its last write was just now.
            self.write_uses(UsageKind::Token);
        }
        self.control().state.lock().is_read_only = is_read_only;
        if !is_read_only {
            // A pause ends with the second successful write.
            for kind in [UsageKind::Token, UsageKind::Token, UsageKind::Password] {
                self.write_uses(kind);
            }
        }
    }

    /// Revokes the tokens of a user just before the next opaque token of that user is inserted.
    pub(crate) fn revoke_before_next_token(&self) {
        self.control().state.lock().revokes_before_token = true;
    }

    /// Revokes the tokens of a user who gets new tokens, if the test wants it.
    fn revoke_before_token(&self, user_id: i64) {
        let Some(Control { state, .. }) = &self.control else {
            return;
        };
        if mem::take(&mut state.lock().revokes_before_token) {
            let now = state.lock().now;
            self.set_tokens_not_before(user_id, now + 1);
        }
    }

    /// Sets `tokens_not_before` to a time that only a clock that was ahead could have stored.
    pub(crate) fn set_tokens_not_before(&self, id: i64, unix_seconds: u64) {
        let set = r#"UPDATE "user" SET tokens_not_before = $2 WHERE id = $1 RETURNING id"#;
        let time = i64::try_from(unix_seconds).expect("a time");
        self.change(set, |set| set.bind(id).bind(time));
    }

    /// Removes the rows up to this revision, as retention does.
    pub(crate) fn remove_through(&self, revision: i64) {
        for delete in [
            "DELETE FROM audit WHERE revision <= $1 RETURNING revision",
            "DELETE FROM audit_seal WHERE revision < $1 RETURNING revision",
        ] {
            self.change(delete, |delete| delete.bind(revision));
        }
    }

    /// Makes the sealed row of this revision unreadable.
    pub(crate) fn damage(&self, revision: i64) {
        let damage = "UPDATE audit SET details = '' WHERE revision = $1 RETURNING revision";
        self.change(damage, |damage| damage.bind(revision));
    }

    /// Makes a session valid as a bearer token, as the previous release did when it created one.
    pub(crate) fn lift_restriction(&self, session_id: i64) {
        let lift = "UPDATE api_key SET cookie_only = 0 WHERE id = $1 RETURNING id";
        self.change(lift, |lift| lift.bind(session_id));
    }

    /// Returns the number of calls that removed old rows.
    pub(crate) fn removals(&self) -> usize {
        self.control().state.lock().removals
    }

    /// Stores an addition to this user at the present time of the store.
    pub(crate) fn add_to(&self, user_id: i64) {
        let now = i64::try_from(self.control().state.lock().now).expect("a time");
        let add = "INSERT INTO addition (user_id, at) VALUES ($1, $2) RETURNING at";
        self.change(add, |add| add.bind(user_id).bind(now));
    }

    /// Returns the number of stored additions, whether or not they still count.
    pub(crate) fn additions_kept(&self) -> i64 {
        let count = self.sql.database.statement("SELECT count(*) FROM addition");
        let counted = self.control().runtime.run(|| self.sql.database.read(count));
        counted.expect("counted").pop().expect("a number")
    }

    /// Runs a statement that changes rows. Panics if it changes none.
    fn change(&self, sql: &'static str, bind: impl FnOnce(Statement) -> Statement) {
        let statement = bind(self.sql.database.statement(sql));
        let changed = self
            .control()
            .runtime
            .run(|| self.sql.database.execute(statement));
        assert!(changed.expect("written") > 0, "{sql}");
    }

    /// Writes the uses of this kind, which a service does once a minute.
    fn write_uses(&self, kind: UsageKind) {
        self.run(self.sql.usage(kind).write(&self.sql.database));
    }

    /// Runs a call at the present time of the store.
    fn run<F: Future<Output: Send> + Send>(&self, call: F) -> F::Output {
        self.control().runtime.run(async || {
            self.stop_clock().await;
            call.await
        })
    }

    /// Sets the clock of the file to the time of the store, unless it still shows this time.
    async fn stop_clock(&self) {
        let now = {
            let mut state = self.control().state.lock();
            if state
                .clock_set
                .is_some_and(|set| set.elapsed() < MAX_CLOCK_ADVANCE)
            {
                return;
            }
            state.clock_set = Some(Instant::now());
            i64::try_from(state.now * 1000).expect("a time")
        };
        let set = "UPDATE clock SET zero = $1 - $UPTIME RETURNING id";
        let set = self.sql.database.statement(set).bind(now);
        self.sql.database.execute(set).await.expect("set");
    }
}
