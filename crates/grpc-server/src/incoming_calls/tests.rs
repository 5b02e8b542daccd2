use super::IncomingCalls;
use crate::{
    methods::{MethodTable, register_metrics},
    server::HEALTH_METHODS,
};
use http::Request;
use rolegate_program::metrics;
use std::sync::Arc;
use tonic::body::Body;
use tower::Service as _;

#[tokio::test]
async fn unknown_methods_are_unimplemented_and_share_one_label() {
    const GRPC: &str = "application/grpc";
    register_metrics();
    let (_reporter, health) = tonic_health::server::health_reporter();
    let mut methods = MethodTable::default();
    methods.add_service(&health, &HEALTH_METHODS);
    let mut calls = IncomingCalls {
        methods: Arc::new(methods),
        trusted: Arc::default(),
    };
    let mut call = |path: &str, content_type: &str| {
        let request = Request::builder()
            .uri(path)
            .header("content-type", content_type);
        calls.call(request.body(Body::empty()).expect("a request"))
    };
    for path in [
        "/grpc.health.v1.Health/Planted",
        "/planted.Service/Planted",
        "/planted",
        "/",
    ] {
        let Ok(response) = call(path, GRPC).await;
        assert_eq!(response.headers()["grpc-status"], "12", "{path}");
        assert_eq!(response.headers()["content-type"], GRPC, "{path}");
        assert!(!response.headers().contains_key("grpc-message"), "{path}");
    }
    let Ok(_response) = call("/grpc.health.v1.Health/Check", GRPC).await;
    // A call is counted as cancelled if its future is dropped before it is polled.
    drop(call("/grpc.health.v1.Health/Watch", GRPC));
    // A call with a malformed head is refused before its path is looked up.
    for path in ["/grpc.health.v1.Health/Check", "/planted.Service/Planted"] {
        let Ok(refused) = call(path, "text/plain").await;
        assert_eq!(refused.status(), 415, "{path}");
    }
    let text = metrics::text();
    assert!(!text.to_lowercase().contains("planted"), "{text}");
    for series in [
        r#"{code="UNIMPLEMENTED",method="_OTHER",service="_OTHER"} 4"#,
        r#"{code="INVALID_ARGUMENT",method="_OTHER",service="_OTHER"} 2"#,
        r#"{code="CANCELLED",method="Watch",service="grpc.health.v1.Health"} 1"#,
        r#"method="Check",service="grpc.health.v1.Health"}"#,
    ] {
        assert!(text.contains(series), "{series}: {text}");
    }
}
