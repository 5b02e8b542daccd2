//! Numbers about this process, in Prometheus' text form (version 0.0.4).
//!
//! One registry for a process: rolegate tells of both services at one address. A metric is made
//! once, in a `LazyLock` beside what it counts, and is touched before the program serves, so that it
//! is there before the first thing was counted. Labels never hold what a client chose.

pub use prometheus::{Histogram, HistogramVec, IntCounter, IntCounterVec, IntGauge, IntGaugeVec};

use prometheus::{HistogramOpts, Opts, Registry, TextEncoder, core::Collector};
use std::{
    collections::BTreeMap,
    sync::{LazyLock, Mutex, PoisonError},
    time::SystemTime,
};

/// Upper bounds for times of requests, in seconds: from a decision in a warm process to the longest
/// that a call may take.
pub const LATENCY_BUCKETS: &[f64] =
    &[0.000_5, 0.001, 0.002_5, 0.005, 0.01, 0.025, 0.05, 0.1, 0.25, 0.5, 1.0, 2.5, 5.0, 10.0];

/// Upper bounds for how many share something.
pub const SIZE_BUCKETS: &[f64] = &[1.0, 2.0, 4.0, 8.0, 16.0, 32.0, 64.0, 128.0, 256.0, 512.0];

static REGISTRY: LazyLock<Registry> = LazyLock::new(Registry::new);

type Look = Box<dyn Fn() + Send + Sync>;

static LOOKS: Mutex<BTreeMap<&'static str, Look>> = Mutex::new(BTreeMap::new());

/// A counter; its name ends in `_total`.
#[must_use]
pub fn counter(name: &str, help: &str) -> IntCounter {
    registered(IntCounter::new(name, help))
}

/// A counter for each combination of labels.
#[must_use]
pub fn counter_vec(name: &str, help: &str, labels: &[&str]) -> IntCounterVec {
    registered(IntCounterVec::new(Opts::new(name, help), labels))
}

/// A number that goes up and down.
#[must_use]
pub fn gauge(name: &str, help: &str) -> IntGauge {
    registered(IntGauge::new(name, help))
}

/// A number that goes up and down for each combination of labels.
#[must_use]
pub fn gauge_vec(name: &str, help: &str, labels: &[&str]) -> IntGaugeVec {
    registered(IntGaugeVec::new(Opts::new(name, help), labels))
}

/// How values are spread over these buckets.
#[must_use]
pub fn histogram(name: &str, help: &str, buckets: &[f64]) -> Histogram {
    registered(Histogram::with_opts(HistogramOpts::new(name, help).buckets(buckets.to_vec())))
}

/// The same for each combination of labels.
#[must_use]
pub fn histogram_vec(name: &str, help: &str, labels: &[&str], buckets: &[f64]) -> HistogramVec {
    let options = HistogramOpts::new(name, help).buckets(buckets.to_vec());
    registered(HistogramVec::new(options, labels))
}

/// How many shared something.
#[expect(clippy::cast_precision_loss, reason = "nothing is shared by more than 2^52")]
pub fn observe_size(histogram: &Histogram, size: usize) {
    histogram.observe(size as f64);
}

/// Sets a gauge to how many there are.
pub fn set_count(gauge: &IntGauge, count: usize) {
    gauge.set(i64::try_from(count).unwrap_or(i64::MAX));
}

fn registered<M: Collector + Clone + 'static>(made: prometheus::Result<M>) -> M {
    // Names are literals of ours; the first scrape of any test would find a bad one.
    let metric = made.expect("a metric has a valid name");
    REGISTRY.register(Box::new(metric.clone())).expect("a metric is made once");
    metric
}

/// Has `look` called before each scrape, to set what is known elsewhere. The next one of the same
/// name takes its place.
pub fn before_scrape(name: &'static str, look: impl Fn() + Send + Sync + 'static) {
    LOOKS.lock().unwrap_or_else(PoisonError::into_inner).insert(name, Box::new(look));
}

/// Raises a counter to what was counted elsewhere.
pub fn advance_to(counter: &IntCounter, total: u64) {
    counter.inc_by(total.saturating_sub(counter.get()));
}

/// Every metric, as `text/plain; version=0.0.4`.
#[must_use]
pub fn text() -> String {
    for look in LOOKS.lock().unwrap_or_else(PoisonError::into_inner).values() {
        look();
    }
    TextEncoder::new().encode_to_string(&REGISTRY.gather()).unwrap_or_else(|error| {
        tracing::error!(%error, "metrics cannot be written");
        String::new()
    })
}

/// Tells which program this is, since when it runs and what it holds.
pub fn describe_process(program: &str, version: &str) {
    static BUILD: LazyLock<IntGaugeVec> = LazyLock::new(|| {
        let help = "Always 1; the labels tell which program this is.";
        gauge_vec("rolegate_build_info", help, &["program", "version"])
    });
    static STARTED: LazyLock<IntGauge> = LazyLock::new(|| {
        gauge("process_start_time_seconds", "When the process started, since the Unix epoch.")
    });
    static RESIDENT: LazyLock<IntGauge> =
        LazyLock::new(|| gauge("process_resident_memory_bytes", "Memory that the process holds."));
    BUILD.with_label_values(&[program, version]).set(1);
    #[expect(clippy::disallowed_methods, reason = "the start of this process, which no test sets")]
    let now = SystemTime::now().duration_since(SystemTime::UNIX_EPOCH).unwrap_or_default();
    STARTED.set(i64::try_from(now.as_secs()).unwrap_or(i64::MAX));
    before_scrape("process", || {
        if let Some(bytes) = resident_bytes() {
            RESIDENT.set(bytes);
        }
    });
}

/// `VmRSS:     1234 kB`, where the system tells (Linux).
fn resident_bytes() -> Option<i64> {
    let status = std::fs::read_to_string("/proc/self/status").ok()?;
    let line = status.lines().find_map(|line| line.strip_prefix("VmRSS:"))?;
    let kibibytes: i64 = line.split_whitespace().next()?.parse().ok()?;
    kibibytes.checked_mul(1024)
}

#[cfg(test)]
mod tests {
    use super::{advance_to, before_scrape, counter, describe_process, text};

    #[test]
    fn a_scrape_looks_first_and_counters_never_go_back() {
        let counter = counter("test_looks_total", "Looks.");
        let seen = counter.clone();
        before_scrape("test", move || advance_to(&seen, 3));
        assert!(text().contains("\ntest_looks_total 3\n"), "{}", text());
        advance_to(&counter, 2);
        assert_eq!(counter.get(), 3);
    }

    #[test]
    fn a_process_tells_what_it_is_and_what_it_holds() {
        describe_process("tests", "1.2.3");
        let text = text();
        assert!(
            text.contains(r#"rolegate_build_info{program="tests",version="1.2.3"} 1"#),
            "{text}"
        );
        let line = |name: &str| {
            let line = text.lines().find_map(|line| line.strip_prefix(name)).expect("told");
            line.trim().parse::<i64>().expect("a number")
        };
        assert!(line("process_start_time_seconds") > 1_700_000_000, "{text}");
        assert!(line("process_resident_memory_bytes") > 100_000, "{text}");
    }
}
