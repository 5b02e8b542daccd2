//! Hashing and verifying passwords with bcrypt, off the event loop, fairly and within bounds.
//!
//! - [`Password`]: what can be one. [`Hasher`]: the engine of `rolegate_bcrypt_lanes` behind a narrow
//!   interface. An unknown user costs the same work as a wrong password.
//! - `cache`: right checks, remembered for HTTP Basic; `core_dumps` keeps them off disks.

pub(crate) mod core_dumps;
mod credential_cache;
mod hasher;
mod validation;

pub(crate) use credential_cache::{CacheKey, CredentialCache};
pub use hasher::{HashError, Hasher, HasherError, Verification};
pub use validation::{MAX_PASSWORD_BYTES, Password, PasswordError};
