//! The type that implements the traits of the store, with the writers that work in the background.

use super::{
    audit::sealing::Sealer,
    usage_writer::{Process, UsageWriter},
};
use crate::store::{StoreError, UsageKind};
use async_trait::async_trait;
use rolegate_sql_store::{Database, Statement, Store, StoreStatus, TableRow, Timed};
use rolegate_telemetry::logs::error_chain;
use std::sync::Arc;

/// The store in an SQL database. Uses of credentials and events without a transaction wait in memory, and are written
/// after the requests that caused them.
pub(super) struct SqlStore {
    pub(super) database: Database,
    /// Stores the times at which tokens were last used.
    pub(super) token_usage: Arc<UsageWriter>,
    /// Stores the times at which users last logged in.
    login_usage: Arc<UsageWriter>,
    pub(super) sealer: Sealer,
}

impl SqlStore {
    pub(super) fn start(database: Database, process: Process) -> Arc<Self> {
        Arc::new(Self {
            token_usage: UsageWriter::start(UsageKind::Token, process, &database),
            login_usage: UsageWriter::start(UsageKind::Password, process, &database),
            sealer: Sealer::new(database.clone()),
            database,
        })
    }

    pub(super) fn usage(&self, kind: UsageKind) -> &UsageWriter {
        match kind {
            UsageKind::Token => &self.token_usage,
            UsageKind::Password => &self.login_usage,
        }
    }

    /// Returns the only row that a statement reads, and the time of the database; `None` if it reads no row.
    pub(super) async fn read_one<R: TableRow>(
        &self,
        select: Statement,
    ) -> Result<Timed<Option<R>>, StoreError> {
        let read = self.database.read_timed(select).await?;
        Ok(read.map(|mut rows| rows.pop()))
    }
}

#[async_trait]
impl Store for SqlStore {
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
