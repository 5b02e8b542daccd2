//! Counts and times requests. The labels have a bounded number of values: route templates, and only
//! the methods that HTTP defines.

use super::request_origin::IGNORED;
use axum::extract::MatchedPath;
use http::{Method, StatusCode};
use rolegate_auth_client::metrics::DECISIONS;
use rolegate_posts_client::metrics::READS;
use rolegate_telemetry::metrics::{
    HistogramVec, IntCounterVec, LATENCY_BUCKETS, counter_vec, histogram_vec,
};
use std::{sync::LazyLock, time::Instant};

static REQUESTS: LazyLock<IntCounterVec> = LazyLock::new(|| {
    let help = "HTTP requests by variant, route, method and status; status \"none\": the client \
                disconnected before the response.";
    counter_vec("rolegate_http_requests_total", help, &["variant", "route", "method", "status"])
});

static DURATIONS: LazyLock<HistogramVec> = LazyLock::new(|| {
    let help = "Time from the head of a request to the head of its response.";
    let labels = &["variant", "route", "method"];
    histogram_vec("rolegate_http_request_duration_seconds", help, labels, LATENCY_BUCKETS)
});

/// Registers the metrics of requests and of batched calls to auth-service and, `with_posts`, to
/// posts-service, so that they are present before the first request.
pub(crate) fn register(with_posts: bool) {
    LazyLock::force(&REQUESTS);
    LazyLock::force(&DURATIONS);
    LazyLock::force(&DECISIONS);
    IGNORED.register_metric();
    if with_posts {
        LazyLock::force(&READS);
    }
}

/// A request in flight. Dropping it without [`finish`](Self::finish) counts it as cancelled.
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
        method: &Method,
        route: Option<MatchedPath>,
    ) -> Self {
        let method = method_name(method);
        Self { variant, method, route, started: Instant::now(), status: None }
    }

    pub(crate) fn finish(mut self, status: StatusCode) {
        self.status = Some(status);
    }
}

impl Drop for RequestMetrics {
    fn drop(&mut self) {
        let route = self.route.as_ref().map_or("unmatched", MatchedPath::as_str);
        let status = self.status.as_ref().map_or("none", StatusCode::as_str);
        REQUESTS.with_label_values(&[self.variant, route, self.method, status]).inc();
        if self.status.is_some() {
            let seconds = self.started.elapsed().as_secs_f64();
            DURATIONS.with_label_values(&[self.variant, route, self.method]).observe(seconds);
        }
    }
}

/// The methods of RFC 9110, section 9.3, and RFC 5789; clients can invent any number of others.
pub(crate) fn method_name(method: &Method) -> &'static str {
    let known = ["GET", "HEAD", "POST", "PUT", "DELETE", "CONNECT", "OPTIONS", "TRACE", "PATCH"];
    known.into_iter().find(|name| *name == method.as_str()).unwrap_or("_OTHER")
}
