//! The database of users: the trait `UserStore`, for PostgreSQL and for SQLite.
//!
//! PostgreSQL is for production; SQLite is the embedded default, so that one command runs
//! everything. Reads return `Option`s and lists, writes return typed errors. SQL stays in this module.
//!
//! - `open`: opens the store of a URL; `sql`: its statements; `list_query`: the longest of them;
//!   `tables`: its schema.
//! - `UserStore`: the users; `Writer`: who changes one, and the condition for it, of which `admin_check` is a part;
//!   `WriteError`: why a write failed.
//! - `TokenStore`: API keys and sessions; `additions`: how many are made in a minute; `usage_pause`: when
//!   their uses could not be written.
//! - `operator_database`: what the commands of an operator do.
//! - `BatchedReads`: concurrent reads of single users or tokens share statements.
//! - `SecondFactorStore`, `AuditStore`: those about links and codes, and about the record. `audit_row`: its rows, which may be
//!   unreadable (`checked_row`); `seal`: its digests; `user_change`: the changes in it that other services learn of.

pub(crate) mod additions;
mod admin_check;
mod audit_row;
mod audit_store;
mod batched_reads;
mod checked_row;
mod inspection;
mod list_query;
mod opaque_tokens;
mod operator_database;
pub(crate) mod seal;
mod second_factor;
#[cfg(simulation)]
#[path = "../../tests/simulation/stores/users.rs"]
pub mod simulated;
mod sql;
mod tables;
mod usage_pause;
mod user_change;
mod user_store;
mod write_error;
mod writer;

pub(crate) use audit_row::AuditRow;
pub(crate) use audit_store::{AuditFilter, AuditStore, DAY_SECONDS, SEAL_INTERVAL, Snapshot};
pub(crate) use batched_reads::BatchedReads;
pub(crate) use checked_row::{CheckedRow, END_OF_9999, UnreadableColumn};
pub(crate) use inspection::UnsealedRows;
pub use inspection::{UserFacts, inspect};
pub(crate) use opaque_tokens::{SessionEnd, TokenSelection, TokenStore, UsageKind};
pub use operator_database::HighWaterMarks;
pub(crate) use operator_database::{
    ApiKeys, EndOfAll, Import, MAX_PAGE_ROWS, OperatorDatabase, RecordContents, RecordedRemoval,
    SealedRecord, UserRecord,
};
pub(crate) use rolegate_sql_store::FileClock;
pub use rolegate_sql_store::StoreError;
pub(crate) use seal::Seal;
pub use seal::SealReference;
pub(crate) use second_factor::{
    CodeLimit, CodePurpose, OneTimeCodeUse, PASSWORD_LINK_SECONDS, StoredPasswordLink,
    StoredSecondFactor, WrongCodes,
};
pub(crate) use sql::{open, open_beside};
pub(crate) use usage_pause::{MAX_PAUSE_AHEAD, UsagePause, active_last_use_range};
pub(crate) use user_change::{CheckedChange, UserChange};
pub(crate) use user_store::{NAME, UserStore};
pub use user_store::{NewPasswordLink, NewUser, Rename, RoleUsage, UserFilter, UserUpdate};
pub use write_error::WriteError;
pub use writer::Writer;

#[cfg(test)]
#[cfg(not(simulation))]
pub(crate) mod tests;
#[cfg(simulation)]
#[expect(dead_code, reason = "some of it is for tests only")]
mod tests {
    pub(super) mod memory;
}
