//! Opens PostgreSQL and SQLite databases for the stores of the services, and runs their statements. This crate
//! knows no tables: each service passes its own.
//!
//! How a database is opened:
//!
//! - [`DatabaseSettings`] has the flags; [`DatabaseUrl`] and [`DatabaseTarget`] (`url.rs`) hold the parsed and
//!   validated value of a setting such as `DATABASE_URL`.
//! - [`Tables`] are the tables of one service, as migrations. [`Schema`] compares them with the tables of a
//!   database.
//! - [`DatabaseUrl::open`] (`open.rs`) opens the database, migrates its schema, and retries with [`Backoff`].
//!   [`postgres`] and [`sqlite`] have the connection pools and the files.
//! - [`DatabaseUrl::inspect`] reads the state of a database without changing it: see [`Inspection`] and
//!   [`Facts`]. [`check_database`] reports on it for `doctor`.
//!
//! How a statement runs:
//!
//! - A store builds a [`Statement`], whose SQL both engines understand, and passes it to [`Database`]. The rows
//!   become structs of [`row!`] or other [`TableRow`]s. [`Timed`] adds the time of the database.
//! - [`BatchedReads`] lets concurrent reads by key share one statement. [`ReadConsistency`] says which server
//!   may answer a read.
//! - `span.rs` gives a statement of a traced request its span. `sql_error.rs` classifies errors, and [`StoreError`]
//!   is what the caller gets.
//! - `write.rs` follows a write whose commit is not answered, and remembers whether the store can write.
//! - [`LongTransaction`] is for commands that move many rows.
//!
//! In a simulation, `test_support/simulated.rs` replaces the connection pools of SQLite.
//!
//! `clock.rs` has the clock of an SQLite file. The program that hosts a service uses [`Store`] and
//! [`register_metrics`].

#![cfg_attr(
    test,
    expect(
        clippy::too_many_lines,
        reason = "a test tells its story in order, with its values in sight"
    )
)]

mod batched_reads;
mod clock;
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
#[cfg(any(test, simulation))]
mod test_support;
mod url;
mod write;

#[doc(hidden)] // for `row!`
pub use sqlx;

pub use batched_reads::{BatchKey, BatchLabels, BatchedReads, ReadByKeys, RowsByKey};
pub use clock::{FileClock, advance_clock, unix_millis};
pub use database::{Database, Engine, FollowUp};
pub use error::StoreError;
pub use inspection::{Facts, InspectedTables, Inspection};
pub use inspection_report::check_database;
pub use long_transaction::LongTransaction;
pub use metrics::register_metrics;
pub use read_consistency::ReadConsistency;
pub use retry::Backoff;
pub use row::{Column, ColumnValue, Columns, Row, TableRow, Timed};
pub use schema::Schema;
pub use statement::{QueryFuture, STATEMENT_TIMEOUT, Statement, Value};
pub use store::{PoolStats, Store, StoreStatus};
pub use tables::{Migration, Tables};
#[cfg(simulation)]
pub use test_support::simulated;
pub use url::{DatabaseSettings, DatabaseTarget, DatabaseUrl};
