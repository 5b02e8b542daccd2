//! Observes one call: counts it, measures its duration, and creates its span.

use http::{HeaderMap, Response};
use rolegate_telemetry::metrics::{
    HistogramVec, IntCounterVec, LATENCY_BUCKETS, counter_vec, histogram_vec,
};
use std::{future::poll_fn, pin::pin, sync::LazyLock, time::Instant};
use tonic::Code;
use tracing::{Span, field::Empty, info_span};

static CALLS: LazyLock<IntCounterVec> = LazyLock::new(|| {
    let help = "gRPC calls by method and status code; CANCELLED also if the caller left.";
    counter_vec(
        "rolegate_grpc_requests_total",
        help,
        &["service", "method", "code"],
    )
});

static DURATIONS: LazyLock<HistogramVec> = LazyLock::new(|| {
    let help = "Time from the head of a gRPC request to the head of its response.";
    let labels = &["service", "method"];
    histogram_vec(
        "rolegate_grpc_request_duration_seconds",
        help,
        labels,
        LATENCY_BUCKETS,
    )
});

pub(crate) fn register_metrics() {
    LazyLock::force(&CALLS);
    LazyLock::force(&DURATIONS);
}

/// Returns the service and the method of a path such as `/service/method`.
fn split_path(path: &str) -> Option<(&str, &str)> {
    path.strip_prefix('/')?.split_once('/')
}

/// A call in progress. It is counted when it is dropped.
pub(super) struct Call {
    path: String,
    /// True if the path names a method of this server. Other paths do not become labels, because clients could
    /// create any number of them.
    is_known: bool,
    started: Instant,
    code: Option<Code>,
}

impl Call {
    pub(super) fn start(path: &str) -> Self {
        Self {
            path: path.to_owned(),
            is_known: false,
            started: Instant::now(),
            code: None,
        }
    }

    /// Waits for the response, and finds out whether the method is known. tonic answers an unknown method with
    /// UNIMPLEMENTED at once, which no handler does. A call that waits, or that has another status, is
    /// therefore a call of a known method.
    pub(super) async fn measure<A, E>(
        mut self,
        response: impl Future<Output = Result<Response<A>, E>>,
    ) -> Result<Response<A>, E> {
        let mut response = pin!(response);
        let response = poll_fn(|cx| {
            let poll = response.as_mut().poll(cx);
            self.is_known |= poll.is_pending();
            poll
        })
        .await?;
        let code = self.record(&response);
        self.is_known |= code != Code::Unimplemented;
        Ok(response)
    }

    /// Counts the response to a call that reaches no service. Its path may name no method, so it does not
    /// become a label.
    pub(super) fn refuse<A>(mut self, response: Response<A>) -> Response<A> {
        self.record(&response);
        response
    }

    /// Stores the code of the response for the metrics, records it in the span, and returns it.
    fn record<A>(&mut self, response: &Response<A>) -> Code {
        let code = status(response.headers());
        self.code = Some(code);
        let span = Span::current();
        span.record("rpc.grpc.status_code", code as i32);
        if is_server_error(code) {
            span.record("otel.status_code", "ERROR");
        }
        code
    }
}

impl Drop for Call {
    fn drop(&mut self) {
        let (service, method) = match split_path(&self.path) {
            Some(labels) if self.is_known => labels,
            _ => ("_OTHER", "_OTHER"),
        };
        let code = code_name(self.code.unwrap_or(Code::Cancelled));
        CALLS.with_label_values(&[service, method, code]).inc();
        if self.code.is_some() {
            let seconds = self.started.elapsed().as_secs_f64();
            DURATIONS
                .with_label_values(&[service, method])
                .observe(seconds);
        }
    }
}

