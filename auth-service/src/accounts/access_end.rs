//! Checks the times at which access ends: those of API keys, memberships and accounts. All times are in Unix seconds.

use super::error::AccountError;
use rolegate_proto::{Reason, time::END_OF_9999};

/// The end of a membership or an account that a request asks for.
#[derive(Clone, Copy, Debug)]
pub enum RequestedEnd {
    /// There is no end.
    Never,
    /// The end is at this time.
    At(i64),
}

impl RequestedEnd {
    /// Checks that the end is in the future, and returns it; `None` if there is none.
    pub(crate) fn check(self, now: u64) -> Result<Option<u64>, AccountError> {
        match self {
            Self::Never => Ok(None),
            Self::At(time) => check_end("End", Reason::EndInvalid, time, now).map(Some),
        }
    }
}

/// Checks that a new key expires in the future, and returns the time of expiry.
pub(crate) fn check_key_expiry(expires_at: i64, now: u64) -> Result<u64, AccountError> {
    check_end("API key expiry", Reason::ApiKeyInvalid, expires_at, now)
}

fn check_end(
    subject: &'static str,
    reason: Reason,
    end: i64,
    now: u64,
) -> Result<u64, AccountError> {
    let invalid = |rule| AccountError::invalid(reason, format!("{subject} must be {rule}."));
    // RFC 3339 has no notation for later times.
    if end > END_OF_9999 {
        return Err(invalid("before the year 10000"));
    }
    match u64::try_from(end) {
        Ok(time) if time > now => Ok(time),
        _ => Err(invalid("in the future")),
    }
}
