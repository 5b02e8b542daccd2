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

static LOGINS: LazyLock<IntCounterVec> = LazyLock::new(|| {
    let help =
        "Password checks by method (login, session, basic) and outcome: OK or an error reason.";
    counter_vec("rolegate_logins_total", help, &["method", "outcome"])
});

static AUTHORIZATIONS: LazyLock<IntCounterVec> = LazyLock::new(|| {
    let help = "Authorizations by outcome: OK or an error reason.";
    counter_vec("rolegate_authorizations_total", help, &["outcome"])
});

static AUTHORIZATIONS_ALLOWED: LazyLock<IntCounter> =
    LazyLock::new(|| AUTHORIZATIONS.with_label_values(&[OK]));

pub(crate) static TOKENS_ISSUED: LazyLock<IntCounter> =
    LazyLock::new(|| counter("rolegate_tokens_issued_total", "Access tokens issued."));

static API_KEYS_PRESENTED: LazyLock<IntCounterVec> = LazyLock::new(|| {
    let help = "API keys presented, by outcome: accepted (even if the role was insufficient) or \
                refused.";
    counter_vec("rolegate_api_keys_presented_total", help, &["outcome"])
});

pub(crate) static API_KEYS_ACCEPTED: LazyLock<IntCounter> =
    LazyLock::new(|| API_KEYS_PRESENTED.with_label_values(&["accepted"]));

static API_KEYS_REFUSED: LazyLock<IntCounter> =
    LazyLock::new(|| API_KEYS_PRESENTED.with_label_values(&["refused"]));

pub(crate) static API_KEYS_CREATED: LazyLock<IntCounter> =
    LazyLock::new(|| counter("rolegate_api_keys_created_total", "API keys created."));

pub(crate) static BASIC_CACHE_HITS: LazyLock<IntCounter> = LazyLock::new(|| {
    counter(
        "rolegate_basic_cache_hits_total",
        "Basic checks answered from the credential cache.",
    )
});

static LIMIT_REFUSALS: LazyLock<IntCounterVec> = LazyLock::new(|| {
    let help = "Attempts refused by a rate limit. The limit basic refuses no client: it counts wrong \
                passwords in batches.";
    counter_vec("rolegate_limit_refusals_total", help, &["limit"])
});

pub(crate) static HASHING_WAIT: LazyLock<Histogram> = LazyLock::new(|| {
    let help = "How long a password waited for a lane.";
    histogram("rolegate_hashing_wait_seconds", help, LATENCY_BUCKETS)
});

pub(crate) static HASHING_RUN: LazyLock<Histogram> = LazyLock::new(|| {
    let help = "How long it took to hash a password.";
    histogram("rolegate_hashing_run_seconds", help, LATENCY_BUCKETS)
});

static ENGINE: LazyLock<EngineMetrics> = LazyLock::new(|| {
    let jobs = "Password hashes by outcome: completed, refused (no capacity in time), expired, dropped \
                (cancelled).";
    EngineMetrics {
        queued: gauge(
            "rolegate_hashing_queued_jobs",
            "Passwords waiting for a lane.",
        ),
        busy_lanes: gauge("rolegate_hashing_busy_lanes", "Lanes hashing a password."),
        lanes: gauge("rolegate_hashing_lanes", "Lanes of all hashing threads."),
        jobs: counter_vec("rolegate_hashing_jobs_total", jobs, &["outcome"]),
        panics: counter(
            "rolegate_hashing_panics_total",
            "Hashing threads restarted after a panic.",
        ),
    }
});

/// The statistics of the password engine, which are read at each scrape.
struct EngineMetrics {
    queued: IntGauge,
    busy_lanes: IntGauge,
    lanes: IntGauge,
    jobs: IntCounterVec,
    panics: IntCounter,
}

static OLDEST_UNSEALED: LazyLock<IntGauge> = LazyLock::new(|| {
    let help = "How long the oldest row of the record has waited to be sealed.";
    gauge("rolegate_audit_oldest_unsealed_seconds", help)
});

/// The time at which the oldest unsealed row of the record was written; `None` if all rows are sealed.
static UNSEALED_SINCE: Mutex<Option<Instant>> = Mutex::new(None);

/// The label value of a check that succeeded.
const OK: &str = "OK";

/// Counts a password check. `refusal` is `None` if the password was accepted.
pub(crate) fn count_login(method: &str, refusal: Option<Reason>) {
    LOGINS
        .with_label_values(&[method, refusal.map_or(OK, |reason| reason.as_str())])
        .inc();
}

/// Counts an authorization. `refusal` is `None` if it was granted.
pub(crate) fn count_authorization(refusal: Option<Reason>) {
    match refusal {
        None => AUTHORIZATIONS_ALLOWED.inc(),
        Some(reason) => AUTHORIZATIONS.with_label_values(&[reason.as_str()]).inc(),
    }
}

pub(crate) fn count_api_key(is_accepted: bool) {
    if is_accepted {
        API_KEYS_ACCEPTED.inc();
    } else {
        API_KEYS_REFUSED.inc();
    }
}

pub(crate) fn count_limit_refusal(limit: &str) {
    LIMIT_REFUSALS.with_label_values(&[limit]).inc();
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
    for counter in [
        &AUTHORIZATIONS_ALLOWED,
        &TOKENS_ISSUED,
        &API_KEYS_CREATED,
        &API_KEYS_ACCEPTED,
        &API_KEYS_REFUSED,
        &BASIC_CACHE_HITS,
    ] {
        LazyLock::force(counter);
    }
    LazyLock::force(&HASHING_WAIT);
    LazyLock::force(&HASHING_RUN);
    for limit in [
        "login",
        "registration",
        "password_link",
        "one_time_code",
        "additions",
        "basic",
    ] {
        LIMIT_REFUSALS.with_label_values(&[limit]);
    }
    LazyLock::force(&OLDEST_UNSEALED);
    before_scrape("audit", || {
        OLDEST_UNSEALED.set(i64::try_from(oldest_unsealed_seconds()).unwrap_or(i64::MAX));
    });
    before_scrape("hashing", move || {
        let stats = stats();
        set_count(&ENGINE.queued, stats.queued);
        set_count(&ENGINE.busy_lanes, stats.lanes_busy);
        set_count(&ENGINE.lanes, stats.lanes_total);
        for (outcome, count) in [
            ("completed", stats.completed),
            ("refused", stats.refused),
            ("expired", stats.expired),
            ("dropped", stats.dropped),
        ] {
            advance_to(&ENGINE.jobs.with_label_values(&[outcome]), count);
        }
        advance_to(&ENGINE.panics, stats.panics);
    });
}
