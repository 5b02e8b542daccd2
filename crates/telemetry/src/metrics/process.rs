//! What every Prometheus client says of its process, from proc(5).

use super::{advance_to, before_scrape, counter, gauge, set_count};
use rustix::param::{clock_ticks_per_second, page_size};
use rustix::process::{Resource, getrlimit};
use std::fs;

/// Registers the metrics; a system without `/proc` has none.
pub(super) fn register() {
    let Some(now) = Stat::read() else { return };
    let start = gauge(
        "process_start_time_seconds",
        "Start time of the process since unix epoch in seconds.",
    );
    start.set(boot_time().map_or(0, |boot| boot + now.start_time));
    let cpu =
        counter("process_cpu_seconds_total", "Total user and system CPU time spent in seconds.");
    let virtual_memory = gauge("process_virtual_memory_bytes", "Virtual memory size in bytes.");
    let resident_memory = gauge("process_resident_memory_bytes", "Resident memory size in bytes.");
    let threads = gauge("process_threads", "Number of OS threads in the process.");
    let open_fds = gauge("process_open_fds", "Number of open file descriptors.");
    let max_fds = gauge("process_max_fds", "Maximum number of open file descriptors.");
    before_scrape("process", move || {
        if let Some(stat) = Stat::read() {
            advance_to(&cpu, stat.cpu_time.cast_unsigned());
            virtual_memory.set(stat.virtual_memory);
            resident_memory.set(stat.resident_memory);
            threads.set(stat.threads);
        }
        if let Ok(entries) = fs::read_dir("/proc/self/fd") {
            set_count(&open_fds, entries.count());
        }
        if let Some(limit) = getrlimit(Resource::Nofile).current {
            max_fds.set(limit.cast_signed());
        }
    });
}

/// Fields of `/proc/self/stat`, in seconds and bytes.
#[derive(Debug, PartialEq)]
struct Stat {
    cpu_time: i64,
    threads: i64,
    /// Since the boot.
    start_time: i64,
    virtual_memory: i64,
    resident_memory: i64,
}

impl Stat {
    fn read() -> Option<Self> {
        // The name of the program need not be UTF-8.
        let text = fs::read("/proc/self/stat").ok()?;
        let ticks = clock_ticks_per_second().cast_signed();
        Self::parse(&String::from_utf8_lossy(&text), ticks, (page_size() as u64).cast_signed())
    }

    fn parse(text: &str, ticks: i64, page: i64) -> Option<Self> {
        // The second field, the name in parentheses, may contain both. The last ones exceed 63 bits.
        let (_, fields) = text.rsplit_once(") ")?;
        let fields = fields.split(' ').skip(1).take(21).map(str::parse);
        let fields = fields.collect::<Result<Vec<i64>, _>>().ok()?;
        let field = |number: usize| fields.get(number - 4).copied();
        Some(Self {
            cpu_time: (field(14)? + field(15)?) / ticks,
            threads: field(20)?,
            start_time: field(22)? / ticks,
            virtual_memory: field(23)?,
            resident_memory: field(24)? * page,
        })
    }
}

/// In seconds since 1970.
fn boot_time() -> Option<i64> {
    let text = fs::read_to_string("/proc/stat").ok()?;
    text.lines().find_map(|line| line.strip_prefix("btime "))?.parse().ok()
}

#[cfg(test)]
mod tests {
    use super::Stat;

    #[test]
    fn the_name_of_a_program_may_look_like_other_fields() {
        let text = "7 (a) R 1 (b)) S 1 7 7 0 -1 4194560 1 0 0 0 450 151 0 0 20 0 3 0 9200 8192 5 \
                    18446744073709551615 1 1\n";
        let stat = Stat::parse(text, 100, 4096).expect("valid");
        let expected = Stat {
            cpu_time: 6,
            threads: 3,
            start_time: 92,
            virtual_memory: 8192,
            resident_memory: 20480,
        };
        assert_eq!(stat, expected);
        for invalid in ["", "7 (a) S 1 7", "7 (a", &text.replace("9200", "?")] {
            assert_eq!(Stat::parse(invalid, 100, 4096), None, "{invalid}");
        }
    }
}
