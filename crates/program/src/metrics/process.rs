//! Registers the metrics that every program has: its version, and the `process_*` metrics of every Prometheus
//! client, which are read from proc(5).

use super::{advance_to, before_scrape, counter, gauge, gauge_vec, set_count};
use rustix::param::{clock_ticks_per_second, page_size};
use rustix::process::{Resource, getrlimit};
use std::fs;

/// Registers the metrics of the process and `rolegate_build_info`, which is always 1, as info metrics are by
/// convention. Call this function only once in a process.
pub fn register(program: &str, version: &str) {
    register_usage();
    let help = "Always 1; program and version are in the labels.";
    let build = gauge_vec("rolegate_build_info", help, &["program", "version"]);
    build.with_label_values(&[program, version]).set(1);
}

/// Registers metrics of the resources that the process uses. A system without `/proc` has no such metrics.
fn register_usage() {
    let Some(at_start) = Usage::read() else {
        return;
    };
    let start_time = gauge(
        "process_start_time_seconds",
        "Start time of the process since unix epoch in seconds.",
    );
    start_time.set(boot_time().map_or(0, |boot| boot + at_start.started_after_boot));
    let cpu_total = counter(
        "process_cpu_seconds_total",
        "Total user and system CPU time spent in seconds.",
    );
    let virtual_memory = gauge(
        "process_virtual_memory_bytes",
        "Virtual memory size in bytes.",
    );
    let resident_memory = gauge(
        "process_resident_memory_bytes",
        "Resident memory size in bytes.",
    );
    let threads = gauge("process_threads", "Number of OS threads in the process.");
    let open_fds = gauge("process_open_fds", "Number of open file descriptors.");
    let max_fds = gauge(
        "process_max_fds",
        "Maximum number of open file descriptors.",
    );
    before_scrape("process", move || {
        if let Some(usage) = Usage::read() {
            advance_to(&cpu_total, usage.cpu_seconds.cast_unsigned());
            threads.set(usage.threads);
            virtual_memory.set(usage.virtual_bytes);
            resident_memory.set(usage.resident_bytes);
        }
        if let Ok(entries) = fs::read_dir("/proc/self/fd") {
            set_count(&open_fds, entries.count());
        }
        if let Some(limit) = getrlimit(Resource::Nofile).current {
            max_fds.set(limit.cast_signed());
        }
    });
}

/// The resources that the process uses, from `/proc/self/stat`.
#[derive(Debug, PartialEq, Eq)]
struct Usage {
    cpu_seconds: i64,
    threads: i64,
    virtual_bytes: i64,
    resident_bytes: i64,
    /// The start of the process, in seconds after the boot.
    started_after_boot: i64,
}

impl Usage {
    fn read() -> Option<Self> {
        // The text contains the name of the program, which need not be UTF-8.
        let text = fs::read("/proc/self/stat").ok()?;
        let ticks_per_second = clock_ticks_per_second().cast_signed();
        let page_bytes = (page_size() as u64).cast_signed();
        Self::parse(
            &String::from_utf8_lossy(&text),
            ticks_per_second,
            page_bytes,
        )
    }

    fn parse(text: &str, ticks_per_second: i64, page_bytes: i64) -> Option<Self> {
        // The second field is the name in parentheses, which may itself contain spaces and parentheses. Fields
        // at the end are left out, because they may exceed 63 bits.
        let (_, fields) = text.rsplit_once(") ")?;
        let fields: Result<Vec<i64>, _> =
            fields.split(' ').skip(1).take(21).map(str::parse).collect();
        let fields = fields.ok()?;
        let field = |number: usize| fields.get(number - 4).copied();
        Some(Self {
            cpu_seconds: (field(14)? + field(15)?) / ticks_per_second,
            threads: field(20)?,
            virtual_bytes: field(23)?,
            resident_bytes: field(24)? * page_bytes,
            started_after_boot: field(22)? / ticks_per_second,
        })
    }
}

/// Reads the time at which the system was booted, in Unix seconds.
fn boot_time() -> Option<i64> {
    let text = fs::read_to_string("/proc/stat").ok()?;
    text.lines()
        .find_map(|line| line.strip_prefix("btime "))?
        .parse()
        .ok()
}

#[cfg(test)]
mod tests {
    use super::{Usage, register};
    use crate::metrics::text;

    #[test]
    fn the_name_of_a_program_may_look_like_other_fields() {
        let text = "7 (a) R 1 (b)) S 1 7 7 0 -1 4194560 1 0 0 0 450 151 0 0 20 0 3 0 9200 8192 5 \
                    18446744073709551615 1 1\n";
        let expected = Usage {
            cpu_seconds: 6,
            threads: 3,
            virtual_bytes: 8192,
            resident_bytes: 20480,
            started_after_boot: 92,
        };
        assert_eq!(Usage::parse(text, 100, 4096), Some(expected));
        for invalid in ["", "7 (a) S 1 7", "7 (a", &text.replace("9200", "?")] {
            assert_eq!(Usage::parse(invalid, 100, 4096), None, "{invalid}");
        }
    }

    #[test]
    fn a_scrape_describes_the_process() {
        register("tests", "1.2.3");
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
