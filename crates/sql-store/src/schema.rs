//! The tables of one service, and whether a database has them. Reads only.

use crate::{DatabaseUrl, error::OpenFailure, statement::Connection};
use rolegate_program::settings::SettingError;
use sqlx::{
    SqlSafeStr,
    migrate::{self, MigrationType, Migrator},
};
use std::borrow::Cow;

/// The table of applied migrations, as sqlx names it.
const HISTORY: &str = "_sqlx_migrations";

/// The encoding, whether the history and the marker table exist, whether the schema has other tables, and whether this
/// database user may create some. The tables of extensions are those of the server.
const IN_POSTGRES: &str = "SELECT current_setting('server_encoding'),
    to_regclass($1) IS NOT NULL, to_regclass($2) IS NOT NULL,
    EXISTS (
        SELECT FROM pg_class AS c JOIN pg_namespace AS n ON n.oid = c.relnamespace
        WHERE n.nspname = coalesce($3::text, current_schema()) AND c.relkind IN ('r', 'p', 'f')
            AND c.relname <> '_sqlx_migrations'
            AND NOT EXISTS (SELECT FROM pg_depend AS d
                WHERE d.classid = 'pg_class'::regclass AND d.objid = c.oid AND d.deptype = 'e')
    ),
    coalesce(CASE
        WHEN $3::text IS NULL THEN has_schema_privilege(current_schema(), 'CREATE')
        WHEN to_regnamespace($3) IS NULL
            THEN has_database_privilege(current_database(), 'CREATE')
        ELSE has_schema_privilege($3, 'CREATE')
    END, false)";
const IN_SQLITE: &str = "SELECT 'UTF8', count(*) FILTER (WHERE name = $1) > 0,
        count(*) FILTER (WHERE name = $2) > 0, count(*) FILTER (WHERE name <> $1) > 0, true
    FROM sqlite_master WHERE type = 'table' AND name NOT LIKE 'sqlite_%'";

const SHARED_SCHEMA: &str = "the schema has tables of another program; use a database or a schema of its own, or set \
    SHARE_DATABASE=on to have the tables beside those";

/// Whether a service makes its first tables in a schema of PostgreSQL that has tables of other programs.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub(crate) enum BesideOthers {
    /// The URL may be that of somebody else's application.
    #[default]
    Refused,
    /// The setting `SHARE_DATABASE` says so.
    Allowed,
}

/// A step of the schema from one version to the next.
#[derive(Clone, Copy, Debug)]
pub struct Migration {
    /// The number of the version that it creates.
    pub version: i64,
    /// Its name in the history of the database.
    pub name: &'static str,
    /// Its statements.
    pub sql: &'static str,
}

/// The tables of one service, and the migrations that create them.
#[derive(Clone, Copy, Debug)]
pub struct Tables {
    /// The service.
    pub owner: &'static str,
    /// A table that the first migration creates and none drops.
    pub marker_table: &'static str,
    /// The schema in PostgreSQL, created if it is missing; `None` for the first of the search path.
    pub schema: Option<&'static str>,
    /// The migrations for PostgreSQL, by ascending version.
    pub postgres: &'static [Migration],
    /// The migrations for SQLite, by ascending version.
    pub sqlite: &'static [Migration],
}

impl Tables {
    pub(crate) fn postgres(&self) -> Migrator {
        let mut migrator = migrator(self.postgres);
        if let Some(schema) = self.schema {
            migrator.create_schema(schema);
            migrator.dangerous_set_table_name(self.in_postgres(HISTORY));
        }
        migrator
    }

    pub(crate) fn sqlite(&self) -> Migrator {
        migrator(self.sqlite)
    }

    /// The name of this table in statements for PostgreSQL.
    pub(crate) fn in_postgres(&self, table: &str) -> String {
        self.schema
            .map_or_else(|| table.to_owned(), |schema| format!("{schema}.{table}"))
    }

    pub(crate) fn marker_in_postgres(&self) -> String {
        self.in_postgres(&format!("\"{}\"", self.marker_table))
    }
}

fn migrator(migrations: &[Migration]) -> Migrator {
    let migrations = migrations.iter().map(|migration| {
        migrate::Migration::new(
            migration.version,
            Cow::Borrowed(migration.name),
            MigrationType::Simple,
            migration.sql.into_sql_str(),
            false,
        )
    });
    let mut migrator = Migrator::with_migrations(migrations.collect());
    // During a rollout, an older instance must be able to restart beside a newer one.
    migrator.set_ignore_missing(true);
    migrator
}

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

