//! Opens the store of a URL.

use super::{PostStore, PostgresStore, SqliteStore, postgres, sqlite};
use rolegate_sql_store::{DatabaseUrl, Inspection, OpenError, Opened, Tables};
use std::sync::Arc;

/// The tables of posts-service.
const TABLES: Tables = Tables {
    owner: "posts-service",
    marker_table: "post",
    schema: Some("posts"),
    postgres: postgres::MIGRATIONS,
    sqlite: sqlite::MIGRATIONS,
};

/// Opens the store and migrates its schema: see [`DatabaseUrl::open`].
pub async fn open(url: &DatabaseUrl) -> Result<Arc<dyn PostStore>, OpenError> {
    Ok(match url.open(&TABLES).await? {
        Opened::Postgres(pool) => Arc::new(PostgresStore::new(pool)),
        Opened::Sqlite(pools) => Arc::new(SqliteStore::new(pools)),
    })
}

/// Inspects the database, which changes nothing.
pub(crate) async fn inspect(url: &DatabaseUrl) -> Result<Inspection, OpenError> {
    url.inspect(&TABLES, None).await
}
