//! The clients of a run: an admin who changes users (`admin`), the users (`user`), and an attacker who guesses a
//! password (`guesser`). `passwords` has the requests that several of them make.

mod admin;
mod guesser;
mod passwords;
mod user;

pub(crate) use admin::admin;
pub(crate) use guesser::guesser;
pub(crate) use user::user;

/// How many users the admin creates and changes.
pub(crate) const USERS: usize = 3;
