//! Reads what use cases need to know about a call: the credential of the actor, the client address and the deadline.

use crate::call_origin::CallOrigin;
use rolegate_grpc_server::{actor, call_head};
use rolegate_telemetry::request_context::RequestContext;
use std::time::{Duration, Instant};
use tonic::{Extensions, Request, metadata::MetadataMap};

/// The timeout for callers that set no deadline.
const DEFAULT_TIMEOUT: Duration = Duration::from_secs(10);
/// The maximum part of a timeout that is reserved for the response, so that the response still reaches the
/// caller in time. If a tenth of the timeout is less, only that tenth is reserved.
const MAX_RESPONSE_RESERVE: Duration = Duration::from_millis(500);
/// The maximum timeout, even if the caller requests a longer one.
const MAX_TIMEOUT: Duration = Duration::from_secs(30);

/// A call without its message.
pub(super) struct Call {
    /// When the message was taken out of the request.
    received_at: Instant,
    pub(super) metadata: MetadataMap,
    pub(super) extensions: Extensions,
}

impl Call {
    /// Takes the message out of a request.
    pub(super) fn split<M>(request: Request<M>) -> (Self, M) {
        let (metadata, extensions, message) = request.into_parts();
        let call = Self {
            received_at: Instant::now(),
            metadata,
            extensions,
        };
        (call, message)
    }

    /// Returns the credential of the actor; empty if the call has none, or more than one.
    pub(super) fn credential(&self) -> &str {
        actor::token(&self.metadata)
    }

    /// Returns the client address and the deadline of the call. `rolegate_grpc_server` has put the address into the
    /// request context. The deadline leaves time for the response, and is at most [`MAX_TIMEOUT`] after the message was
    /// taken out of the request.
    pub(super) fn origin(&self) -> CallOrigin {
        // A malformed timeout cannot arrive here, because the server has already refused such a call.
        let timeout = call_head::timeout(self.metadata.as_ref())
            .ok()
            .flatten()
            .unwrap_or(DEFAULT_TIMEOUT)
            .min(MAX_TIMEOUT);
        let response_reserve = (timeout / 10).min(MAX_RESPONSE_RESERVE);
        CallOrigin {
            client_address: RequestContext::client_address(),
            deadline: self.received_at + timeout.saturating_sub(response_reserve),
        }
    }
}

#[cfg(test)]
mod tests {
    use super::{Call, DEFAULT_TIMEOUT, MAX_TIMEOUT};
    use std::time::{Duration, Instant};
    use tonic::{Request, metadata::MetadataValue};

    #[test]
    fn grpc_timeout_sets_the_deadline_within_bounds() {
        let left = |request: Request<()>| {
            let (call, ()) = Call::split(request);
            call.origin().deadline - Instant::now()
        };
        let default = left(Request::new(()));
        assert!(default <= DEFAULT_TIMEOUT && default > DEFAULT_TIMEOUT / 2);
        for (text, time) in [
            ("100m", Duration::from_millis(100)),
            ("5S", Duration::from_secs(5)),
            ("99999999H", MAX_TIMEOUT),
        ] {
            let mut request = Request::new(());
            let value = MetadataValue::from_static(text);
            request.metadata_mut().insert("grpc-timeout", value);
            let left = left(request);
            assert!(left <= time && left > time / 2, "{text}");
        }
    }
}
