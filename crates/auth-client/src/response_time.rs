//! Times in responses. A response whose time is missing or cannot be shown is malformed.

use prost_types::Timestamp;
use rolegate_grpc_client::CallError;
use rolegate_proto::time;
use std::time::SystemTime;

/// A time that a response must have.
pub(crate) fn required_time(timestamp: Option<Timestamp>) -> Result<SystemTime, CallError> {
    time::from_message(timestamp).ok_or(CallError::Malformed)
}

/// A time that a response may leave out.
pub(crate) fn optional_time(timestamp: Option<Timestamp>) -> Result<Option<SystemTime>, CallError> {
    match timestamp {
        Some(_) => required_time(timestamp).map(Some),
        None => Ok(None),
    }
}
