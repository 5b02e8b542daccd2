//! Counts and measures requests, and opens their spans. Labels have a bounded number of values: route templates, and
//! only the methods that HTTP defines.

use super::request_source::{IGNORED_ADDRESSES, RequestSource};
use axum::extract::{MatchedPath, Request};
use http::{Method, StatusCode};
use rolegate_auth_client::DECISIONS;
use rolegate_posts_client::READS;
use rolegate_program::{
    metrics::{HistogramVec, IntCounterVec, LATENCY_BUCKETS, counter_vec, histogram_vec},
    traces,
};
use std::{sync::LazyLock, time::Instant};
use tracing::{Span, field::Empty, info_span};

static REQUESTS: LazyLock<IntCounterVec> = LazyLock::new(|| {
    let help = "HTTP requests by variant, route, method and status; status \"none\": the client \
                disconnected before the response.";
    counter_vec(
        "rolegate_http_requests_total",
        help,
        &["variant", "route", "method", "status"],
    )
});

static DURATIONS: LazyLock<HistogramVec> = LazyLock::new(|| {
    let help = "Time from the head of a request to the head of its response.";
    let labels = &["variant", "route", "method"];
    histogram_vec(
        "rolegate_http_request_duration_seconds",
        help,
        labels,
        LATENCY_BUCKETS,
    )
});

/// Registers the metrics of requests and of batched calls, so that they are present before the first request. Metrics
/// of calls to posts-service are registered only if `with_posts` is true.
pub(crate) fn register(with_posts: bool) {
    LazyLock::force(&REQUESTS);
    LazyLock::force(&DURATIONS);
    LazyLock::force(&DECISIONS);
    IGNORED_ADDRESSES.register_metric();
    if with_posts {
        LazyLock::force(&READS);
    }
}

/// The measurement of a request in flight. If it is dropped without [`finish`](Self::finish), the client disconnected
/// before the response, and the request is counted with the status `none`.
pub(crate) struct RequestMetrics {
    variant: &'static str,
    method: &'static str,
    route: Option<MatchedPath>,
    started: Instant,
    status: Option<StatusCode>,
}

impl RequestMetrics {
    pub(crate) fn start(
        variant: &'static str,
        method: &'static str,
        route: Option<MatchedPath>,
    ) -> Self {
        Self {
            variant,
            method,
            route,
            started: Instant::now(),
            status: None,
        }
    }

    pub(crate) fn finish(mut self, status: StatusCode) {
        self.status = Some(status);
    }
}

impl Drop for RequestMetrics {
    fn drop(&mut self) {
        let route = self.route.as_ref().map_or("unmatched", MatchedPath::as_str);
        let status = self.status.as_ref().map_or("none", StatusCode::as_str);
        REQUESTS
            .with_label_values(&[self.variant, route, self.method, status])
            .inc();
        if self.status.is_some() {
            let seconds = self.started.elapsed().as_secs_f64();
            DURATIONS
                .with_label_values(&[self.variant, route, self.method])
                .observe(seconds);
        }
    }
}

/// Returns the name of a method of RFC 9110, section 9.3, or RFC 5789. All other methods share one name, because
/// clients can invent any number of them.
pub(crate) fn method_name(method: &Method) -> &'static str {
    let known = [
        "GET", "HEAD", "POST", "PUT", "DELETE", "CONNECT", "OPTIONS", "TRACE", "PATCH",
    ];
    known
        .into_iter()
        .find(|name| *name == method.as_str())
        .unwrap_or("_OTHER")
}

/// Opens the span of a request, by the OpenTelemetry semantic conventions for HTTP servers.
///
/// The span records the route template, never the path or the query, which may hold secrets. Unless tracing is
/// configured, the span is disabled and costs almost nothing.
pub(super) fn start_span(
    request: &Request,
    method: &'static str,
    route: Option<&MatchedPath>,
    source: &RequestSource,
) -> Span {
    let route = route.map(MatchedPath::as_str);
    let span = info_span!(
        "request",
        otel.name = route.map_or_else(|| method.to_owned(), |route| format!("{method} {route}")),
        otel.kind = "server",
        otel.status_code = Empty,
        http.request.method = method,
        http.route = route,
        http.response.status_code = Empty,
        url.scheme = "http",
        client.address = source.client_address.map(tracing::field::display),
        rolegate.request_id = source.request_id.as_str(),
    );
    if source.is_trusted && !span.is_disabled() {
        traces::set_remote_parent(&span, request.headers());
    }
    span
}

pub(super) fn finish_span(span: &Span, status: StatusCode) {
    span.record("http.response.status_code", status.as_u16());
    if status.is_server_error() {
        span.record("otel.status_code", "ERROR");
    }
}
