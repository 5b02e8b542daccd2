//! One call, from its head to its answer: counted, timed, and a span of its request's trace.

use http::HeaderMap;
use prost::Message as _;
use prost_types::FileDescriptorSet;
use rolegate_telemetry::metrics::{
    HistogramVec, IntCounterVec, LATENCY_BUCKETS, counter_vec, histogram_vec,
};
use std::{
    collections::HashSet,
    sync::{Arc, LazyLock},
    time::Instant,
};
use tonic::Code;
use tracing::{Span, field::Empty, info_span};

static CALLS: LazyLock<IntCounterVec> = LazyLock::new(|| {
    let help =
        "gRPC calls by method and status code; code \"CANCELLED\" also where the caller left.";
    counter_vec("rolegate_grpc_requests_total", help, &["service", "method", "code"])
});

static DURATIONS: LazyLock<HistogramVec> = LazyLock::new(|| {
    let help = "Time from the head of a gRPC call to the head of its answer.";
    let labels = &["service", "method"];
    histogram_vec("rolegate_grpc_request_duration_seconds", help, labels, LATENCY_BUCKETS)
});

/// Shows the metrics of calls from now on.
pub(super) fn begin() {
    LazyLock::force(&CALLS);
    LazyLock::force(&DURATIONS);
}

/// The paths of calls that somebody serves here: a client could make up any number of others.
pub(super) struct KnownCalls(HashSet<Arc<str>>);

/// What a server serves beside its own contract.
const OTHERS: [&str; 4] = [
    "/grpc.health.v1.Health/Check",
    "/grpc.health.v1.Health/Watch",
    "/grpc.reflection.v1.ServerReflection/ServerReflectionInfo",
    "/grpc.reflection.v1alpha.ServerReflection/ServerReflectionInfo",
];

impl KnownCalls {
    /// Those of the contract with these descriptors, and what every server has.
    pub(super) fn of(descriptors: &[u8]) -> Self {
        let files = FileDescriptorSet::decode(descriptors).unwrap_or_default().file;
        let mut known: HashSet<Arc<str>> = OTHERS.map(Arc::from).into();
        for file in &files {
            for service in &file.service {
                let calls = service.method.iter().map(|call| {
                    format!("/{}.{}/{}", file.package(), service.name(), call.name()).into()
                });
                known.extend(calls);
            }
        }
        Self(known)
    }

    /// A call that begins now.
    pub(super) fn call(&self, path: &str) -> Call {
        Call { path: self.0.get(path).cloned(), started: Instant::now(), code: None }
    }
}

/// A call under way; counted when it is answered, or dropped because nobody waits any more.
pub(super) struct Call {
    /// `None` for what nobody serves, whatever it is called.
    path: Option<Arc<str>>,
    started: Instant,
    code: Option<Code>,
}

impl Call {
    /// `rolegate.auth.v1.AuthService/Login`
    fn name(&self) -> &str {
        self.path.as_deref().map_or("_OTHER/_OTHER", |path| path.trim_start_matches('/'))
    }

    fn service_and_method(&self) -> (&str, &str) {
        self.name().split_once('/').unwrap_or(("_OTHER", "_OTHER"))
    }

    /// By OpenTelemetry's conventions for RPC; calls of the contract only. Disabled, and next to
    /// free, where nobody traces.
    pub(super) fn span(&self) -> Span {
        let (service, method) = self.service_and_method();
        if service.starts_with("grpc.") || self.path.is_none() {
            return Span::none();
        }
        info_span!(
            "served call",
            otel.name = self.name(),
            otel.kind = "server",
            otel.status_code = Empty,
            rpc.system = "grpc",
            rpc.service = service,
            rpc.method = method,
            rpc.grpc.status_code = Empty,
        )
    }

    /// A refusal stands in the head of the answer; what has none there went well until now.
    pub(super) fn end(mut self, headers: &HeaderMap) {
        let code =
            headers.get("grpc-status").map_or(Code::Ok, |code| Code::from_bytes(code.as_bytes()));
        let span = Span::current();
        span.record("rpc.grpc.status_code", code as i32);
        if is_fault(code) {
            span.record("otel.status_code", "ERROR");
        }
        self.code = Some(code);
    }
}

impl Drop for Call {
    fn drop(&mut self) {
        let (service, method) = self.service_and_method();
        let code = name_of(self.code.unwrap_or(Code::Cancelled));
        CALLS.with_label_values(&[service, method, code]).inc();
        if self.code.is_some() {
            let seconds = self.started.elapsed().as_secs_f64();
            DURATIONS.with_label_values(&[service, method]).observe(seconds);
        }
    }
}

/// What is an error of the server rather than an answer to the caller.
fn is_fault(code: Code) -> bool {
    use Code::{DataLoss, DeadlineExceeded, Internal, Unavailable, Unimplemented, Unknown};
    matches!(code, Unknown | DeadlineExceeded | Unimplemented | Internal | Unavailable | DataLoss)
}

/// As gRPC's own documents write it.
fn name_of(code: Code) -> &'static str {
    match code {
        Code::Ok => "OK",
        Code::Cancelled => "CANCELLED",
        Code::Unknown => "UNKNOWN",
        Code::InvalidArgument => "INVALID_ARGUMENT",
        Code::DeadlineExceeded => "DEADLINE_EXCEEDED",
        Code::NotFound => "NOT_FOUND",
        Code::AlreadyExists => "ALREADY_EXISTS",
        Code::PermissionDenied => "PERMISSION_DENIED",
        Code::ResourceExhausted => "RESOURCE_EXHAUSTED",
        Code::FailedPrecondition => "FAILED_PRECONDITION",
        Code::Aborted => "ABORTED",
        Code::OutOfRange => "OUT_OF_RANGE",
        Code::Unimplemented => "UNIMPLEMENTED",
        Code::Internal => "INTERNAL",
        Code::Unavailable => "UNAVAILABLE",
        Code::DataLoss => "DATA_LOSS",
        Code::Unauthenticated => "UNAUTHENTICATED",
    }
}

#[cfg(test)]
mod tests {
    use super::KnownCalls;

    #[test]
    fn a_call_that_nobody_serves_has_no_name_of_its_own() {
        let known = KnownCalls::of(rolegate_proto::AUTH_DESCRIPTORS);
        for path in ["/rolegate.auth.v1.AuthService/Login", "/grpc.health.v1.Health/Check"] {
            assert_eq!(known.call(path).name(), &path[1..]);
        }
        for path in ["/rolegate.auth.v1.AuthService/Nothing", "/x", "", "/a/b/c"] {
            assert_eq!(known.call(path).service_and_method(), ("_OTHER", "_OTHER"), "{path}");
        }
    }
}
