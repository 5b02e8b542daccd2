//! Hashing and verifying passwords with bcrypt, off the event loop, fairly and within bounds.
//!
//! - [`Password`]: what can be one. [`Hasher`]: the engine of `rolegate_bcrypt_lanes` behind a narrow
//!   interface. An unknown user costs the same work as a wrong password.
//! - `memory`: right checks, remembered for HTTP Basic; `core_dumps` keeps them off disks.

pub(crate) mod core_dumps;
mod hasher;
pub(crate) mod memory;
mod rule;

pub use hasher::{Checked, HashError, Hasher, HasherError, Urgency};
pub use rule::{LONGEST_BYTES, Password, PasswordRule};
