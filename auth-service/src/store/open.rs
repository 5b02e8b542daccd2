//! From a URL to an open store.

use super::{PostgresStore, SqliteStore, UserStore, postgres, sqlite};
use sql_store::{NotOpened, Opened, StoreUrl, Tables};
use std::sync::Arc;

/// The tables of this service.
pub(super) const TABLES: Tables = Tables {
    owner: "auth-service",
    main: "user",
    schema: None,
    postgres: postgres::MIGRATIONS,
    sqlite: sqlite::MIGRATIONS,
};

/// Opens the store and brings its schema up to date: see [`StoreUrl::open`].
pub async fn open(url: &StoreUrl) -> Result<Arc<dyn UserStore>, NotOpened> {
    Ok(match url.open(&TABLES).await? {
        Opened::Postgres(connections) => Arc::new(PostgresStore::new(connections)),
        Opened::Sqlite(pools) => Arc::new(SqliteStore::new(pools)),
    })
}
