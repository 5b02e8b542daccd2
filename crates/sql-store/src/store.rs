//! What the stores of all services have in common.

use crate::StoreError;
use async_trait::async_trait;
use std::sync::Arc;

/// A database, as its host sees it.
#[async_trait]
pub trait Store: Send + Sync + 'static {
    /// Succeeds if the database answers a statement that reads a table, as requests do.
    async fn ping(&self) -> Result<(), StoreError>;

    /// The state of the connection pools, and of the last write.
    fn status(&self) -> StoreStatus;

    /// Finishes running statements and closes every connection.
    async fn close(&self);
}

/// A store at one moment.
#[derive(Debug, Default)]
pub struct StoreStatus {
    /// Its connection pools.
    pub pools: Vec<PoolStats>,
    /// The database, and why writes fail; `None` if they succeed, or none was tried.
    pub write_problem: Option<Arc<str>>,
}

/// A connection pool at one moment.
#[derive(Clone, Copy, Debug)]
pub struct PoolStats {
    /// The purpose of the pool.
    pub name: &'static str,
    /// Open connections.
    pub open: usize,
    /// Open connections that run no statement.
    pub idle: usize,
    /// Most connections that may be open.
    pub limit: usize,
}