impl DatabaseUrl {
    /// Fails unless a command may open the database, whose schema was inspected. A mistyped URL must not create an empty
    /// database, nor a command migrate a schema that a service may be using.
    pub fn require_current(&self, schema: &Schema) -> Result<(), SettingError> {
        match schema {
            Schema::Missing { .. } => {
                let problem = "there is no database yet; the first start creates it";
                Err(self.invalid(format!("{self}: {problem}")))
            }
            Schema::Older { .. } => {
                let problem = format!("{self} has an older schema; run migrate first");
                Err(self.invalid(problem))
            }
            Schema::Current | Schema::Newer => Ok(()),
        }
    }
}

/// A row of the history: version, name, success and checksum.
type Applied = (i64, String, bool, Vec<u8>);

struct Found {
    /// By ascending version.
    applied: Vec<Applied>,
    has_marker: bool,
    /// What to say about tables of other programs, beside which a service makes none.
    others: Option<&'static str>,
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

    /// Reads the schema; an unrecognized one is an error.
    pub(crate) async fn read(
        connection: &mut Connection<'_>,
        tables: &Tables,
        beside_others: BesideOthers,
    ) -> Result<Self, OpenFailure> {
        let (sql, ours, history, marker) = match connection {
            Connection::Postgres(_) => (
                IN_POSTGRES,
                tables.postgres(),
                tables.in_postgres(HISTORY),
                tables.marker_in_postgres(),
            ),
            Connection::Sqlite(_) => (
                IN_SQLITE,
                tables.sqlite(),
                HISTORY.to_owned(),
                tables.marker_table.to_owned(),
            ),
        };
        let select = connection
            .statement(sql)
            .bind(&history)
            .bind(marker)
            .bind(tables.schema);
        let (encoding, has_history, has_marker, has_others, can_create) = select
            .fetch_one::<(String, bool, bool, bool, bool)>(connection)
            .await?;
        // A name that it cannot hold would fail the statement that it shares with others.
        if encoding != "UTF8" {
            let problem = format!("has the encoding {encoding}; create it with ENCODING 'UTF8'");
            return Err(OpenFailure::Unrecognized(problem));
        }
        let mut applied = Vec::new();
        if has_history {
            let sql = format!(
                "SELECT version, description, success, checksum FROM {history} ORDER BY version"
            );
            applied = connection
                .statement(&sql)
                .fetch(connection)
                .await?
                .decode()?;
        }
        let others = match (connection, beside_others) {
            _ if !has_others => None,
            (Connection::Sqlite(_), _) => Some("it has tables of another program"),
            (Connection::Postgres(_), BesideOthers::Allowed) => None,
            (Connection::Postgres(_), BesideOthers::Refused) => Some(SHARED_SCHEMA),
        };
        let found = Found {
            applied,
            has_marker,
            others,
            can_create,
        };
        compare(tables, &ours, &found)
    }
}
fn compare(tables: &Tables, ours: &Migrator, found: &Found) -> Result<Schema, OpenFailure> {
    let Tables {
        owner,
        marker_table,
        ..
    } = tables;
    let unrecognized = |why: &str| {
        Err(OpenFailure::Unrecognized(format!(
            "is not a database of {owner}: {why}"
        )))
    };
    let applied = &found.applied;
    let Some((_, first, ..)) = applied.first() else {
        return match (found.has_marker, found.others) {
            (true, _) => unrecognized(&format!(
                "another program created its table {marker_table:?}; use a database or a schema of its own"
            )),
            (false, Some(others)) => unrecognized(others),
            (false, None) => Ok(Schema::Missing {
                can_create: found.can_create,
            }),
        };
    };
    if ours
        .iter()
        .next()
        .is_some_and(|ours| ours.description != *first)
    {
        return unrecognized(&format!("the first migration of its owner is {first:?}"));
    }
    let has = |version: i64| applied.iter().any(|it| it.0 == version);
    let is_known = |it: &Applied| ours.version_exists(it.0);
    let is_altered = |it: &Applied| {
        ours.iter()
            .any(|ours| ours.version == it.0 && *ours.checksum != *it.3)
    };
    let has_first = ours
        .iter()
        .next()
        .is_some_and(|migration| has(migration.version));
    if applied.iter().any(|(_, _, succeeded, _)| !succeeded) {
        return unrecognized("a migration was started and not finished");
    }
    if !has_first || applied.iter().any(is_altered) {
        return unrecognized("its migrations differ from those of this release");
    }
    if !found.has_marker {
        return unrecognized(&format!("its table {marker_table:?} is missing"));
    }
    Ok(
        match ours
            .iter()
            .filter(|migration| !has(migration.version))
            .count()
        {
            0 if applied.iter().all(is_known) => Schema::Current,
            0 => Schema::Newer,
            missing => Schema::Older { missing },
        },
    )
}

#[cfg(test)]
mod tests;
