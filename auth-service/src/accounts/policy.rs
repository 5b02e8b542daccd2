//! Settings for passwords, rate limits and registration.

use crate::password::PasswordRules;
use std::time::Duration;

/// The settings of the operator.
#[derive(Clone, Debug)]
pub struct Policy {
    /// For new passwords.
    pub passwords: PasswordRules,
    /// Login failures per minute for a username at an address; 15 times that for an address; 0 for
    /// no limit.
    pub login_failure_limit: u32,
    /// TTL of successful checks of HTTP Basic credentials; zero turns the cache off.
    pub basic_cache_ttl: Duration,
    /// Whether users may register.
    pub registration_open: bool,
    /// Registrations per minute from an address; 0 for no limit.
    pub registration_limit: u32,
}
