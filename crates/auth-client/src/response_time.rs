//! Converts times in responses. A response is malformed if a time is missing, or if RFC 3339 cannot express it.

use prost_types::Timestamp;
use rolegate_grpc_client::CallError;
use rolegate_proto::time;
use std::time::SystemTime;

/// Converts a time that a response must have.
pub(crate) fn required_time(timestamp: Option<Timestamp>) -> Result<SystemTime, CallError> {
    time::from_message(timestamp).ok_or(CallError::Malformed)
}
