//! The schema of a database, compared with the tables of a service. Reads only.

use crate::{error::OpenFailure, tables::Tables};
use sqlx::{AssertSqlSafe, PgConnection, Row, SqliteConnection, migrate::Migrator};

/// The schema of a database.
#[derive(Clone, Debug, PartialEq, Eq)]
pub enum Schema {
    /// No tables yet.
    Missing {
        /// Whether this database user may create them.
        can_create: bool,
    },
    /// As the migrations of this release create it.
    Current,
    /// Created by an older release.
    Older {
        /// The number of pending migrations.
        missing: usize,
    },
    /// Created by a newer release; migrations only add, so it is compatible.
    Newer,
}

/// A row of the history: version, name, success and checksum.
type Applied = (i64, String, bool, Vec<u8>);

struct Found {
    /// By ascending version.
    applied: Vec<Applied>,
    has_marker: bool,
    /// Whether a database that belongs to one service has other tables.
    has_others: bool,
    can_create: bool,
}

impl Schema {
    pub(crate) fn has_tables(&self) -> bool {
        !matches!(self, Self::Missing { .. })
    }

    /// Whether every migration of this release is applied.
    pub(crate) fn has_migrations(&self) -> bool {
        matches!(self, Self::Current | Self::Newer)
    }

    /// Reads the schema from PostgreSQL; an unrecognized one is an error.
    pub(crate) async fn in_postgres(
        connection: &mut PgConnection,
        tables: &Tables,
    ) -> Result<Self, OpenFailure> {
        let (history, marker) = tables.names_in_postgres();
        let sql = "SELECT current_setting('server_encoding') AS encoding,
            to_regclass($1) IS NOT NULL AS has_history,
            to_regclass($2) IS NOT NULL AS has_marker,
            coalesce(CASE
                WHEN $3::text IS NULL THEN has_schema_privilege(current_schema(), 'CREATE')
                WHEN to_regnamespace($3) IS NULL
                    THEN has_database_privilege(current_database(), 'CREATE')
                ELSE has_schema_privilege($3, 'CREATE')
            END, false) AS can_create";
        let select = sqlx::query(sql).bind(&history).bind(marker).bind(tables.schema);
        let row = select.fetch_one(&mut *connection).await?;
        let encoding: String = row.try_get("encoding")?;
        // A name that it cannot hold would fail the statement that it shares with others.
        if encoding != "UTF8" {
            let problem = format!("has the encoding {encoding}; create it with ENCODING 'UTF8'");
            return Err(OpenFailure::Unrecognized(problem));
        }
        let mut applied = Vec::new();
        if row.try_get("has_history")? {
            applied = sqlx::query_as(select_history(&history)).fetch_all(connection).await?;
        }
        let (has_marker, can_create) = (row.try_get("has_marker")?, row.try_get("can_create")?);
        // Other programs may share a schema of PostgreSQL.
        let found = Found { applied, has_marker, has_others: false, can_create };
        compare(tables, &tables.postgres(), &found)
    }

    /// Reads the schema from an SQLite file; an unrecognized one is an error.
    pub(crate) async fn in_sqlite(
        connection: &mut SqliteConnection,
        tables: &Tables,
    ) -> Result<Self, OpenFailure> {
        let sql =
            "SELECT name FROM sqlite_master WHERE type = 'table' AND name NOT LIKE 'sqlite_%'";
        let names: Vec<String> = sqlx::query_scalar(sql).fetch_all(&mut *connection).await?;
        let (history, marker) = tables.names_in_sqlite();
        let has = |name: &str| names.iter().any(|table| table == name);
        let mut applied = Vec::new();
        if has(history) {
            applied = sqlx::query_as(select_history(history)).fetch_all(connection).await?;
        }
        let has_others = names.iter().any(|table| table != history);
        let found = Found { applied, has_marker: has(marker), has_others, can_create: true };
        compare(tables, &tables.sqlite(), &found)
    }
}

fn select_history(table: &str) -> AssertSqlSafe<String> {
    AssertSqlSafe(format!(
        "SELECT version, description, success, checksum FROM {table} ORDER BY version"
    ))
}

fn compare(tables: &Tables, ours: &Migrator, found: &Found) -> Result<Schema, OpenFailure> {
    let Tables { owner, marker_table, .. } = tables;
    let unrecognized =
        |why: &str| Err(OpenFailure::Unrecognized(format!("is not a database of {owner}: {why}")));
    let applied = &found.applied;
    let Some((_, first, ..)) = applied.first() else {
        return match (found.has_marker, found.has_others) {
            (true, _) => {
                unrecognized(&format!("another program created its table {marker_table:?}"))
            }
            (false, true) => unrecognized("it has tables of another program"),
            (false, false) => Ok(Schema::Missing { can_create: found.can_create }),
        };
    };
    if ours.iter().next().is_some_and(|ours| ours.description != *first) {
        return unrecognized(&format!("the first migration of its owner is {first:?}"));
    }
    let has = |version: i64| applied.iter().any(|it| it.0 == version);
    let is_known = |it: &Applied| ours.version_exists(it.0);
    let is_altered =
        |it: &Applied| ours.iter().any(|ours| ours.version == it.0 && *ours.checksum != *it.3);
    let has_first = ours.iter().next().is_some_and(|migration| has(migration.version));
    if applied.iter().any(|(_, _, succeeded, _)| !succeeded) {
        return unrecognized("a migration was started and not finished");
    }
    if !has_first || applied.iter().any(is_altered) {
        return unrecognized("its migrations differ from those of this release");
    }
    if !found.has_marker {
        return unrecognized(&format!("its table {marker_table:?} is missing"));
    }
    Ok(match ours.iter().filter(|migration| !has(migration.version)).count() {
        0 if applied.iter().all(is_known) => Schema::Current,
        0 => Schema::Newer,
        missing => Schema::Older { missing },
    })
}

#[cfg(test)]
mod tests;
