//! Checks, hashes and verifies passwords.
//!
//! A new password is checked by the rules in `validation`, which refuse common passwords with `blocklist`.
//! `hasher` then hashes it: `pepper` computes the input of bcrypt, and the engine in `rolegate_bcrypt_lanes`
//! runs bcrypt.
//!
//! A presented password is verified by `hasher` against the stored hash. If that is a hash of another system,
//! imported earlier, `foreign_hash` reads it and `foreign_checks` runs the check beside the engine.
//! `credential_cache` remembers successful checks of HTTP Basic, so that a request need not wait for bcrypt.
//!
//! `importable` decides which hashes `user import` accepts, and `rejection` says why one is not accepted.
//! `accounts` decides who may log in and how many attempts a client has.

mod blocklist;
mod credential_cache;
mod foreign_checks;
pub(crate) mod foreign_hash;
mod hasher;
mod importable;
mod pepper;
mod rejection;
mod validation;

pub(crate) use blocklist::BlocklistFile;
pub(crate) use credential_cache::{CacheKey, CredentialCache, Recall};
pub(crate) use hasher::{HashError, Hasher, NO_PASSWORD, Verification};
pub(crate) use importable::{HashCounts, HashExceptions, HashRules};
pub(crate) use pepper::Peppers;
pub(crate) use validation::{Password, PasswordError, PasswordRules, PresentedPassword};
