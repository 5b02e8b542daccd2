//! The store in an SQL database: its statements, for both engines.
//!
//! - `sql_store`: the value that implements the traits; `users`, `opaque_tokens`, `second_factor`, `audit`: their methods;
//!   `password_links`, `pending_sign_ins`: statements of several of them.
//! - `user_rows`: users, as the rows of statements have them; `encoding`: numbers in columns.
//! - `locked_writes`: writes behind a lock; `revocation`: how one moves `tokens_not_before`; `additions`: the limit of what
//!   is added to a user.
//! - `usage_writer`: when tokens and passwords were used last; `usage_pauses`: when that could not be written.

mod additions;
pub(super) mod audit;
pub(super) mod encoding;
mod locked_writes;
mod opaque_tokens;
mod password_links;
mod pending_sign_ins;
pub(super) mod revocation;
mod second_factor;
mod sql_store;
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

#[cfg(simulation)]
pub(crate) use super::simulated::open;

/// Opens the store for a service and migrates its schema: see [`DatabaseUrl::open`].
#[cfg(not(simulation))]
pub(crate) async fn open(url: &DatabaseUrl) -> Result<Arc<dyn UserStore>, Failure> {
    let database = url.open(&TABLES, FileClock::Advance).await?;
    Ok(SqlStore::start(database, Process::Service))
}

/// Opens the store for a command, perhaps beside a service.
pub(crate) async fn open_beside(
    url: &DatabaseUrl,
    clock: FileClock,
) -> Result<(Arc<dyn UserStore>, OperatorDatabase), Failure> {
    let database = url.open(&TABLES, clock).await?;
    let store = SqlStore::start(database.clone(), Process::Command);
    Ok((store, OperatorDatabase { database }))
}

#[cfg(test)]
mod tests;
