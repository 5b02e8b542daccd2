//! Connects to PostgreSQL servers.
//!
//! `open.rs` checks the server (`server_checks.rs`), migrates the schema and creates the pool. `pool.rs` lends
//! connections to statements. `connector.rs` opens the connections of the pool: it finds the primary among the
//! servers of a URL, and sets what every session needs (`session_settings.rs`). `primary.rs` refuses the rows
//! of any server but the primary. Writes are in `pool/writes.rs`, because their commits may wait for a standby.

mod connector;
mod open;
mod pool;
mod primary;
mod server_checks;
mod session_settings;

pub(crate) use open::{MIGRATION_TIMEOUT, connect, open};
pub use pool::Pool;
pub(crate) use primary::fetch_from_primary;
