//! The store in an SQL database, and what it writes behind the requests that caused it.

use super::{audit::sealing::Sealer, token_usage::TokenUsage};
use crate::store::{StoreError, UsageKind, UserStore, tables::COLUMNS};
use async_trait::async_trait;
use rolegate_sql_store::{Database, Statement, Store, StoreStatus};
use rolegate_telemetry::logs::error_chain;
use std::sync::Arc;

/// The store, and what waits to be written behind the requests that caused it.
pub(super) struct SqlStore {
    pub(super) database: Database,
    /// The last uses of tokens and of passwords, by [`UsageKind`].
    pub(super) token_usage: [Arc<TokenUsage>; 2],
    pub(super) sealer: Sealer,
}

impl SqlStore {
    pub(super) fn of(database: Database, is_service: bool) -> Arc<dyn UserStore> {
        let usage = [UsageKind::Token, UsageKind::Password]
            .map(|used| TokenUsage::start(used, is_service, &database));
        Arc::new(Self {
            sealer: Sealer::new(database.clone()),
            token_usage: usage,
            database,
        })
    }

    pub(super) fn select(&self) -> Statement {
        self.database
            .statement("SELECT ")
            .push(COLUMNS)
            .push(r#" FROM "user""#)
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
        for usage in &self.token_usage {
            usage.write(&self.database).await;
        }
        if let Err(error) = self.sealer.write_pending_events().await {
            tracing::warn!(
                error = error_chain(&error),
                "cannot record the last sign-ins"
            );
        }
        self.database.close().await;
    }
}
