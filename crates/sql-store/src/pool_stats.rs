//! Snapshots of stores and of their connection pools.

use std::sync::Arc;

/// A store at one moment.
#[derive(Clone, Debug, Default)]
pub struct StoreStatus {
    /// Its connection pools.
    pub pools: Vec<PoolStats>,
    /// The database, and why writes fail; `None` if they succeed, or none was tried.
    pub write_problem: Option<Arc<str>>,
}

/// A connection pool at one moment.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
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

impl PoolStats {
    pub(crate) fn of<D: sqlx::Database>(name: &'static str, pool: &sqlx::Pool<D>) -> Self {
        let size = |count: u32| usize::try_from(count).unwrap_or(usize::MAX);
        let open = size(pool.size());
        let limit = size(pool.options().get_max_connections());
        // The two are not read atomically.
        Self { name, open, idle: pool.num_idle().min(open), limit }
    }
}
