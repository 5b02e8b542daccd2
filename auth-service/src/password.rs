//! Passwords and their bcrypt hashes.

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
pub(crate) use hasher::{HashError, Hasher, Verification};
pub(crate) use importable::{HashCounts, HashRules, NO_PASSWORD};
pub(crate) use pepper::Peppers;
pub(crate) use validation::{Password, PasswordError, PasswordRules, PresentedPassword};
