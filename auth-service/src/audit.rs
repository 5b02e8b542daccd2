//! Events of users and their credentials: each is a line of the audit log and a row of the record.
//! The line has the target `audit`, regardless of `RUST_LOG`, and gets the request id from the request
//! context. The row of a change is written in its transaction, rows of sign-ins and refusals in the background.
//!
//! Neither contains secrets or unknown usernames, because users type passwords into the wrong field.
//!
//! - `entry`: what the line and the row say.
//! - `change`, `write`: the changes, and the entries of those that somebody makes.
//! - `sign_ins`: the events that strangers can cause.
//! - `sign_in_rows`: which of these get a row.
//! - `former_username`: a name in the record beside that of the user.

mod change;
mod entry;
mod former_username;
mod sign_in_rows;
mod sign_ins;
mod write;

pub(crate) use change::{AUDIT_ERASED, Change, EVENTS, USER_RENAMED};
pub(crate) use entry::{Details, EndedCredentials, Entry, Removal, UserState};
pub(crate) use former_username::{FORMER_DIGEST, FormerUsername, salted_digest};
pub(crate) use sign_in_rows::{SignInRows, UnrecordedRefusal};
pub(crate) use sign_ins::{
    api_key_refusal, is_key_refusal_due, log_access_denial, log_api_key_use, log_cross_site_denial,
    log_login, log_login_failure, log_password_link_refusal, unrecorded_refusals,
};
pub(crate) use write::{Initiator, Write};
