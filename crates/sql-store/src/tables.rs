//! The tables of one service.

use sqlx::{
    SqlSafeStr,
    migrate::{Migration, MigrationType, Migrator},
};
use std::borrow::Cow;

/// The table of applied migrations, as sqlx names it.
const HISTORY: &str = "_sqlx_migrations";

/// Migrations by ascending version: version, name, SQL.
pub type Migrations = &'static [(i64, &'static str, &'static str)];

/// The tables of one service, and the migrations that create them.
#[derive(Clone, Copy, Debug)]
pub struct Tables {
    /// The service.
    pub owner: &'static str,
    /// A table that the first migration creates and none drops.
    pub marker_table: &'static str,
    /// The schema in PostgreSQL, created if it is missing; `None` for the first of the search path.
    pub schema: Option<&'static str>,
    /// The migrations for PostgreSQL.
    pub postgres: Migrations,
    /// The migrations for SQLite.
    pub sqlite: Migrations,
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

    /// The history and the marker table, as `to_regclass` of PostgreSQL parses names.
    pub(crate) fn names_in_postgres(&self) -> (String, String) {
        (self.in_postgres(HISTORY), self.in_postgres(&format!("\"{}\"", self.marker_table)))
    }

    /// The history and the marker table, as `sqlite_master` names them.
    pub(crate) fn names_in_sqlite(&self) -> (&'static str, &'static str) {
        (HISTORY, self.marker_table)
    }

    fn in_postgres(&self, table: &str) -> String {
        self.schema.map_or_else(|| table.to_owned(), |schema| format!("{schema}.{table}"))
    }
}

fn migrator(migrations: Migrations) -> Migrator {
    let migrations = migrations.iter().map(|&(version, name, sql)| {
        let (name, sql) = (Cow::Borrowed(name), sql.into_sql_str());
        Migration::new(version, name, MigrationType::Simple, sql, false)
    });
    let mut migrator = Migrator::with_migrations(migrations.collect());
    // During a rollout, an older instance must be able to restart beside a newer one.
    migrator.set_ignore_missing(true);
    migrator
}
