//! A look at a database that changes nothing, not even its schema.

use super::{postgres, sqlite};
use sql_store::{STATEMENT_TIME, StoreUrl};
use sqlx::{
    ConnectOptions, Connection, PgConnection, Row, SqliteConnection,
    migrate::Migrator,
    postgres::PgConnectOptions,
    sqlite::{SqliteConnectOptions, SqliteRow},
};
use std::{path::Path, time::Duration};

/// Longest time for the whole look.
const PATIENCE: Duration = STATEMENT_TIME;

/// What was found.
#[derive(Debug)]
pub(crate) struct Inspection {
    pub(crate) schema: Schema,
    /// Seconds since 1970 by the database's own clock, at about the middle of the look; `None` for
    /// one that has no clock of its own.
    pub(crate) clock: Option<f64>,
    /// Whether it takes writes: a standby does not.
    pub(crate) takes_writes: bool,
    /// Whether there is a user `admin`.
    pub(crate) has_admin: bool,
}

/// What the schema is, against the one that this program makes.
#[derive(Debug, PartialEq, Eq)]
pub(crate) enum Schema {
    /// There is nothing yet; the value tells whether this database user may make it.
    Missing { may_be_made: bool },
    /// As this program makes it.
    Current,
    /// An older program made it; so many migrations are missing.
    Older { missing: usize },
    /// A newer program made it, which only adds.
    Newer,
    /// No migration will put this right.
    Foreign(&'static str),
}

/// Why there is nothing to tell.
#[derive(Debug, thiserror::Error)]
pub(crate) enum NotInspected {
    #[error(transparent)]
    Database(#[from] sqlx::Error),
    #[error("no answer within {} seconds", PATIENCE.as_secs())]
    TooSlow,
}

/// Looks at the database; an SQLite file must exist.
pub(crate) async fn inspect(url: &StoreUrl) -> Result<Inspection, NotInspected> {
    let look = async {
        match url {
            StoreUrl::Postgres(options) => in_postgres(options).await,
            StoreUrl::Sqlite(file) => in_sqlite(file).await,
        }
    };
    let looked = tokio::time::timeout(PATIENCE, look).await.map_err(|_| NotInspected::TooSlow)?;
    Ok(looked?)
}

async fn in_postgres(options: &PgConnectOptions) -> sqlx::Result<Inspection> {
    let mut connection: PgConnection = options.connect().await?;
    let sql = r#"SELECT extract(epoch FROM clock_timestamp())::float8 AS clock,
        NOT pg_is_in_recovery() AS takes_writes,
        coalesce(has_schema_privilege(current_schema(), 'CREATE'), false) AS may_create,
        to_regclass('_sqlx_migrations') IS NOT NULL AS has_history,
        to_regclass('"user"') IS NOT NULL AS has_users"#;
    let row = sqlx::query(sql).fetch_one(&mut connection).await?;
    let mut applied = Vec::new();
    if row.try_get("has_history")? {
        let sql = "SELECT version, success, checksum FROM _sqlx_migrations ORDER BY version";
        applied = sqlx::query_as(sql).fetch_all(&mut connection).await?;
    }
    let has_users: bool = row.try_get("has_users")?;
    let may_be_made = row.try_get("may_create")?;
    let schema = compare(&postgres::migrations(), &applied, has_users, may_be_made);
    let mut has_admin = false;
    if has_users && !matches!(schema, Schema::Foreign(_)) {
        let sql = r#"SELECT EXISTS (SELECT 1 FROM "user" WHERE username = 'admin')"#;
        has_admin = sqlx::query_scalar(sql).fetch_one(&mut connection).await?;
    }
    let clock = Some(row.try_get("clock")?);
    let takes_writes = row.try_get("takes_writes")?;
    connection.close().await?;
    Ok(Inspection { schema, clock, takes_writes, has_admin })
}

async fn in_sqlite(file: &Path) -> sqlx::Result<Inspection> {
    let options = SqliteConnectOptions::new().filename(file).read_only(true);
    let mut connection: SqliteConnection = options.connect().await?;
    let tables = "SELECT name FROM sqlite_master WHERE type = 'table'";
    let tables = sqlx::query(tables)
        .try_map(|row: SqliteRow| row.try_get::<String, _>(0))
        .fetch_all(&mut connection)
        .await?;
    let has = |name: &str| tables.iter().any(|table| table == name);
    let mut applied = Vec::new();
    if has("_sqlx_migrations") {
        let sql = "SELECT version, success, checksum FROM _sqlx_migrations ORDER BY version";
        applied = sqlx::query_as(sql).fetch_all(&mut connection).await?;
    }
    let schema = compare(&sqlite::migrations(), &applied, has("user"), true);
    let mut has_admin = false;
    if has("user") && !matches!(schema, Schema::Foreign(_)) {
        let sql = r#"SELECT EXISTS (SELECT 1 FROM "user" WHERE username = 'admin')"#;
        has_admin = sqlx::query_scalar(sql).fetch_one(&mut connection).await?;
    }
    connection.close().await?;
    let takes_writes = !file.metadata()?.permissions().readonly();
    Ok(Inspection { schema, clock: None, takes_writes, has_admin })
}

/// Version, success and checksum of a migration that a database has.
type Applied = (i64, bool, Vec<u8>);

fn compare(ours: &Migrator, applied: &[Applied], has_users: bool, may_be_made: bool) -> Schema {
    if applied.is_empty() {
        return if has_users {
            Schema::Foreign("it has a table \"user\" that Rolegate did not make")
        } else {
            Schema::Missing { may_be_made }
        };
    }
    let is_ours = |(version, _, checksum): &Applied| {
        ours.iter().any(|it| it.version == *version && *it.checksum == **checksum)
    };
    let is_known = |(version, ..): &Applied| ours.version_exists(*version);
    if applied.iter().any(|(_, succeeded, _)| !succeeded) {
        Schema::Foreign("a migration was begun and not finished")
    } else if applied.iter().any(|it| is_known(it) && !is_ours(it)) {
        Schema::Foreign("another program, or an altered one, made its tables")
    } else if !has_users {
        Schema::Foreign("its table \"user\" is gone")
    } else {
        let missing =
            ours.iter().filter(|it| !applied.iter().any(|(version, ..)| *version == it.version));
        match missing.count() {
            0 if applied.iter().all(is_known) => Schema::Current,
            0 => Schema::Newer,
            missing => Schema::Older { missing },
        }
    }
}

#[cfg(test)]
mod tests {
    use super::{Applied, Schema, compare};
    use crate::store::sqlite::migrations as migrator;

