//! From a URL to an open store.

use super::{PostgresStore, SqliteStore, UserStore, postgres, sqlite};
use rolegate_sql_store::{DatabaseUrl, OpenError, Opened, Tables};
use std::sync::Arc;

/// The tables of this service.
pub(super) const TABLES: Tables = Tables {
    owner: "auth-service",
    marker_table: "user",
    schema: None,
    postgres: postgres::MIGRATIONS,
    sqlite: sqlite::MIGRATIONS,
};

/// Opens the store and brings its schema up to date: see [`DatabaseUrl::open`].
pub async fn open(url: &DatabaseUrl) -> Result<Arc<dyn UserStore>, OpenError> {
    Ok(match url.open(&TABLES).await? {
        Opened::Postgres(pool) => Arc::new(PostgresStore::new(pool)),
        Opened::Sqlite(pools) => Arc::new(SqliteStore::new(pools)),
    })
}
