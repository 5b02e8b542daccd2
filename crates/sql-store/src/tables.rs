//! The tables of one service, as migrations.

use sqlx::{
    SqlSafeStr,
    migrate::{self, MigrationType, Migrator},
};
use std::borrow::Cow;

/// The table of applied migrations, as sqlx names it.
pub(crate) const HISTORY: &str = "_sqlx_migrations";

/// A step of the schema from one version to the next.
#[derive(Clone, Copy, Debug)]
pub struct Migration {
    /// The number of the version that it creates.
    pub version: i64,
    /// Its name in the history of the database.
    pub name: &'static str,
    /// Its statements for PostgreSQL.
    pub postgres: &'static str,
    /// Its statements for SQLite.
    pub sqlite: &'static str,
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
    /// By ascending version.
    pub migrations: &'static [Migration],
}

impl Tables {
    pub(crate) fn postgres_migrator(&self) -> Migrator {
        let mut migrator = self.migrator(|migration| migration.postgres);
        if let Some(schema) = self.schema {
            migrator.create_schema(schema);
            migrator.dangerous_set_table_name(self.in_postgres(HISTORY));
        }
        migrator
    }

    pub(crate) fn sqlite_migrator(&self) -> Migrator {
        self.migrator(|migration| migration.sqlite)
    }

    /// The name of this table in statements for PostgreSQL.
    pub(crate) fn in_postgres(&self, table: &str) -> String {
        match self.schema {
            Some(schema) => format!("{schema}.{table}"),
            None => table.to_owned(),
        }
    }

    pub(crate) fn marker_in_postgres(&self) -> String {
        self.in_postgres(&format!("\"{}\"", self.marker_table))
    }

    fn migrator(&self, sql: fn(&Migration) -> &'static str) -> Migrator {
        let migrations = self.migrations.iter().map(|migration| {
            migrate::Migration::new(
                migration.version,
                Cow::Borrowed(migration.name),
                MigrationType::Simple,
                sql(migration).into_sql_str(),
                false,
            )
        });
        let mut migrator = Migrator::with_migrations(migrations.collect());
        // During a rollout, an older instance must be able to restart beside a newer one.
        migrator.set_ignore_missing(true);
        migrator
    }
}
