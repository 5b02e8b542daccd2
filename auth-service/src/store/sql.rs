//! The store in an SQL database: its statements, for both engines.
//!
//! - `sql_store`: the value that implements the traits; `users`, `opaque_tokens`, `second_factor`, `audit`: their methods.
//! - `user_rows`: users of rows; `encoding`: numbers in columns.
//! - `locked_writes`: writes after a lock; `revocation`: how one moves `tokens_not_before`; `additions`: the limit of what
//!   is added to a user; `token_usage`: when tokens and passwords were used last.

mod additions;
pub(super) mod audit;
pub(super) mod encoding;
mod locked_writes;
mod opaque_tokens;
pub(super) mod revocation;
mod second_factor;
mod sql_store;
mod token_usage;
mod user_rows;
mod users;

use super::{UserStore, maintenance::Maintenance, tables::TABLES};
use rolegate_program::program::Failure;
use rolegate_sql_store::{DatabaseUrl, FileClock};
use sql_store::SqlStore;
use std::sync::Arc;

#[cfg(simulation)]
pub(crate) use super::simulated::open;

/// Opens the store for a service and migrates its schema: see [`DatabaseUrl::open`].
#[cfg(not(simulation))]
pub(crate) async fn open(url: &DatabaseUrl) -> Result<Arc<dyn UserStore>, Failure> {
    let database = url.open(&TABLES, FileClock::Advance).await?;
    let is_service = true;
    Ok(SqlStore::of(database, is_service))
}

/// Opens the store for a command, perhaps beside a service.
pub(crate) async fn open_beside(
    url: &DatabaseUrl,
    clock: FileClock,
) -> Result<(Arc<dyn UserStore>, Maintenance), Failure> {
    let database = url.open(&TABLES, clock).await?;
    let is_service = false;
    let store = SqlStore::of(database.clone(), is_service);
    Ok((store, Maintenance::new(database)))
}

#[cfg(test)]
mod tests;
