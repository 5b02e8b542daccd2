//! The store of users, their credentials and the record, in SQL for PostgreSQL and SQLite.
//!
//! This file opens the store, keeps the uses of credentials, and has what its methods share. One conformance suite,
//! `store/tests.rs`, checks the methods on both engines. Reads by key take many keys, so that `BatchedReads` can merge
//! concurrent reads. They return rows in any order, and omit unknown keys. Most writes lock rows first, so that their
//! conditions see what other transactions have committed (`locked_writes`), and record the change in the same
//! transaction (`audit`).
//!
//! - `users` reads users, and `changes` changes them. `tokens` has API keys, sessions, password links and pending
//!   sign-ins, `second_factor` has second factors, `groups` has groups and memberships, and `audit` has the record.
//! - `user_rows` has the statements that read users, and `encoding` converts the numbers in columns.
//! - `search_keys` writes the keys by which usernames are searched, and `additions` limits how much is added to a user.
//! - `usage_writer` stores the times of the last uses of tokens and passwords in the background, and `usage_pauses`
//!   stores the times during which that was impossible.

mod additions;
pub(super) mod audit;
mod changes;
pub(super) mod encoding;
mod groups;
mod locked_writes;
mod search_keys;
mod second_factor;
pub(super) mod tokens;
mod usage_pauses;
mod usage_writer;
pub(super) mod user_rows;
mod users;

pub(crate) use audit::{AuditFilter, DAY_SECONDS, SEAL_INTERVAL, Snapshot};
pub(crate) use usage_writer::UsageKind;

use super::{StoreError, operator_database::OperatorDatabase, tables::TABLES};
use async_trait::async_trait;
use audit::sealing::Sealer;
use rolegate_program::{failure::Failure, logs::error_chain};
use rolegate_sql_store::{
    Database, DatabaseUrl, FileClock, Statement, Store, StoreStatus, TableRow, Timed,
};
use std::sync::Arc;
use usage_writer::{Process, UsageWriter};

/// The label of this store in metrics.
pub(crate) const NAME: &str = "users";

/// The store of users. Uses of credentials and events without a transaction wait in memory, and are written after the
/// requests that caused them.
pub(crate) struct UserStore {
    database: Database,
    /// Stores the times at which tokens were last used.
    token_usage: Arc<UsageWriter>,
    /// Stores the times at which users last logged in.
    login_usage: Arc<UsageWriter>,
    sealer: Sealer,
}

/// Opens the store for a service and migrates its schema: see [`DatabaseUrl::open`].
pub(crate) async fn open(url: &DatabaseUrl) -> Result<Arc<UserStore>, Failure> {
    let database = url.open(&TABLES, FileClock::Advance).await?;
    Ok(UserStore::start(database, Process::Service))
}

/// Opens the database for a command, which may run beside a service, and migrates its schema. Returns the store, and an
/// [`OperatorDatabase`] for the same database.
pub(crate) async fn open_beside(
    url: &DatabaseUrl,
    clock: FileClock,
) -> Result<(Arc<UserStore>, OperatorDatabase), Failure> {
    let database = url.open(&TABLES, clock).await?;
    let store = UserStore::start(database.clone(), Process::Command);
    Ok((store, OperatorDatabase { database }))
}

impl UserStore {
    fn start(database: Database, process: Process) -> Arc<Self> {
        Arc::new(Self {
            token_usage: UsageWriter::start(UsageKind::Token, process, &database),
            login_usage: UsageWriter::start(UsageKind::Password, process, &database),
            sealer: Sealer::new(database.clone()),
            database,
        })
    }

    /// Keeps the time of a use, in Unix seconds, in memory until it is written to the database, and returns at once.
    /// `id` is the id of a token or of a user. The last uses of all tokens and users are written together once a
    /// minute, and by `close`. A stored time never decreases.
    pub(crate) fn note_use(&self, kind: UsageKind, id: i64, at: u64) {
        self.usage(kind).note(id, at);
    }

    /// Returns the time of the last use of this token or user, in Unix seconds, if this process has not written it yet;
    /// otherwise `None`.
    pub(crate) fn unwritten_use(&self, kind: UsageKind, id: i64) -> Option<u64> {
        self.usage(kind).unwritten(id)
    }

    /// Returns the time at which uses of tokens could last be written, in Unix seconds; `None` if they can be written
    /// now.
    ///
    /// For a while after writes succeed again, this function still returns the time. Other replicas may not yet have
    /// written the uses that they kept in memory.
    pub(crate) fn unwritten_since(&self) -> Option<u64> {
        self.token_usage.failing_since()
    }

    fn usage(&self, kind: UsageKind) -> &UsageWriter {
        match kind {
            UsageKind::Token => &self.token_usage,
            UsageKind::Password => &self.login_usage,
        }
    }

    /// Returns the only row that a statement reads, and the time of the database; `None` if it reads no row.
    async fn read_one<R: TableRow>(
        &self,
        select: Statement,
    ) -> Result<Timed<Option<R>>, StoreError> {
        let read = self.database.read_timed(select).await?;
        Ok(read.map(|mut rows| rows.pop()))
    }
}

#[async_trait]
impl Store for UserStore {
    async fn ping(&self) -> Result<(), StoreError> {
        self.database.ping().await
    }

    fn status(&self) -> StoreStatus {
        self.database.status()
    }

    async fn close(&self) {
        self.token_usage.write(&self.database).await;
        self.login_usage.write(&self.database).await;
        if let Err(error) = self.sealer.write_pending_events().await {
            tracing::warn!(
                error = error_chain(&error),
                "cannot record the last sign-ins"
            );
        }
        self.database.close().await;
    }
}

#[cfg(test)]
pub(super) mod tests;
