//! Hashing and verifying passwords with bcrypt, off the event loop and within bounds.
//!
//! An unknown user costs the same work as a wrong password: without a stored hash, or without a
//! password that could be anybody's, a stand-in is verified, and the answer is no.

mod hasher;
mod rule;

pub use hasher::{HashError, Hasher};
pub use rule::{LONGEST_BYTES, Password, PasswordRule};
