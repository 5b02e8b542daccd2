//! Implements the traits of the store in SQL, for PostgreSQL and SQLite.
//!
//! `open` opens a database and returns an `SqlStore` (`sql_store`), which implements the traits. Most writes lock rows
//! first, so that their conditions see what other transactions have committed (`locked_writes`), and record the change
//! in the same transaction (`audit`).
//!
//! - `users`, `tokens`, `second_factor` and `audit` each implement one trait.
//! - `user_rows` decodes users from rows, and `encoding` converts the numbers in columns.
//! - `additions` limits how much is added to a user.
//! - `usage_writer` stores the times of the last uses of tokens and passwords in the background, and `usage_pauses`
//!   stores the times during which that was impossible.

mod additions;
pub(super) mod audit;
mod changes;
pub(super) mod encoding;
mod locked_writes;
mod second_factor;
mod sql_store;
pub(super) mod tokens;
mod usage_pauses;
mod usage_writer;
pub(super) mod user_rows;
mod users;

use super::{UserStore, operator_database::OperatorDatabase, tables::TABLES};
use rolegate_program::failure::Failure;
use rolegate_sql_store::{DatabaseUrl, FileClock};
use sql_store::SqlStore;
use std::sync::Arc;
use usage_writer::Process;

/// Opens the store for a service and migrates its schema: see [`DatabaseUrl::open`].
pub(crate) async fn open(url: &DatabaseUrl) -> Result<Arc<dyn UserStore>, Failure> {
    let database = url.open(&TABLES, FileClock::Advance).await?;
    Ok(SqlStore::start(database, Process::Service))
}

/// Opens the database for a command, which may run beside a service, and migrates its schema. Returns the store, and an
/// [`OperatorDatabase`] for the same database.
pub(crate) async fn open_beside(
    url: &DatabaseUrl,
    clock: FileClock,
) -> Result<(Arc<dyn UserStore>, OperatorDatabase), Failure> {
    let database = url.open(&TABLES, clock).await?;
    let store = SqlStore::start(database.clone(), Process::Command);
    Ok((store, OperatorDatabase { database }))
}

#[cfg(test)]
pub(super) mod tests;
