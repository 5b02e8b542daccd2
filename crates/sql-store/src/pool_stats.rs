//! How connections are used.

/// A pool of connections at one moment.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct PoolStats {
    /// What the pool is for.
    pub name: &'static str,
    /// Connections that are open.
    pub open: usize,
    /// Those of them that nobody uses.
    pub idle: usize,
    /// The most that may be open.
    pub limit: usize,
}

impl PoolStats {
    pub(crate) fn of<D: sqlx::Database>(name: &'static str, pool: &sqlx::Pool<D>) -> Self {
        let size = |count: u32| usize::try_from(count).unwrap_or(usize::MAX);
        let open = size(pool.size());
        let limit = size(pool.options().get_max_connections());
        // The two are counted one after the other, while connections come and go.
        Self { name, open, idle: pool.num_idle().min(open), limit }
    }
}
