//! Converts times in responses. A response is malformed if a required time is missing, or if RFC 3339 cannot
//! express a time.

use prost_types::Timestamp;
use rolegate_grpc_client::CallError;
use rolegate_proto::time;
use std::time::SystemTime;

/// Converts a time that a response must have. A missing time is an error.
pub(crate) fn required_time(timestamp: Option<Timestamp>) -> Result<SystemTime, CallError> {
    time::from_message(timestamp).ok_or(CallError::Malformed)
}

/// Converts a time that a response may omit. A missing time becomes `None`.
pub(crate) fn optional_time(timestamp: Option<Timestamp>) -> Result<Option<SystemTime>, CallError> {
    match timestamp {
        Some(_) => required_time(timestamp).map(Some),
        None => Ok(None),
    }
}
