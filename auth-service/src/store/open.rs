//! Opens the store of a URL.

use super::{PostgresStore, SqliteStore, UserStore, postgres, sqlite};
use rolegate_sql_store::{DatabaseUrl, OpenError, Opened, Tables};
use std::sync::Arc;

/// The tables of auth-service.
pub(super) const TABLES: Tables = Tables {
    owner: "auth-service",
    marker_table: "user",
    schema: None,
    postgres: postgres::MIGRATIONS,
    sqlite: sqlite::MIGRATIONS,
};

/// Opens the store and migrates its schema: see [`DatabaseUrl::open`].
pub async fn open(url: &DatabaseUrl) -> Result<Arc<dyn UserStore>, OpenError> {
    Ok(match url.open(&TABLES).await? {
        Opened::Postgres(pool) => Arc::new(PostgresStore::new(pool)),
        Opened::Sqlite(pools) => Arc::new(SqliteStore::new(pools)),
    })
}
