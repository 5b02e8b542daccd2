//! Metrics in Prometheus' text format (version 0.0.4), in the default registry of the process.
//!
//! A metric is registered once, in a `LazyLock` beside what it counts, and is touched before the program
//! serves, so that a scrape finds it at zero. Labels never hold text that a client chose.
//!
//! - `registry`: registers, updates and writes metrics.
//! - `process`: the metrics that every Prometheus client has of its process.

mod process;
mod registry;

pub use prometheus::{Histogram, HistogramVec, IntCounter, IntCounterVec, IntGauge, IntGaugeVec};
pub use registry::{
    advance_to, before_scrape, counter, counter_vec, gauge, gauge_vec, histogram, histogram_vec,
    observe_size, set_count, text,
};

/// Upper bounds of latencies in seconds: from a role decision to the timeout of a call.
pub const LATENCY_BUCKETS: &[f64] = &[
    0.000_5, 0.001, 0.002_5, 0.005, 0.01, 0.025, 0.05, 0.1, 0.25, 0.5, 1.0, 2.5, 5.0, 10.0,
];

/// Upper bounds of batch sizes.
pub const SIZE_BUCKETS: &[f64] = &[1.0, 2.0, 4.0, 8.0, 16.0, 32.0, 64.0, 128.0, 256.0, 512.0];

/// Registers the metrics of the process and `rolegate_build_info`, once in a process. An info metric is 1
/// by convention.
pub fn register_process(program: &str, version: &str) {
    process::register();
    let help = "Always 1; program and version are in the labels.";
    let build = gauge_vec("rolegate_build_info", help, &["program", "version"]);
    build.with_label_values(&[program, version]).set(1);
}

#[cfg(test)]
mod tests {
    use super::{advance_to, before_scrape, counter, register_process, text};

    #[test]
    fn a_scrape_runs_collectors_and_counters_never_decrease() {
        let counter = counter("test_scrapes_total", "Scrapes.");
        let collected = counter.clone();
        before_scrape("test", move || advance_to(&collected, 3));
        assert!(text().contains("\ntest_scrapes_total 3\n"), "{}", text());
        advance_to(&counter, 2);
        assert_eq!(counter.get(), 3);
    }

    #[test]
    fn a_scrape_describes_the_process() {
        register_process("tests", "1.2.3");
        let text = text();
        assert!(
            text.contains(r#"rolegate_build_info{program="tests",version="1.2.3"} 1"#),
            "{text}"
        );
        let value = |name: &str| {
            let value = text
                .lines()
                .find_map(|line| line.strip_prefix(name))
                .expect(name);
            value.trim().parse::<i64>().expect("a number")
        };
        assert!(
            value("process_start_time_seconds") > 1_700_000_000,
            "{text}"
        );
        assert!(value("process_resident_memory_bytes") > 100_000, "{text}");
        assert!(value("process_virtual_memory_bytes") >= value("process_resident_memory_bytes"));
        assert!(value("process_cpu_seconds_total") >= 0, "{text}");
        assert!(
            (3..value("process_max_fds")).contains(&value("process_open_fds")),
            "{text}"
        );
        assert!(value("process_threads") > 1, "{text}");
    }
}
