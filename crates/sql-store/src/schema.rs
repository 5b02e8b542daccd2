//! Compares the tables of a database with those of a service, without changing anything.
//!
//! `existing_tables.rs` reads what the database has. This file compares it with the migrations of this release,
//! and refuses a schema that is damaged or belongs to another program.

mod existing_tables;

pub(crate) use existing_tables::SchemaSharing;

use crate::{error::OpenFailure, statement::Connection, tables::Tables};
use existing_tables::{AppliedMigration, ExistingTables};
use sqlx::migrate::Migrator;

/// The state of the schema of a database, compared with this release.
#[derive(Clone, Debug, PartialEq, Eq)]
pub enum Schema {
    /// The database has no tables yet.
    Missing {
        /// True if this database user may create the tables.
        can_create: bool,
    },
    /// The schema is what the migrations of this release create.
    Current,
    /// An older release created the schema.
    Older {
        /// The number of pending migrations.
        missing: usize,
    },
    /// A newer release created the schema. Migrations only add, so this release works with it.
    Newer,
}

impl Schema {
    pub(crate) fn has_tables(&self) -> bool {
        !matches!(self, Self::Missing { .. })
    }

    /// Returns whether every migration of this release is applied.
    pub(crate) fn is_up_to_date(&self) -> bool {
        matches!(self, Self::Current | Self::Newer)
    }

    /// Reads the schema of a database and compares it with `tables`. A schema that is damaged or belongs to
    /// another program is an error.
    pub(crate) async fn read(
        connection: &mut Connection<'_>,
        tables: &Tables,
        sharing: SchemaSharing,
    ) -> Result<Self, OpenFailure> {
        let existing = ExistingTables::read(connection, tables, sharing).await?;
        let ours = tables.migrator(connection.dialect());
        compare(tables, &ours, &existing)
    }
}

/// Compares the migrations that are applied in a database with `ours`, the migrations of this release.
fn compare(
    tables: &Tables,
    ours: &Migrator,
    existing: &ExistingTables,
) -> Result<Schema, OpenFailure> {
    if let Some(problem) = find_problem(tables, ours, existing) {
        let owner = tables.owner;
        let problem = format!("is not a database of {owner}: {problem}");
        return Err(OpenFailure::Unrecognized(problem));
    }
    let applied = &existing.applied;
    if applied.is_empty() {
        return Ok(Schema::Missing {
            can_create: existing.can_create,
        });
    }
    let pending = ours
        .iter()
        .filter(|migration| !contains(applied, migration.version));
    Ok(match pending.count() {
        0 if applied.iter().all(|it| ours.version_exists(it.version)) => Schema::Current,
        0 => Schema::Newer,
        missing => Schema::Older { missing },
    })
}

/// Returns the reason why this is not a database of the service, or why it is damaged; `None` if there is no
/// problem.
fn find_problem(tables: &Tables, ours: &Migrator, existing: &ExistingTables) -> Option<String> {
    let marker_table = tables.marker_table;
    let applied = &existing.applied;
    let Some(first) = applied.first() else {
        if existing.has_marker {
            return Some(format!(
                "another program created its table {marker_table:?}; use a database or a schema of its own"
            ));
        }
        return existing.conflict.map(str::to_owned);
    };
    // Every service has a first migration.
    let first_of_ours = ours.iter().next()?;
    if first_of_ours.description != first.description {
        let name = &first.description;
        return Some(format!("the first migration of its owner is {name:?}"));
    }
    if applied.iter().any(|migration| !migration.success) {
        return Some("a migration was started and not finished".to_owned());
    }
    let has_first = contains(applied, first_of_ours.version);
    if !has_first || applied.iter().any(|it| is_altered(it, ours)) {
        return Some("its migrations differ from those of this release".to_owned());
    }
    if !existing.has_marker {
        return Some(format!("its table {marker_table:?} is missing"));
    }
    None
}

fn contains(applied: &[AppliedMigration], version: i64) -> bool {
    applied.iter().any(|migration| migration.version == version)
}

fn is_altered(applied: &AppliedMigration, ours: &Migrator) -> bool {
    ours.iter()
        .any(|ours| ours.version == applied.version && *ours.checksum != *applied.checksum)
}

#[cfg(test)]
mod tests;
