//! Runs the SQLite files of a simulation in its only thread, and disturbs their reads and writes. This module is
//! compiled only with `--cfg simulation`.
//!
//! sqlx runs the statements of a connection on a thread of their own. In a simulation, the caller does nothing else
//! until that thread has answered ([`at_once`]). So a statement takes no simulated time, and a seed always gives
//! the same run. Only the delays of `faults` take time, before and after a read or a transaction.

mod faults;

pub use faults::{Plan, plan, reset};
pub(crate) use faults::{delay_or_refuse, read, write};

use parking_lot::Mutex;
use sqlx::{
    Connection as _, SqliteConnection,
    sqlite::{SqliteConnectOptions, SqlitePoolOptions},
};
use std::{
    cell::Cell,
    mem,
    ops::{Deref, DerefMut},
    path::Path,
    pin::pin,
    sync::Arc,
    task::{Context, Poll, Wake, Waker},
    thread::{self, Thread},
};
use tokio::task::unconstrained;

/// When the simulation begins, in Unix milliseconds.
const EPOCH: i64 = 1_800_000_000_000;

thread_local! {
    /// How many milliseconds the clock was stepped, and the latest time that it has shown since then.
    static CLOCK: Cell<(i64, i64)> = Cell::default();
}

/// Steps the clock of the databases by this many seconds.
pub fn step_clock(seconds: i64) {
    CLOCK.set((CLOCK.get().0 + seconds * 1000, 0));
}

/// Returns the time of the databases' clock, in Unix milliseconds, after this time since the simulation began. The time
/// never goes back between two steps, although the clocks of hosts differ within a tick.
pub(crate) fn stepped_time(elapsed: i64) -> i64 {
    let (stepped, shown) = CLOCK.get();
    let now = (EPOCH + elapsed + stepped).max(shown);
    CLOCK.set((stepped, now));
    now
}

/// Runs a future to its end while the thread does nothing else.
pub(crate) async fn at_once<F: Future>(statement: F) -> F::Output {
    block_on(statement)
}

fn block_on<F: Future>(future: F) -> F::Output {
    // The task runs without a limit, because the runtime renews the limit of a task only when the task waits.
    let mut future = pin!(unconstrained(future));
    let waker = Waker::from(Arc::new(Unpark(thread::current())));
    loop {
        match future.as_mut().poll(&mut Context::from_waker(&waker)) {
            Poll::Ready(output) => return output,
            Poll::Pending => thread::park(),
        }
    }
}

struct Unpark(Thread);

impl Wake for Unpark {
    fn wake(self: Arc<Self>) {
        self.0.unpark();
    }
}

/// Stands for a pool of sqlx, whose connections are returned by tasks that wait for the threads of the connections.
#[derive(Clone, Debug)]
pub(crate) struct SqlitePool {
    /// The pool that it stands for, which never connects.
    original: sqlx::SqlitePool,
    idle: Arc<Mutex<Vec<SqliteConnection>>>,
}

/// Returns a pool with these options, which connects when it needs a connection.
#[expect(clippy::unused_async, reason = "as the pool that it stands for")]
pub(crate) async fn connect(
    pool: SqlitePoolOptions,
    options: SqliteConnectOptions,
) -> sqlx::Result<SqlitePool> {
    Ok(SqlitePool {
        original: pool.connect_lazy_with(options),
        idle: Arc::default(),
    })
}

impl Deref for SqlitePool {
    type Target = sqlx::SqlitePool;

    fn deref(&self) -> &sqlx::SqlitePool {
        &self.original
    }
}

impl SqlitePool {
    /// Returns the name of the file, such as `users.db`.
    fn file_name(&self) -> String {
        let options = self.original.connect_options();
        let name = Path::new(options.get_filename()).file_name();
        name.unwrap_or_default().to_string_lossy().into_owned()
    }

    pub(crate) async fn acquire(&self) -> sqlx::Result<PooledConnection> {
        let idle = self.idle.lock().pop();
        let connection = match idle {
            Some(connection) => connection,
            None => {
                let options: &SqliteConnectOptions = &self.original.connect_options();
                at_once(SqliteConnection::connect_with(options)).await?
            }
        };
        Ok(PooledConnection {
            connection: Some(connection),
            pool: self.clone(),
        })
    }

    /// Begins a snapshot, with the faults of a read.
    pub(crate) async fn begin(&self) -> sqlx::Result<Transaction> {
        delay_or_refuse(&self.file_name()).await?;
        self.begin_with("BEGIN").await
    }

    pub(crate) async fn begin_with(&self, begin: &'static str) -> sqlx::Result<Transaction> {
        let mut connection = self.acquire().await?;
        execute(&mut connection, begin).await?;
        Ok(Transaction {
            connection,
            is_open: true,
        })
    }
}

async fn execute(connection: &mut SqliteConnection, sql: &'static str) -> sqlx::Result<()> {
    at_once(sqlx::raw_sql(sql).execute(connection))
        .await
        .map(drop)
}

/// A connection that is returned to its pool when it is dropped.
#[derive(Debug)]
pub(crate) struct PooledConnection {
    /// The connection; `None` only while it is dropped.
    connection: Option<SqliteConnection>,
    pool: SqlitePool,
}

impl Drop for PooledConnection {
    fn drop(&mut self) {
        let connection = self.connection.take();
        self.pool.idle.lock().extend(connection);
    }
}

impl Deref for PooledConnection {
    type Target = SqliteConnection;

    fn deref(&self) -> &SqliteConnection {
        self.connection.as_ref().expect("not dropped")
    }
}

impl DerefMut for PooledConnection {
    fn deref_mut(&mut self) -> &mut SqliteConnection {
        self.connection.as_mut().expect("not dropped")
    }
}

/// A transaction that is rolled back when it is dropped.
#[derive(Debug)]
pub(crate) struct Transaction {
    connection: PooledConnection,
    is_open: bool,
}

impl Transaction {
    pub(crate) async fn commit(mut self) -> sqlx::Result<()> {
        execute(&mut self.connection, "COMMIT").await?;
        self.is_open = false;
        Ok(())
    }
}

impl Drop for Transaction {
    fn drop(&mut self) {
        if mem::take(&mut self.is_open) {
            let _ = block_on(execute(&mut self.connection, "ROLLBACK"));
        }
    }
}

impl Deref for Transaction {
    type Target = SqliteConnection;

    fn deref(&self) -> &SqliteConnection {
        &self.connection
    }
}

impl DerefMut for Transaction {
    fn deref_mut(&mut self) -> &mut SqliteConnection {
        &mut self.connection
    }
}
