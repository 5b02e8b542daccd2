//! PostgreSQL servers: opening, and the connection pool.

mod connector;
mod open;
mod pool;
mod primary;
mod server_checks;
mod session_settings;

pub(crate) use open::{MIGRATION_TIMEOUT, OpenOptions, connect, open};
pub use pool::Pool;
pub(crate) use primary::fetch_from_primary;
