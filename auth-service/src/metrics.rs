//! The Prometheus metrics of auth-service. No label value comes from a client, because clients could otherwise
//! create any number of time series.

use parking_lot::Mutex;
use rolegate_bcrypt_lanes::Stats;
use rolegate_program::metrics::{
    Histogram, IntCounter, IntCounterVec, IntGauge, LATENCY_BUCKETS, advance_to, before_scrape,
    counter, counter_vec, gauge, histogram, set_count,
};
use rolegate_proto::Reason;
use std::{sync::LazyLock, time::Duration};
use tokio::time::Instant;

/// All of these metrics, which are registered together when one of them is first used.
pub(crate) static METRICS: LazyLock<Metrics> = LazyLock::new(|| {
    let authorizations = counter_vec(
        "rolegate_authorizations_total",
        "Authorizations by outcome: OK or an error reason.",
        &["outcome"],
    );
    let api_keys_presented = counter_vec(
        "rolegate_api_keys_presented_total",
        "API keys presented, by outcome: accepted (even if the role was insufficient) or refused.",
        &["outcome"],
    );
    Metrics {
        logins: counter_vec(
            "rolegate_logins_total",
            "Password checks by method (login, session, basic) and outcome: OK or an error reason.",
            &["method", "outcome"],
        ),
        authorizations_allowed: authorizations.with_label_values(&[OK]),
        authorizations,
        tokens_issued: counter("rolegate_tokens_issued_total", "Access tokens issued."),
        api_keys_accepted: api_keys_presented.with_label_values(&["accepted"]),
        api_keys_refused: api_keys_presented.with_label_values(&["refused"]),
        api_keys_created: counter("rolegate_api_keys_created_total", "API keys created."),
        basic_cache_hits: counter(
            "rolegate_basic_cache_hits_total",
            "Basic checks answered from the credential cache.",
        ),
        limit_refusals: counter_vec(
            "rolegate_limit_refusals_total",
            "Attempts refused by a rate limit. The limit basic refuses no client: it counts wrong \
                 passwords in batches.",
            &["limit"],
        ),
        hashing_wait: histogram(
            "rolegate_hashing_wait_seconds",
            "How long a password waited for a lane.",
            LATENCY_BUCKETS,
        ),
        hashing_run: histogram(
            "rolegate_hashing_run_seconds",
            "How long it took to hash a password.",
            LATENCY_BUCKETS,
        ),
        queued: gauge(
            "rolegate_hashing_queued_jobs",
            "Passwords waiting for a lane.",
        ),
        busy_lanes: gauge("rolegate_hashing_busy_lanes", "Lanes hashing a password."),
        lanes: gauge("rolegate_hashing_lanes", "Lanes of all hashing threads."),
        jobs: counter_vec(
            "rolegate_hashing_jobs_total",
            "Password hashes by outcome: completed, refused (no capacity in time), expired, dropped \
                 (cancelled).",
            &["outcome"],
        ),
        panics: counter(
            "rolegate_hashing_panics_total",
            "Hashing threads restarted after a panic.",
        ),
        oldest_unsealed: gauge(
            "rolegate_audit_oldest_unsealed_seconds",
            "How long the oldest row of the record has waited to be sealed.",
        ),
    }
});

pub(crate) struct Metrics {
    logins: IntCounterVec,
    authorizations: IntCounterVec,
    authorizations_allowed: IntCounter,
    pub(crate) tokens_issued: IntCounter,
    pub(crate) api_keys_accepted: IntCounter,
    api_keys_refused: IntCounter,
    pub(crate) api_keys_created: IntCounter,
    pub(crate) basic_cache_hits: IntCounter,
    limit_refusals: IntCounterVec,
    pub(crate) hashing_wait: Histogram,
    pub(crate) hashing_run: Histogram,
    // The statistics of the password engine are read at each scrape.
    queued: IntGauge,
    busy_lanes: IntGauge,
    lanes: IntGauge,
    jobs: IntCounterVec,
    panics: IntCounter,
    oldest_unsealed: IntGauge,
}

/// The time at which the oldest unsealed row of the record was written; `None` if all rows are sealed.
static UNSEALED_SINCE: Mutex<Option<Instant>> = Mutex::new(None);

/// The label value of a check that succeeded.
const OK: &str = "OK";

/// Counts a password check. `refusal` is `None` if the password was accepted.
pub(crate) fn count_login(method: &str, refusal: Option<Reason>) {
    METRICS
        .logins
        .with_label_values(&[method, refusal.map_or(OK, |reason| reason.as_str())])
        .inc();
}

/// Counts an authorization. `refusal` is `None` if it was granted.
pub(crate) fn count_authorization(refusal: Option<Reason>) {
    match refusal {
        None => METRICS.authorizations_allowed.inc(),
        Some(reason) => METRICS
            .authorizations
            .with_label_values(&[reason.as_str()])
            .inc(),
    }
}

pub(crate) fn count_api_key(is_accepted: bool) {
    if is_accepted {
        METRICS.api_keys_accepted.inc();
    } else {
        METRICS.api_keys_refused.inc();
    }
}

pub(crate) fn count_limit_refusal(limit: &str) {
    METRICS.limit_refusals.with_label_values(&[limit]).inc();
}

/// Records for the metric how long the oldest unsealed row has waited; `None` if all rows are sealed.
pub(crate) fn set_oldest_unsealed(age: Option<Duration>) {
    let now = Instant::now();
    *UNSEALED_SINCE.lock() = age.map(|age| now.checked_sub(age).unwrap_or(now));
}

/// Records that the age of the oldest unsealed row cannot be read. If a row was waiting before, its age
/// continues to grow. Otherwise the age counts from now, because a row may be waiting.
pub(crate) fn set_oldest_unsealed_unknown() {
    UNSEALED_SINCE.lock().get_or_insert_with(Instant::now);
}

/// Returns how long the oldest unsealed row has waited, in seconds; 0 if all rows are sealed.
pub(crate) fn oldest_unsealed_seconds() -> u64 {
    let since = *UNSEALED_SINCE.lock();
    since.map_or(0, |since| since.elapsed().as_secs())
}

/// Exports the metrics with fixed labels at zero, so that they exist before their first event. The counters of
/// the password engine are read at each scrape.
pub(crate) fn register(stats: impl Fn() -> Stats + Send + Sync + 'static) {
    let metrics = &*METRICS;
    for limit in [
        "login",
        "registration",
        "password_link",
        "one_time_code",
        "additions",
        "basic",
    ] {
        metrics.limit_refusals.with_label_values(&[limit]);
    }
    before_scrape("audit", move || {
        metrics
            .oldest_unsealed
            .set(i64::try_from(oldest_unsealed_seconds()).unwrap_or(i64::MAX));
    });
    before_scrape("hashing", move || {
        let stats = stats();
        set_count(&metrics.queued, stats.queued);
        set_count(&metrics.busy_lanes, stats.lanes_busy);
        set_count(&metrics.lanes, stats.lanes_total);
        for (outcome, count) in [
            ("completed", stats.completed),
            ("refused", stats.refused),
            ("expired", stats.expired),
            ("dropped", stats.dropped),
        ] {
            advance_to(&metrics.jobs.with_label_values(&[outcome]), count);
        }
        advance_to(&metrics.panics, stats.panics);
    });
}
