//! The tables of one service.

use sqlx::{
    SqlSafeStr,
    migrate::{Migration, MigrationType, Migrator},
};
use std::borrow::Cow;

/// Services that keep a store, by the name of their first migration, which stands in the history of
/// every store of theirs.
const SERVICES: [(&str, &str); 2] = [("user", "auth-service"), ("post", "posts-service")];

/// The history of migrations, as sqlx calls it.
const HISTORY: &str = "_sqlx_migrations";

/// Migrations in their order: a version, a name and its SQL.
pub type Migrations = &'static [(i64, &'static str, &'static str)];

/// The tables of one service, and how they come to be.
#[derive(Clone, Copy, Debug)]
pub struct Tables {
    /// The program that they belong to.
    pub owner: &'static str,
    /// One that the first migration makes and none removes.
    pub marker_table: &'static str,
    /// The schema in PostgreSQL, made if it is missing; `None` for the first of the search path.
    pub schema: Option<&'static str>,
    /// How they come to be in PostgreSQL.
    pub postgres: Migrations,
    /// How they come to be in SQLite.
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

    /// The history and the main table, as PostgreSQL's `to_regclass` reads names.
    pub(crate) fn names_in_postgres(&self) -> (String, String) {
        (self.in_postgres(HISTORY), self.in_postgres(&format!("\"{}\"", self.marker_table)))
    }

    /// The same in SQLite's list of tables.
    pub(crate) fn names_in_sqlite(&self) -> (&'static str, &'static str) {
        (HISTORY, self.marker_table)
    }

    fn in_postgres(&self, table: &str) -> String {
        self.schema.map_or_else(|| table.to_owned(), |schema| format!("{schema}.{table}"))
    }
}

/// The service whose first migration has this name.
pub(crate) fn owner_of(first_migration: &str) -> Option<&'static str> {
    let known = SERVICES.iter().find(|(name, _)| *name == first_migration);
    known.map(|(_, program)| *program)
}

fn migrator(migrations: Migrations) -> Migrator {
    let migrations = migrations.iter().map(|&(version, name, sql)| {
        let (name, sql) = (Cow::Borrowed(name), sql.into_sql_str());
        Migration::new(version, name, MigrationType::Simple, sql, false)
    });
    let mut migrator = Migrator::with_migrations(migrations.collect());
    // An older instance must be able to restart beside a newer one, in the middle of a rollout.
    migrator.set_ignore_missing(true);
    migrator
}
