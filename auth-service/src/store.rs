//! The database of users. In auth-service, only this module and the migrations contain SQL, except for
//! the columns of a user, which are in `user.rs`.
//!
//! PostgreSQL is for production; SQLite is the embedded default, so that one command runs everything. Most reads return
//! an `Option` or a list, and most writes fail with a `WriteError`.
//!
//! A read by key goes from a use case through `batched_reads`, which merges concurrent reads, to the statements in
//! `user_store`. Most writes lock the rows that their condition depends on (`user_store/locked_writes`), check the
//! condition, change rows, and record the change in the same transaction (`user_store/audit`).
//!
//! - `user_store` has the store, whose methods are the statements, and its function `open` opens it for a URL.
//!   `list_query` lists users in pages, and `tables` lists the migrations of the schema.
//! - `locked_rows` checks the conditions that depend on locked rows, such as that an active admin remains. `additions`
//!   limits how much is added to a user in a minute. `write_error` lists the reasons why a write fails.
//! - `checked_row` defines a row of the record that may be unreadable, and `seal` the chain of
//!   digests over the rows. `user_change` defines a change of a user, as other services read it. `second_factor` has a
//!   stored second factor.
//! - `usage_pause` decides which sessions are idle after a period during which the store could not write when sessions
//!   were used.
//! - `operator_database` reads and changes the database for the commands of an operator, and `inspection` reads the
//!   facts that `doctor` reports.

pub(crate) mod additions;
mod batched_reads;
mod checked_row;
mod inspection;
mod list_query;
mod locked_rows;
mod operator_database;
pub(crate) mod seal;
mod second_factor;
mod tables;
mod usage_pause;
mod user_change;
mod user_store;
mod write_error;

pub(crate) use batched_reads::{BatchedReads, DecisionKey};
pub(crate) use checked_row::{CheckedRow, UnreadableColumn};
pub(crate) use inspection::UnsealedRows;
pub use inspection::{UserFacts, inspect};
pub use list_query::{MalformedCursor, RoleFilter, SortValue, UserCursor, UserFilter, UserOrder};
pub use operator_database::HighWaterMarks;
pub(crate) use operator_database::{
    ApiKeys, EndOfAll, ExportedUser, Import, MAX_PAGE_ROWS, OperatorDatabase, RecordContents,
    RecordedRemoval, SealedRecord,
};
pub(crate) use rolegate_sql_store::FileClock;
pub use rolegate_sql_store::StoreError;
pub(crate) use seal::Seal;
pub use seal::SealReference;
pub(crate) use second_factor::{
    CodeLimit, CodePurpose, OneTimeCodeUse, StoredSecondFactor, WrongCodes,
};
pub use tables::RoleUsage;
pub(crate) use usage_pause::{MAX_PAUSE_AHEAD, UsagePause, active_last_use_range};
pub(crate) use user_change::{CheckedChange, UserChange};
pub(crate) use user_store::{AuditFilter, DAY_SECONDS, NAME, SEAL_INTERVAL, Snapshot, UsageKind};
#[cfg(not(test))]
pub(crate) use user_store::{UserStore, open, open_beside};
pub use write_error::{NamingKey, WriteError};

#[cfg(test)]
pub(crate) mod tests;
/// In tests, the use cases run on a store whose calls can fail or wait.
#[cfg(test)]
pub(crate) use tests::test_store::{TestStore as UserStore, open, open_beside};
