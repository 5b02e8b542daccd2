//! Tests the checks of a head, the identification of the caller, and what handlers ask of a call.

mod caller;
mod head;

use super::{Call, Caller, DEFAULT_TIMEOUT, MAX_TIMEOUT};
use std::time::{Duration, Instant};
use tonic::metadata::MetadataValue;

fn call(request: tonic::Request<()>) -> Call {
    let caller = Caller {
        is_trusted: false,
        client_address: None,
    };
    Call::split(caller, request).0
}

#[test]
fn exactly_one_bearer_token_is_accepted() {
    for (values, expected) in [
        (vec!["Bearer a.b"], "a.b"),
        (vec!["bearer  a.b "], "a.b"),
        (vec![], ""),
        (vec!["a.b"], ""),
        (vec!["Basic a.b"], ""),
        (vec!["Bearer a", "Bearer a"], ""),
    ] {
        let mut request = tonic::Request::new(());
        for value in &values {
            let value = MetadataValue::from_static(value);
            request.metadata_mut().append("authorization", value);
        }
        let call = call(request);
        assert_eq!(call.credential(), expected, "{values:?}");
        let optional = (!values.is_empty()).then_some(expected);
        assert_eq!(call.optional_credential(), optional, "{values:?}");
    }
}

#[test]
fn grpc_timeout_sets_the_deadline_within_bounds() {
    let left = |request| call(request).deadline() - Instant::now();
    let default = left(tonic::Request::new(()));
    assert!(default <= DEFAULT_TIMEOUT && default > DEFAULT_TIMEOUT / 2);
    for (text, time) in [
        ("100m", Duration::from_millis(100)),
        ("5S", Duration::from_secs(5)),
        ("99999999H", MAX_TIMEOUT),
    ] {
        let mut request = tonic::Request::new(());
        let value = MetadataValue::from_static(text);
        request.metadata_mut().insert("grpc-timeout", value);
        let left = left(request);
        assert!(left <= time && left > time / 2, "{text}");
    }
}