    fn applied() -> Vec<Applied> {
        let ours = migrator();
        ours.iter().map(|it| (it.version, true, it.checksum.to_vec())).collect()
    }

    #[test]
    fn a_schema_is_told_from_older_newer_and_foreign_ones() {
        let schema = |applied: &[Applied]| compare(&migrator(), applied, true, true);
        assert_eq!(schema(&applied()), Schema::Current);
        let mut newer = applied();
        newer.push((1_000_000, true, Vec::new()));
        assert_eq!(schema(&newer), Schema::Newer);
        let mut failed = applied();
        failed[0].1 = false;
        assert!(matches!(schema(&failed), Schema::Foreign(_)));
        let mut altered = applied();
        altered[0].2[0] ^= 1;
        assert!(matches!(schema(&altered), Schema::Foreign(_)));
        assert!(matches!(schema(&[]), Schema::Foreign(_)));
        let later = [(1_000_000, true, Vec::new())];
        assert_eq!(schema(&later), Schema::Older { missing: applied().len() });
    }

    #[test]
    fn an_empty_database_is_no_fault_as_long_as_tables_can_be_made() {
        for may_be_made in [true, false] {
            let schema = compare(&migrator(), &[], false, may_be_made);
            assert_eq!(schema, Schema::Missing { may_be_made });
        }
        assert!(matches!(compare(&migrator(), &applied(), false, true), Schema::Foreign(_)));
    }
}
