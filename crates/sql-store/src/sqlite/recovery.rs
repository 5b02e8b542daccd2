//! Probes a file that could not be written, until it can be.

use super::Pools;
use sqlx::{AssertSqlSafe, SqliteConnection};
use std::time::Duration;

/// Writes are accepted again at most this long after the cause has ended.
const INTERVAL: Duration = Duration::from_millis(500);

/// Ends with the first write that succeeds, of the probe or of others, or when the pool is closed.
pub(super) async fn probe(pools: Pools) {
    while pools.write_problem().is_some() && !pools.writer.is_closed() {
        tokio::time::sleep(INTERVAL).await;
        let _ = pools.try_write(|writer| Box::pin(rewrite_first_page(writer))).await;
    }
}

/// Writes a page and changes nothing.
async fn rewrite_first_page(writer: &mut SqliteConnection) -> sqlx::Result<()> {
    let version =
        sqlx::query_scalar::<_, i32>("PRAGMA user_version").fetch_one(&mut *writer).await?;
    let same = AssertSqlSafe(format!("PRAGMA user_version = {version}"));
    sqlx::query(same).execute(writer).await.map(drop)
}

#[cfg(test)]
mod tests {
    use crate::{Database, DatabaseUrl, Tables};

    const TABLES: Tables = Tables {
        owner: "test",
        marker_table: "t",
        schema: None,
        postgres: &[],
        sqlite: &[(1, "t", "CREATE TABLE t (i INTEGER)")],
    };

    #[tokio::test]
    async fn probe_reaches_the_disk() {
        let folder = tempfile::tempdir().expect("a folder");
        let file = folder.path().join("t.db");
        let url = DatabaseUrl::from_file("DATABASE_URL", file.clone());
        let opened = url.open(&TABLES).await.expect("opened");
        let Database::Sqlite(pools) = &opened else { panic!("a file") };
        let log_size = || file.with_extension("db-wal").metadata().expect("there").len();
        let before = log_size();
        let probed = pools.try_write(|writer| Box::pin(super::rewrite_first_page(writer))).await;
        probed.expect("written");
        assert!(log_size() > before, "nothing was written");
        opened.close().await;
    }
}