/// Creates a span by OpenTelemetry's conventions for RPC, for calls of Rolegate's own contracts. Other calls,
/// and calls with a very long path, get no span. Without a collector, the span is disabled.
pub(super) fn span(path: &str) -> Span {
    const MAX_PATH: usize = 128;
    let Some((service, method)) = split_path(path) else {
        return Span::none();
    };
    if !service.starts_with("rolegate.") || path.len() > MAX_PATH {
        return Span::none();
    }
    info_span!(
        "served call",
        otel.name = &path[1..],
        otel.kind = "server",
        otel.status_code = Empty,
        rpc.system = "grpc",
        rpc.service = service,
        rpc.method = method,
        rpc.grpc.status_code = Empty,
    )
}

/// Returns the code in the head of a response. An error instead of a response is always in the head. Without a
/// status there, the call is a success so far, and its status follows in the trailers.
fn status(headers: &HeaderMap) -> Code {
    headers
        .get("grpc-status")
        .map_or(Code::Ok, |code| Code::from_bytes(code.as_bytes()))
}

fn is_server_error(code: Code) -> bool {
    use Code::{DataLoss, DeadlineExceeded, Internal, Unavailable, Unimplemented, Unknown};
    matches!(
        code,
        Unknown | DeadlineExceeded | Unimplemented | Internal | Unavailable | DataLoss
    )
}

/// Returns the name of a code in the gRPC specification.
fn code_name(code: Code) -> &'static str {
    const NAMES: &str = "OK CANCELLED UNKNOWN INVALID_ARGUMENT DEADLINE_EXCEEDED NOT_FOUND \
        ALREADY_EXISTS PERMISSION_DENIED RESOURCE_EXHAUSTED FAILED_PRECONDITION ABORTED \
        OUT_OF_RANGE UNIMPLEMENTED INTERNAL UNAVAILABLE DATA_LOSS UNAUTHENTICATED";
    NAMES.split(' ').nth(code as usize).unwrap_or("UNKNOWN")
}

#[cfg(test)]
mod tests {
    use super::code_name;
    use crate::call_layer::CallObserver;
    use http::Request;
    use rolegate_telemetry::metrics;
    use std::{
        pin::pin,
        sync::Arc,
        task::{Context, Waker},
    };
    use tonic::{Code, body::Body, service::Routes};
    use tower::Service as _;

    #[test]
    fn codes_have_the_names_of_the_specification() {
        for (code, name) in [(0, "OK"), (3, "INVALID_ARGUMENT"), (16, "UNAUTHENTICATED")] {
            assert_eq!(code_name(Code::from_i32(code)), name);
        }
    }

    /// This also tests what [`super::Call::measure`] assumes of tonic: that unknown methods do not wait.
    #[tokio::test]
    async fn unknown_methods_are_answered_at_once_and_share_one_label() {
        const GRPC: &str = "application/grpc";
        let (_reporter, health) = tonic_health::server::health_reporter();
        let mut service = CallObserver {
            services: Routes::new(health),
            trusted: Arc::default(),
        };
        let mut call = |path: &str, content_type: &str| {
            let request = Request::builder()
                .uri(path)
                .header("content-type", content_type);
            service.call(request.body(Body::empty()).expect("a request"))
        };
        for path in [
            "/grpc.health.v1.Health/Planted",
            "/planted.Service/Planted",
            "/planted",
            "/",
        ] {
            let response = pin!(call(path, GRPC)).poll(&mut Context::from_waker(Waker::noop()));
            assert!(response.is_ready(), "{path}");
        }
        call("/grpc.health.v1.Health/Check", GRPC)
            .await
            .expect("infallible");
        // A call with a malformed head is refused before its path is looked up.
        for path in ["/grpc.health.v1.Health/Check", "/planted.Service/Planted"] {
            let refused = call(path, "text/plain").await.expect("infallible");
            assert_eq!(refused.status(), 415, "{path}");
        }
        let text = metrics::text();
        assert!(!text.to_lowercase().contains("planted"), "{text}");
        for series in [
            r#"{code="UNIMPLEMENTED",method="_OTHER",service="_OTHER"} 4"#,
            r#"{code="INVALID_ARGUMENT",method="_OTHER",service="_OTHER"} 2"#,
            r#"method="Check",service="grpc.health.v1.Health"}"#,
        ] {
            assert!(text.contains(series), "{series}: {text}");
        }
    }
}
