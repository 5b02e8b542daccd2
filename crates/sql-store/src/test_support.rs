//! Opens databases for tests, and runs those of a simulation.

#[cfg(simulation)]
pub mod simulated;

#[cfg(test)]
use crate::{Database, DatabaseUrl, FileClock, Migration, Tables};

/// Opens a new database whose only migration is `create`, which creates a table `t`, perhaps with rows.
#[cfg(test)]
pub(crate) async fn open_with_table(url: &DatabaseUrl, create: &'static str) -> Database {
    let migration = Migration {
        version: 1,
        name: "t",
        postgres: create,
        sqlite: create,
    };
    let tables = Tables {
        owner: "test",
        marker_table: "t",
        schema: None,
        migrations: Box::leak(Box::new([migration])),
    };
    url.open(&tables, FileClock::Unused).await.expect("opened")
}
