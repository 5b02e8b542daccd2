//! The database of users as the commands of an operator read and change it. The use cases of the running service go
//! through [`UserStore`](super::UserStore) instead, which uses only `user_pages`, for snapshots.
//!
//! - `import` inserts many users at once, and `user_pages` reads all users.
//! - `end_all` ends the sessions, access tokens and password links of all users, and their API keys on request. An
//!   operator does so after a theft or a restore.
//! - `sealed_record` reads the whole record as of one moment, and `record_pages` reads it in pages. `erasure` erases
//!   names in the record.

mod end_all;
mod erasure;
mod import;
mod record_pages;
mod sealed_record;
mod user_pages;

pub use end_all::HighWaterMarks;
pub(crate) use end_all::{ApiKeys, EndOfAll};
#[cfg(test)]
pub(super) use erasure::Erasure;
pub(crate) use import::Import;
pub(crate) use record_pages::MAX_PAGE_ROWS;
pub(crate) use sealed_record::{RecordContents, RecordedRemoval, SealedRecord};
pub(super) use user_pages::Export;
pub(crate) use user_pages::ExportedUser;

use rolegate_sql_store::{Database, StoreError};

/// Gives the commands of an operator access to a database of users.
pub(crate) struct OperatorDatabase {
    pub(super) database: Database,
}

impl OperatorDatabase {
    /// Returns the highest id that was ever assigned to a user, even if that user was deleted; 0 if no id was assigned.
    pub(crate) async fn highest_id(&self) -> Result<i64, StoreError> {
        let assigned = if self.database.is_postgres() {
            r#"SELECT pg_sequence_last_value(pg_get_serial_sequence('"user"', 'id')::regclass)"#
        } else {
            "SELECT seq FROM sqlite_sequence WHERE name = 'user'"
        };
        let select = self
            .database
            .statement("SELECT coalesce(max(id), 0) FROM (")
            .push(r#"SELECT id FROM "user" UNION ALL "#)
            .push(assigned)
            .push(") AS ids");
        let highest = self.database.read_optional(select).await?;
        Ok(highest.unwrap_or_default())
    }
}
