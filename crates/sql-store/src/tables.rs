//! Describes the tables of one service as migrations, which sqlx applies.

use crate::dialect::Dialect;
use sqlx::{
    SqlSafeStr,
    migrate::{self, MigrationType, Migrator},
};
use std::borrow::Cow;

/// The table in which sqlx records the applied migrations.
pub(crate) const HISTORY: &str = "_sqlx_migrations";

/// A step from one version of the schema to the next.
#[derive(Clone, Copy, Debug)]
pub struct Migration {
    /// The number of the version that this step creates.
    pub version: i64,
    /// The name of the step in the history of the database.
    pub name: &'static str,
    /// The statements of the step for PostgreSQL.
    pub postgres: &'static str,
    /// The statements of the step for SQLite.
    pub sqlite: &'static str,
}

/// Lists migrations by their versions, their names, and the names of their files in `migrations/` of the package.
#[macro_export]
macro_rules! migrations {
    ($($version:literal $name:literal $file:literal),+) => {
        &[$($crate::Migration {
            version: $version,
            name: $name,
            postgres: include_str!(concat!(env!("CARGO_MANIFEST_DIR"), "/migrations/postgres/", $file, ".sql")),
            sqlite: include_str!(concat!(env!("CARGO_MANIFEST_DIR"), "/migrations/sqlite/", $file, ".sql")),
        }),+]
    };
}

/// The tables of one service, and the migrations that create them.
#[derive(Clone, Copy, Debug)]
pub struct Tables {
    /// The name of the service, for messages.
    pub owner: &'static str,
    /// A table that the first migration creates and no migration drops. It shows whether a database has the
    /// tables of this service.
    pub marker_table: &'static str,
    /// The schema in PostgreSQL, which is created if it is missing. `None` means the first schema of the search
    /// path.
    pub schema: Option<&'static str>,
    /// The migrations, by ascending version.
    pub migrations: &'static [Migration],
}

impl Tables {
    pub(crate) fn migrator(&self, dialect: Dialect) -> Migrator {
        let migrations = self.migrations.iter().map(|migration| {
            let sql = match dialect {
                Dialect::Postgres => migration.postgres,
                Dialect::Sqlite => migration.sqlite,
            };
            migrate::Migration::new(
                migration.version,
                Cow::Borrowed(migration.name),
                MigrationType::Simple,
                sql.into_sql_str(),
                false,
            )
        });
        let mut migrator = Migrator::with_migrations(migrations.collect());
        // A newer release may have applied migrations that this one does not have. During a rollout, an older
        // instance must still be able to restart beside a newer one.
        migrator.set_ignore_missing(true);
        if dialect == Dialect::Postgres
            && let Some(schema) = self.schema
        {
            migrator.create_schema(schema);
            migrator.dangerous_set_table_name(self.name(dialect, HISTORY));
        }
        migrator
    }

    /// Returns the name of this table in statements, which in PostgreSQL includes the schema if the service has
    /// one of its own.
    pub(crate) fn name(&self, dialect: Dialect, table: &str) -> String {
        match self.schema {
            Some(schema) if dialect == Dialect::Postgres => format!("{schema}.{table}"),
            _ => table.to_owned(),
        }
    }

    pub(crate) fn marker(&self, dialect: Dialect) -> String {
        self.name(dialect, &format!("\"{}\"", self.marker_table))
    }
}
