//! PostgreSQL and SQLite databases for stores; knows no tables.
//!
//! - [`DatabaseUrl`], [`DatabaseTarget`]: a setting such as `DATABASE_URL`, parsed and validated;
//!   [`DatabaseSettings`]: its flags.
//! - [`ReadConsistency`]: what rows of PostgreSQL must prove before they count.
//! - [`Tables`], [`Schema`]: the tables of one service, as migrations, compared with those of a database.
//! - [`DatabaseUrl::open`], [`Database`]: opens a database and migrates its schema.
//! - [`Backoff`]: the delays between tries; `retry` also has the deadlines of the parts of one.
//! - [`postgres`], [`sqlite`]: connection pools and files.
//! - [`Inspection`]: the state of a database, read without changing it; [`Facts`]: what a service reads for it;
//!   [`check_database`] reports on it for `doctor`.
//! - [`Statement`]: SQL for either engine; [`row!`], [`TableRow`]: what it returns; [`LongTransaction`]: many of them,
//!   for commands.
//! - `span`: statements in progress and their timeout; [`StoreError`]: their errors, which `sql_error`
//!   classifies; `uptime`: the time since the boot.
//! - `write`: writes without an answer, and whether the store can write.
//! - [`Store`], [`register_metrics`]: what the stores of all services have in common, and their metrics.
//! - [`BatchedReads`]: concurrent reads by key share one statement; [`Timed`]: the time of the database.

#![cfg_attr(
    test,
    expect(
        clippy::too_many_lines,
        reason = "a test tells its story in order, with its values in sight"
    )
)]

mod batched_reads;
mod database;
mod dialect;
mod error;
mod inspection;
mod inspection_report;
mod long_transaction;
mod metrics;
mod open;
pub mod postgres;
mod read_consistency;
mod retry;
mod row;
mod schema;
mod span;
mod sql_error;
pub mod sqlite;
mod statement;
mod store;
mod tables;
#[cfg(test)]
mod test_support;
mod uptime;
mod url;
mod write;

#[doc(hidden)] // for `row!`
pub use sqlx;

pub use batched_reads::{BatchLabels, BatchedReads, ReadByKeys, RowsByKey};
pub use database::{Database, Engine, FollowUp};
pub use error::StoreError;
pub use inspection::{Facts, InspectedTables, Inspection};
pub use inspection_report::check_database;
pub use long_transaction::LongTransaction;
pub use metrics::register_metrics;
pub use read_consistency::ReadConsistency;
pub use retry::Backoff;
pub use row::{ColumnValue, Row, TableRow, Timed};
pub use schema::Schema;
pub use span::{QueryFuture, STATEMENT_TIMEOUT};
pub use sqlite::FileClock;
pub use statement::{Statement, Value};
pub use store::{PoolStats, Store, StoreStatus};
pub use tables::{Migration, Tables};
pub use uptime::{advance_clock, unix_millis};
pub use url::{DatabaseSettings, DatabaseTarget, DatabaseUrl};
