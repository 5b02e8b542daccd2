//! Passwords and their hashes.
//!
//! - `validation`: the rules of a password; `blocklist`: common passwords, which are refused.
//! - `hasher`: hashes and verifies; `pepper`: the input of bcrypt; `credential_cache`: successful checks.
//! - `foreign_hash`: hashes of other systems; `foreign_checks`: runs their checks.
//! - `importable`: the hashes that an import accepts; `rejection`: why it refuses one.

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
