//! Counts refusals, and logs them once a second. The first server error of a kind is logged on a line of its own, and
//! further ones once a second.

use crate::refusals::{REFUSALS, is_refusal};
use axum::{extract::MatchedPath, response::Response};
use http::Method;
use rolegate_auth_client::{CallError, Reason};
use rolegate_program::{
    event_log::EventLog,
    metrics::{IntCounterVec, counter_vec},
};
use std::sync::LazyLock;

static REFUSED: LazyLock<IntCounterVec> = LazyLock::new(|| {
    let help = "Requests refused by a rate limit or for lack of capacity, by route and reason.";
    counter_vec("rolegate_http_refusals_total", help, &["route", "reason"])
});

/// Counts the refusals that are not logged yet.
static PENDING: EventLog =
    EventLog::new(|refused| tracing::warn!(refused, "requests refused in the last second"));

/// Counts the server errors that are not logged yet. The first error of a kind is logged on a line of its own.
static FAILED: EventLog =
    EventLog::new(|failed| tracing::warn!(failed, "requests failed in the last second"));

/// Exports the counters of refused logins with the value zero, so that they are present before the first refusal.
pub(crate) fn register() {
    for reason in REFUSALS {
        for route in ["/login", "/sessions", "/sign-in"] {
            REFUSED.with_label_values(&[route, reason.as_str()]);
        }
    }
}

/// Counts and logs a 429 or a server error. The log has the route template, never the URL, which may hold secrets.
pub(super) fn record(method: &Method, route: Option<&MatchedPath>, response: &Response) {
    let cause = response.extensions().get::<CallError>();
    let reason = cause.and_then(CallError::reason).map_or("", Reason::as_str);
    if cause.is_some_and(is_refusal) {
        let route = route.map_or("unmatched", MatchedPath::as_str);
        REFUSED.with_label_values(&[route, reason]).inc();
        PENDING.count(format!("{route} {reason}"));
    } else if response.status().is_server_error() {
        let route = route.map_or("", MatchedPath::as_str);
        let status = response.status().as_u16();
        let cause = cause.map(tracing::field::display);
        if FAILED.is_first(format!("{route} {status} {reason}").trim_end().to_owned()) {
            tracing::warn!(%method, route, status, cause, "request failed");
        } else {
            tracing::debug!(%method, route, status, cause, "request failed");
        }
    }
}
