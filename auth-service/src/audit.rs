//! Records what happens to users and their credentials, in the audit log and in the record, which is a table of
//! the database.
//!
//! An event becomes an `Entry` (`entry`). The entry is logged as a line with the target `audit`, whatever
//! `RUST_LOG` says, and stored as a row of the record. Uses of API keys and denials for a proxy appear in the
//! log but not in the record. The request id and the client address come from the request context.
//!
//! - `requested` joins a change, its principal and the request that caused it, and makes the entries of the change.
//!   The store inserts the rows of these entries in the transaction of the change.
//! - `sign_ins` makes the entries of sign-ins, uses of API keys and refusals, which strangers can cause in any
//!   number, and limits their lines in the log. `sign_in_rows` decides which of these events get a row. These rows are
//!   written in the background.
//! - `events` names all events, and `audit_row` defines the columns of a row and what its seal covers.
//!
//! Neither log nor record contains secrets or unknown usernames, because users type passwords into the wrong
//! field. The SQL of the record is in `store`, and the use cases decide when an event happens.

mod audit_row;
mod entry;
mod events;
mod requested;
mod sign_in_rows;
mod sign_ins;
mod user_state;

pub(crate) use audit_row::{AuditRow, Tampering, parse_details};
pub(crate) use entry::{EndedCredentials, Entry, Removal};
pub(crate) use events::{AUDIT_ERASED, EVENTS, EventGroup, EventSelection, USER_RENAMED};
pub(crate) use requested::{BulkChange, RecoveryCodeUse, Requested};
pub(crate) use sign_in_rows::{SignInRows, UnrecordedRefusal};
pub(crate) use sign_ins::{
    api_key_refusal, is_key_refusal_due, log_access_denial, log_api_key_use, log_cross_site_denial,
    log_login, log_login_failure, log_password_link_refusal, unrecorded_refusals,
};
pub(crate) use user_state::UserState;
