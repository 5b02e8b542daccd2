//! Registers metrics in the default registry of the process, and writes them in Prometheus' text format
//! (version 0.0.4).
//!
//! Each metric is registered once, in a `LazyLock` beside the code that counts. The program initializes it
//! before it serves, so that the first scrape finds the metric at zero. Labels never hold text that a client
//! chose. [`process`] has the metrics that every program has.

pub mod process;

pub use prometheus::{Histogram, HistogramVec, IntCounter, IntCounterVec, IntGauge, IntGaugeVec};

use parking_lot::Mutex;
use prometheus::{
    TextEncoder, register_histogram, register_histogram_vec, register_int_counter,
    register_int_counter_vec, register_int_gauge, register_int_gauge_vec,
};
use std::collections::BTreeMap;

/// The upper bounds of the buckets of latencies, in seconds. They range from the time of a role decision to the
/// timeout of a call.
pub const LATENCY_BUCKETS: &[f64] = &[
    0.000_5, 0.001, 0.002_5, 0.005, 0.01, 0.025, 0.05, 0.1, 0.25, 0.5, 1.0, 2.5, 5.0, 10.0,
];

/// The upper bounds of the buckets of batch sizes.
pub const SIZE_BUCKETS: &[f64] = &[1.0, 2.0, 4.0, 8.0, 16.0, 32.0, 64.0, 128.0, 256.0, 512.0];

/// The reason why a registration cannot fail: names are literals of this workspace, and each is registered in
/// one place.
const REGISTERED: &str = "the name of a metric is valid and unique";

type Collector = Box<dyn Fn() + Send + Sync>;

/// The functions that run before each scrape, by name.
static COLLECTORS: Mutex<BTreeMap<String, Collector>> = Mutex::new(BTreeMap::new());

/// Registers a counter and returns it. Its name must end in `_total`.
pub fn counter(name: &str, help: &str) -> IntCounter {
    register_int_counter!(name, help).expect(REGISTERED)
}

/// Registers a counter with labels and returns it. Its name must end in `_total`.
pub fn counter_vec(name: &str, help: &str, labels: &[&str]) -> IntCounterVec {
    register_int_counter_vec!(name, help, labels).expect(REGISTERED)
}

/// Registers a gauge and returns it.
pub fn gauge(name: &str, help: &str) -> IntGauge {
    register_int_gauge!(name, help).expect(REGISTERED)
}

/// Registers a gauge with labels and returns it.
pub fn gauge_vec(name: &str, help: &str, labels: &[&str]) -> IntGaugeVec {
    register_int_gauge_vec!(name, help, labels).expect(REGISTERED)
}

/// Registers a histogram and returns it. `buckets` are the upper bounds.
pub fn histogram(name: &str, help: &str, buckets: &[f64]) -> Histogram {
    register_histogram!(name, help, buckets.to_vec()).expect(REGISTERED)
}

/// Registers a histogram with labels and returns it. `buckets` are the upper bounds.
pub fn histogram_vec(name: &str, help: &str, labels: &[&str], buckets: &[f64]) -> HistogramVec {
    register_histogram_vec!(name, help, labels, buckets.to_vec()).expect(REGISTERED)
}

/// Adds the size of a batch to a histogram.
#[expect(clippy::cast_precision_loss, reason = "no batch is larger than 2^52")]
pub fn observe_size(histogram: &Histogram, size: usize) {
    histogram.observe(size as f64);
}

/// Sets a gauge to a count, which is cut to the maximum of the gauge.
pub fn set_count(gauge: &IntGauge, count: usize) {
    gauge.set(i64::try_from(count).unwrap_or(i64::MAX));
}

/// Advances a counter to a total that is counted elsewhere, such as by the kernel. Never decreases the counter.
pub fn advance_to(counter: &IntCounter, total: u64) {
    counter.inc_by(total.saturating_sub(counter.get()));
}

/// Registers `collect` to run before each scrape, so that it can update metrics whose values are kept
/// elsewhere. A new function replaces an earlier one of the same name.
pub fn before_scrape(name: impl Into<String>, collect: impl Fn() + Send + Sync + 'static) {
    COLLECTORS.lock().insert(name.into(), Box::new(collect));
}

/// Runs the registered functions and returns all metrics, as `text/plain; version=0.0.4`. If they cannot be
/// encoded, logs an error and returns empty text.
pub fn text() -> String {
    for collect in COLLECTORS.lock().values() {
        collect();
    }
    TextEncoder::new()
        .encode_to_string(&prometheus::gather())
        .unwrap_or_else(|error| {
            tracing::error!(%error, "cannot encode metrics");
            String::new()
        })
}

#[cfg(test)]
mod tests {
    use super::{advance_to, before_scrape, counter, text};

    #[test]
    fn a_scrape_runs_collectors_and_counters_never_decrease() {
        let counter = counter("test_scrapes_total", "Scrapes.");
        let collected = counter.clone();
        before_scrape("test", move || advance_to(&collected, 3));
        assert!(text().contains("\ntest_scrapes_total 3\n"), "{}", text());
        advance_to(&counter, 2);
        assert_eq!(counter.get(), 3);
    }
}
