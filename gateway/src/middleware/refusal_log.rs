//! Counts refusals, and logs them once a second: a line for each would let a client that floods fill
//! the disk.

use crate::refusals::{REFUSALS, is_refusal};
use axum::{extract::MatchedPath, response::Response};
use http::StatusCode;
use rolegate_auth_client::{CallError, Reason};
use rolegate_telemetry::metrics::{IntCounterVec, counter_vec};
use std::{
    collections::BTreeMap,
    fmt::Write as _,
    mem,
    sync::{LazyLock, Mutex, MutexGuard, PoisonError},
    time::Duration,
};

const INTERVAL: Duration = Duration::from_secs(1);

static REFUSED: LazyLock<IntCounterVec> = LazyLock::new(|| {
    let help = "Requests refused by a rate limit or for want of capacity, by route and reason.";
    counter_vec("rolegate_http_refusals_total", help, &["route", "reason"])
});

/// Refusals by reason and route that are not yet logged.
static PENDING: Mutex<Counts> = Mutex::new(BTreeMap::new());

type Counts = BTreeMap<&'static str, BTreeMap<String, u64>>;

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
    let mut pending = pending();
    let is_first = pending.is_empty();
    add(&mut pending, route, reason);
    drop(pending);
    if is_first {
        tokio::spawn(async {
            tokio::time::sleep(INTERVAL).await;
            let counts = mem::take(&mut *self::pending());
            tracing::warn!(refused = text(&counts), "requests refused in the last second");
        });
    }
}

fn add(counts: &mut Counts, route: &str, reason: &'static str) {
    let routes = counts.entry(reason).or_default();
    match routes.get_mut(route) {
        Some(count) => *count += 1,
        None => drop(routes.insert(route.to_owned(), 1)),
    }
}

/// `/login OVERLOADED 12, /login TOO_MANY_ATTEMPTS 3`.
fn text(counts: &Counts) -> String {
    let mut text = String::new();
    for (reason, routes) in counts {
        for (route, count) in routes {
            let separator = if text.is_empty() { "" } else { ", " };
            // Writing to a string never fails.
            let _ = write!(text, "{separator}{route} {reason} {count}");
        }
    }
    text
}

fn pending() -> MutexGuard<'static, Counts> {
    PENDING.lock().unwrap_or_else(PoisonError::into_inner)
}

#[cfg(test)]
mod tests {
    use super::{Counts, add, text};

    #[test]
    fn a_line_has_a_count_for_each_reason_and_route() {
        let mut counts = Counts::new();
        for (route, reason) in [
            ("/login", "TOO_MANY_ATTEMPTS"),
            ("/login", "OVERLOADED"),
            ("/protected", "TOO_MANY_ATTEMPTS"),
            ("/login", "OVERLOADED"),
        ] {
            add(&mut counts, route, reason);
        }
        let expected =
            "/login OVERLOADED 2, /login TOO_MANY_ATTEMPTS 1, /protected TOO_MANY_ATTEMPTS 1";
        assert_eq!(text(&counts), expected);
    }
}
