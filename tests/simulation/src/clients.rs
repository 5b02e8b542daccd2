//! The clients: an admin who changes users, the users, and somebody who guesses a password.

mod admin;
mod guesser;
mod passwords;
mod user;

pub(crate) use admin::admin;
pub(crate) use guesser::guesser;
pub(crate) use user::user;

/// Users whom the admin changes.
pub(crate) const USERS: usize = 3;
