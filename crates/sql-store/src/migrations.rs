//! The migrations of one service.

use sqlx::{
    SqlSafeStr,
    migrate::{Migration, MigrationType, Migrator},
};
use std::borrow::Cow;

/// A migrator for these migrations, each a version, a name and its SQL.
#[must_use]
pub fn migrator(migrations: &[(i64, &'static str, &'static str)]) -> Migrator {
    let migrations = migrations.iter().map(|&(version, name, sql)| {
        let (name, sql) = (Cow::Borrowed(name), sql.into_sql_str());
        Migration::new(version, name, MigrationType::Simple, sql, false)
    });
    let mut migrator = Migrator::with_migrations(migrations.collect());
    // An older instance must be able to restart beside a newer one, in the middle of a rollout.
    migrator.set_ignore_missing(true);
    migrator
}
