//! Opens the store of a URL.

use super::{PostStore, PostgresStore, SqliteStore, postgres, sqlite};
use rolegate_sql_store::{CheckReport, DatabaseCheck, DatabaseUrl, OpenError, Opened, Tables};
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

/// What `doctor` says of the database. `now`: seconds since 1970.
pub(crate) async fn examine(url: &DatabaseUrl, now: u64) -> CheckReport {
    let harm_of_clocks = "posts tell wrong times";
    DatabaseCheck { tables: &TABLES, question: None, now, harm_of_clocks }.of(url).await
}
