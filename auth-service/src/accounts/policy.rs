//! What the operator decides about passwords, guesses and registrations.

use std::time::Duration;

/// The operator's decisions.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Policy {
    /// Least length of a new password in bytes.
    pub password_min_length: usize,
    /// Failed logins a minute for a username at an address; 15 times that for an address; 0 for any
    /// number.
    pub login_failure_limit: u32,
    /// How long a right Basic check is remembered; zero for not at all.
    pub basic_cache_ttl: Duration,
    /// Whether anybody may register.
    pub registration_open: bool,
    /// Registrations a minute from one address; 0 for any number.
    pub registration_limit: u32,
}
