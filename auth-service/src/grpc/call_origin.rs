//! Reads the client address and the deadline of a call.

use crate::call_origin::CallOrigin;
use rolegate_telemetry::request_context::RequestContext;
use std::time::{Duration, Instant};
use tonic::{Request, metadata::MetadataMap};

/// For callers that set no deadline.
const DEFAULT_TIMEOUT: Duration = Duration::from_secs(10);
/// Reserved for the response to reach the caller; at most a tenth of the timeout.
const MAX_RESPONSE_RESERVE: Duration = Duration::from_millis(500);
/// The longest timeout that callers get.
const MAX_TIMEOUT: Duration = Duration::from_secs(30);

/// The client address is that of the request context, which `rolegate_grpc_server` sets.
pub(super) fn origin_of<M>(request: &Request<M>) -> CallOrigin {
    let time = timeout(request.metadata())
        .unwrap_or(DEFAULT_TIMEOUT)
        .min(MAX_TIMEOUT);
    let time = time.saturating_sub((time / 10).min(MAX_RESPONSE_RESERVE));
    let client_address = RequestContext::client_address();
    CallOrigin {
        client_address,
        deadline: Instant::now() + time,
    }
}

/// `grpc-timeout`: at most eight digits and a unit (gRPC over HTTP/2, Requests).
fn timeout(metadata: &MetadataMap) -> Option<Duration> {
    let text = metadata.get("grpc-timeout")?.to_str().ok()?;
    let (number, unit) = text.split_at_checked(text.len().checked_sub(1)?)?;
    if number.len() > 8 || !number.bytes().all(|byte| byte.is_ascii_digit()) {
        return None;
    }
    let number: u64 = number.parse().ok()?;
    Some(match unit {
        "H" => Duration::from_hours(number),
        "M" => Duration::from_mins(number),
        "S" => Duration::from_secs(number),
        "m" => Duration::from_millis(number),
        "u" => Duration::from_micros(number),
        "n" => Duration::from_nanos(number),
        _ => return None,
    })
}

#[cfg(test)]
mod tests {
    use super::{DEFAULT_TIMEOUT, origin_of, timeout};
    use std::time::{Duration, Instant};
    use tonic::{Request, metadata::MetadataValue};

    #[test]
    fn grpc_timeout_sets_the_deadline_within_bounds() {
        let mut request = Request::new(());
        for (text, time) in [
            ("100m", Duration::from_millis(100)),
            ("5S", Duration::from_secs(5)),
            ("99999999H", Duration::from_hours(99_999_999)),
        ] {
            request
                .metadata_mut()
                .insert("grpc-timeout", MetadataValue::from_static(text));
            assert_eq!(timeout(request.metadata()), Some(time), "{text}");
        }
        for text in [
            "",
            "S",
            "5",
            "5x",
            "-5S",
            "+5S",
            "123456789S",
            "99999999999S",
        ] {
            request
                .metadata_mut()
                .insert("grpc-timeout", MetadataValue::from_static(text));
            assert_eq!(timeout(request.metadata()), None, "{text}");
        }
        let left = origin_of(&request).deadline - Instant::now();
        assert!(left <= DEFAULT_TIMEOUT && left > DEFAULT_TIMEOUT / 2);
    }
}
