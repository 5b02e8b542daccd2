//! Checks who somebody is: by a username and a password, and by the code of a second factor.
//!
//! - `login` and `session_creation` sign people in. `basic` checks the credentials of each HTTP Basic
//!   request.
//! - `password_check` and `codes` contain the checks of passwords and codes that they share.

pub(super) mod basic;
pub(super) mod codes;
mod login;
pub(super) mod password_check;
pub(super) mod session_creation;
