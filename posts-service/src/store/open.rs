//! From a URL to an open store.

use super::{PostStore, PostgresStore, SqliteStore};
use sql_store::StoreUrl;
use std::sync::Arc;

/// Opens the store and brings its schema up to date. A PostgreSQL that is not there (yet) is waited
/// for, saying so; an SQLite file that cannot be opened will not get better by waiting.
pub async fn open(url: &StoreUrl) -> Result<Arc<dyn PostStore>, sqlx::Error> {
    Ok(match url {
        StoreUrl::Sqlite(file) => Arc::new(SqliteStore::open(file).await?),
        StoreUrl::Postgres(options) => Arc::new(PostgresStore::open(options).await?),
    })
}
