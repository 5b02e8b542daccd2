//! Passwords and their bcrypt hashes.
//!
//! - `validation`: the rules of a password.
//! - `blocklist`: passwords that everybody knows.
//! - `hasher`: hashes and verifies on the threads of `rolegate_bcrypt_lanes`.
//! - `foreign_hash`: hashes of other systems; `foreign_checks`: runs their checks; `importable`: those that may come into the database; `rejection`: why others may not.
//! - `pepper`: what goes into bcrypt, with secrets outside the database.
//! - `credential_cache`: successful checks of HTTP Basic.

mod blocklist;
mod credential_cache;
mod foreign_checks;
mod foreign_hash;
mod hasher;
mod importable;
mod pepper;
mod rejection;
mod validation;

pub(crate) use blocklist::BlocklistFile;
pub(crate) use credential_cache::{CacheKey, CredentialCache};
pub(crate) use hasher::{HashError, Hasher, Verification};
pub(crate) use importable::{HashCounts, HashRules, NO_PASSWORD};
pub(crate) use pepper::Peppers;
pub(crate) use validation::{Password, PasswordError, PasswordRules, PresentedPassword};
