//! Defines what the host of a service needs of any store: whether the database answers, the state of its
//! connection pools, whether writes succeed, and how to close it.

use crate::StoreError;
use async_trait::async_trait;
use std::sync::Arc;

/// A database, as the host of a service sees it.
#[async_trait]
pub trait Store: Send + Sync + 'static {
    /// Succeeds if the database answers a statement that reads a table, as requests do. Fails if an open SQLite
    /// file was deleted or replaced.
    async fn ping(&self) -> Result<(), StoreError>;

    /// Returns the state of the connection pools, and the reason why writes fail, if they do.
    fn status(&self) -> StoreStatus;

    /// Waits for running statements and closes the connections. The connection of a PostgreSQL commit that gets
    /// no answer stays open, and so do those to an SQLite file that was deleted or replaced.
    async fn close(&self);
}

/// The state of a store at one moment.
#[derive(Debug, Default)]
pub struct StoreStatus {
    /// The connection pools of the store.
    pub pools: Vec<PoolStats>,
    /// The name of the database and the reason why writes fail; `None` if writes succeed, or if none was tried
    /// yet.
    pub write_problem: Option<Arc<str>>,
}

/// The state of a connection pool at one moment.
#[derive(Clone, Copy, Debug)]
pub struct PoolStats {
    /// The purpose of the pool, such as `readers`, as a label of metrics.
    pub name: &'static str,
    /// The number of open connections.
    pub open: usize,
    /// The number of open connections that run no statement.
    pub idle: usize,
    /// The maximum number of open connections.
    pub limit: usize,
}
