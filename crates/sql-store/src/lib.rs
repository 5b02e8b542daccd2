//! PostgreSQL and SQLite databases for stores; knows no tables.
//!
//! - [`DatabaseUrl`], [`DatabaseTarget`]: a setting such as `DATABASE_URL`, parsed and validated;
//!   [`DatabaseSettings`]: its flags.
//! - [`Reads`]: what rows of PostgreSQL must prove before they count.
//! - [`Tables`]: the tables of one service, as migrations.
//! - [`DatabaseUrl::open`], [`Database`], [`OpenError`]: opens a database and migrates its schema.
//! - [`Backoff`]: the delays between tries; `retry` also has the deadlines of the steps.
//! - [`postgres`], [`sqlite`]: connection pools; `same_file`: identity of files.
//! - [`Schema`], [`Inspection`]: the state of a database, read without changing it; [`check_database`]
//!   reports on it for `doctor`.
//! - [`Statement`]: SQL for either engine; [`LongTransaction`]: many of them, for commands.
//! - [`with_timeout`], [`StoreError`]: statements, their timeout and their errors; `transient`,
//!   `sqlite_code` and `pooler` classify these; `uptime`: the time since the boot.
//! - `write`: writes without an answer, and whether the store can write.
//! - [`StoreStatus`], [`PoolStats`], [`register_metrics`]: the state of a store, as metrics.
//! - [`BatchedReads`]: concurrent reads by key share one statement; [`Timed`]: the time of the database.

mod database;
mod database_check;
mod error;
mod inspection;
mod long_transaction;
mod metrics;
mod open;
mod pool_stats;
mod pooler;
pub mod postgres;
mod read;
mod retry;
mod same_file;
mod schema;
mod settings;
pub mod sqlite;
mod sqlite_code;
mod statement;
mod statement_builder;
mod tables;
mod transient;
mod uptime;
mod url;
mod write;

pub use database::Database;
pub use database_check::check_database;
pub use error::OpenError;
pub use inspection::{Inspection, Probe};
pub use long_transaction::LongTransaction;
pub use metrics::register_metrics;
pub use pool_stats::{PoolStats, StoreStatus};
pub use read::{BatchedReads, ReadByKeys, Reads, RowsByKey, Timed};
pub use retry::Backoff;
pub use schema::Schema;
pub use settings::DatabaseSettings;
pub use statement::{QueryFuture, STATEMENT_TIMEOUT, StoreError, with_timeout};
pub use statement_builder::{Connection, Statement, TableRow, Value};
pub use tables::{Migrations, Tables};
pub use url::{DatabaseTarget, DatabaseUrl, InvalidUrl};
pub use write::Commit;
