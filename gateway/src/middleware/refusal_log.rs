//! Counts refusals, and logs them once a second.

use crate::refusals::{REFUSALS, is_refusal};
use axum::{extract::MatchedPath, response::Response};
use http::StatusCode;
use rolegate_auth_client::{CallError, Reason};
use rolegate_telemetry::{
    event_log::EventLog,
    metrics::{IntCounterVec, counter_vec},
};
use std::sync::LazyLock;

static REFUSED: LazyLock<IntCounterVec> = LazyLock::new(|| {
    let help = "Requests refused by a rate limit or for want of capacity, by route and reason.";
    counter_vec("rolegate_http_refusals_total", help, &["route", "reason"])
});

/// The refusals that are not yet logged.
static PENDING: EventLog =
    EventLog::new(|refused| tracing::warn!(refused, "requests refused in the last second"));

/// Exports the refusals of logins at zero.
pub(crate) fn register() {
    for reason in REFUSALS {
        REFUSED.with_label_values(&["/login", reason.as_str()]);
    }
}

/// The reason if the response is a refusal.
pub(crate) fn reason(response: &Response) -> Option<Reason> {
    let statuses = [StatusCode::TOO_MANY_REQUESTS, StatusCode::SERVICE_UNAVAILABLE];
    let cause = || response.extensions().get::<CallError>();
    statuses.contains(&response.status()).then(cause)?.filter(|cause| is_refusal(cause))?.reason()
}

/// Counts a refusal, and logs it with the others of its second.
pub(crate) fn record(route: Option<&MatchedPath>, reason: Reason) {
    let (route, reason) = (route.map_or("unmatched", MatchedPath::as_str), reason.as_str());
    REFUSED.with_label_values(&[route, reason]).inc();
    PENDING.count(format!("{route} {reason}"));
}
