//! Reads the client address and the deadline of a call.

use crate::request_origin::RequestOrigin;
use rolegate_grpc_server::caller;
use rolegate_service_runtime::cidr_set::CidrSet;
use std::time::{Duration, Instant};
use tonic::{Request, metadata::MetadataMap};

/// For callers that set no deadline.
const DEFAULT_TIMEOUT: Duration = Duration::from_secs(10);
/// Reserved for the response to reach the caller; at most a tenth of the timeout.
const MAX_RESPONSE_RESERVE: Duration = Duration::from_millis(500);
/// The longest timeout that callers get.
const MAX_TIMEOUT: Duration = Duration::from_secs(30);

/// See [`caller`] for which callers may set the client address.
pub(super) fn from_request<M>(request: &Request<M>, trusted: &CidrSet) -> RequestOrigin {
    let time = timeout(request.metadata()).unwrap_or(DEFAULT_TIMEOUT).min(MAX_TIMEOUT);
    let time = time.saturating_sub((time / 10).min(MAX_RESPONSE_RESERVE));
    let client_address = caller::client_address(request, trusted);
    RequestOrigin { client_address, deadline: Instant::now() + time }
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
    use super::{DEFAULT_TIMEOUT, from_request, timeout};
    use std::{
        net::IpAddr,
        time::{Duration, Instant},
    };
    use tonic::{Request, metadata::MetadataValue, transport::server::TcpConnectInfo};

    fn request(peer: Option<&str>, address: Option<&'static str>) -> Request<()> {
        let mut request = Request::new(());
        if let Some(peer) = peer {
            let remote_addr = Some(peer.parse().expect("an address"));
            request.extensions_mut().insert(TcpConnectInfo { local_addr: None, remote_addr });
        }
        if let Some(address) = address {
            request.metadata_mut().insert("x-client-address", MetadataValue::from_static(address));
        }
        request
    }

    fn client(peer: Option<&str>, address: Option<&'static str>) -> Option<IpAddr> {
        from_request(&request(peer, address), &"10.0.0.0/8".parse().expect("a network"))
            .client_address
    }

    #[test]
    fn only_trusted_callers_set_the_client_address() {
        let ip = |text: &str| Some(text.parse().expect("an address"));
        assert_eq!(client(Some("10.0.0.1:5"), Some("192.0.2.1")), ip("192.0.2.1"));
        assert_eq!(client(Some("11.0.0.1:5"), Some("192.0.2.1")), ip("11.0.0.1"));
        assert_eq!(client(Some("10.0.0.1:5"), Some("nonsense")), ip("10.0.0.1"));
        assert_eq!(client(Some("10.0.0.1:5"), None), ip("10.0.0.1"));
        // Unknown peers are untrusted.
        assert_eq!(client(None, Some("192.0.2.1")), None);
    }

    #[test]
    fn grpc_timeout_sets_the_deadline_within_bounds() {
        let mut request = request(None, None);
        for (text, time) in [
            ("100m", Duration::from_millis(100)),
            ("5S", Duration::from_secs(5)),
            ("99999999H", Duration::from_hours(99_999_999)),
        ] {
            request.metadata_mut().insert("grpc-timeout", MetadataValue::from_static(text));
            assert_eq!(timeout(request.metadata()), Some(time), "{text}");
        }
        for text in ["", "S", "5", "5x", "-5S", "+5S", "123456789S", "99999999999S"] {
            request.metadata_mut().insert("grpc-timeout", MetadataValue::from_static(text));
            assert_eq!(timeout(request.metadata()), None, "{text}");
        }
        let left = from_request(&request, &"".parse().expect("none")).deadline - Instant::now();
        assert!(left <= DEFAULT_TIMEOUT && left > DEFAULT_TIMEOUT / 2);
    }
}
