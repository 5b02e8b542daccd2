//! What a database holds, against the tables that a service makes. Looking changes nothing.

use crate::tables::{Tables, owner_of};
use sqlx::{AssertSqlSafe, PgConnection, Row, SqliteConnection, migrate::Migrator};

/// What was found.
#[derive(Clone, Debug, PartialEq, Eq)]
pub enum Schema {
    /// There is nothing yet; the value tells whether this database user may make it.
    Missing {
        /// Whether they may.
        can_create: bool,
    },
    /// As this program makes it.
    Current,
    /// An older program made it.
    Older {
        /// So many migrations are missing.
        missing: usize,
    },
    /// A newer program made it, which only adds.
    Newer,
    /// No migration will put this right. Goes on from the name of the database: "belongs to …".
    Unrecognized(String),
}

/// A migration that a database has: version, name, success and checksum.
type Applied = (i64, String, bool, Vec<u8>);

/// What there is.
struct Found {
    /// By ascending version.
    applied: Vec<Applied>,
    has_marker: bool,
    /// Tables of others, in a place that is one service's alone.
    has_others: bool,
    can_create: bool,
}

impl Schema {
    /// Looks at PostgreSQL.
    pub async fn in_postgres(connection: &mut PgConnection, tables: &Tables) -> sqlx::Result<Self> {
        let (history, main) = tables.names_in_postgres();
        let sql = "SELECT to_regclass($1) IS NOT NULL AS has_history,
            to_regclass($2) IS NOT NULL AS has_marker,
            coalesce(CASE
                WHEN $3::text IS NULL THEN has_schema_privilege(current_schema(), 'CREATE')
                WHEN to_regnamespace($3) IS NULL
                    THEN has_database_privilege(current_database(), 'CREATE')
                ELSE has_schema_privilege($3, 'CREATE')
            END, false) AS can_create";
        let look = sqlx::query(sql).bind(&history).bind(main).bind(tables.schema);
        let row = look.fetch_one(&mut *connection).await?;
        let mut applied = Vec::new();
        if row.try_get("has_history")? {
            applied = sqlx::query_as(history_of(&history)).fetch_all(connection).await?;
        }
        let (has_marker, can_create) = (row.try_get("has_marker")?, row.try_get("can_create")?);
        // A schema of PostgreSQL may be shared.
        let found = Found { applied, has_marker, has_others: false, can_create };
        Ok(compare(tables, &tables.postgres(), &found))
    }

    /// Looks at an SQLite file.
    pub async fn in_sqlite(
        connection: &mut SqliteConnection,
        tables: &Tables,
    ) -> sqlx::Result<Self> {
        let sql =
            "SELECT name FROM sqlite_master WHERE type = 'table' AND name NOT LIKE 'sqlite_%'";
        let there: Vec<String> = sqlx::query_scalar(sql).fetch_all(&mut *connection).await?;
        let (history, main) = tables.names_in_sqlite();
        let has = |name: &str| there.iter().any(|table| table == name);
        let mut applied = Vec::new();
        if has(history) {
            applied = sqlx::query_as(history_of(history)).fetch_all(connection).await?;
        }
        let has_others = there.iter().any(|table| table != history);
        let found = Found { applied, has_marker: has(main), has_others, can_create: true };
        Ok(compare(tables, &tables.sqlite(), &found))
    }
}

fn history_of(table: &str) -> AssertSqlSafe<String> {
    AssertSqlSafe(format!(
        "SELECT version, description, success, checksum FROM {table} ORDER BY version"
    ))
}

fn compare(tables: &Tables, ours: &Migrator, found: &Found) -> Schema {
    let Tables { owner, marker_table, .. } = tables;
    let not_ours = |why: String| Schema::Unrecognized(format!("is not a store of {owner}: {why}"));
    let applied = &found.applied;
    let Some((_, first, ..)) = applied.first() else {
        return match (found.has_marker, found.has_others) {
            (true, _) => not_ours(format!("another program made its table \"{marker_table}\"")),
            (false, true) => not_ours("it has tables of another program".to_owned()),
            (false, false) => Schema::Missing { can_create: found.can_create },
        };
    };
    if let Some(other) = owner_of(first)
        && other != *owner
    {
        return Schema::Unrecognized(format!("belongs to {other}, not to {owner}"));
    }
    let has = |version: i64| applied.iter().any(|it| it.0 == version);
    let is_known = |it: &Applied| ours.version_exists(it.0);
    let is_altered =
        |it: &Applied| ours.iter().any(|ours| ours.version == it.0 && *ours.checksum != *it.3);
    let has_begun = ours.iter().next().is_some_and(|migration| has(migration.version));
    if applied.iter().any(|(_, _, succeeded, _)| !succeeded) {
        not_ours("a migration was begun and not finished".to_owned())
    } else if !has_begun || applied.iter().any(is_altered) {
        not_ours("another program, or an altered one, made its tables".to_owned())
    } else if !found.has_marker {
        not_ours(format!("its table \"{marker_table}\" is gone"))
    } else {
        match ours.iter().filter(|migration| !has(migration.version)).count() {
            0 if applied.iter().all(is_known) => Schema::Current,
            0 => Schema::Newer,
            missing => Schema::Older { missing },
        }
    }
}

#[cfg(test)]
mod tests;
