//! What every Prometheus client says of its process, from proc(5).

use super::{advance_to, before_scrape, counter, gauge, set_count};
use rustix::param::{clock_ticks_per_second, page_size};
use rustix::process::{Resource, getrlimit};
use std::fs;

/// Registers the metrics; a system without `/proc` has none.
pub(super) fn register() {
    let Some([.., after_boot]) = stat() else {
        return;
    };
    let help = "Start time of the process since unix epoch in seconds.";
    let start = gauge("process_start_time_seconds", help);
    start.set(boot_time().map_or(0, |boot| boot + after_boot));
    let help = "Total user and system CPU time spent in seconds.";
    let cpu_total = counter("process_cpu_seconds_total", help);
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
        if let Some([cpu, count, in_use, resident, _]) = stat() {
            advance_to(&cpu_total, cpu.cast_unsigned());
            threads.set(count);
            virtual_memory.set(in_use);
            resident_memory.set(resident);
        }
        if let Ok(entries) = fs::read_dir("/proc/self/fd") {
            set_count(&open_fds, entries.count());
        }
        if let Some(limit) = getrlimit(Resource::Nofile).current {
            max_fds.set(limit.cast_signed());
        }
    });
}

fn stat() -> Option<[i64; 5]> {
    // The name of the program need not be UTF-8.
    let text = fs::read("/proc/self/stat").ok()?;
    let (ticks, page) = (clock_ticks_per_second().cast_signed(), page_size() as u64);
    parse(&String::from_utf8_lossy(&text), ticks, page.cast_signed())
}

/// Of `/proc/self/stat`: seconds of CPU time, threads, bytes of virtual and of resident memory, and the start
/// in seconds after the boot.
fn parse(text: &str, ticks: i64, page: i64) -> Option<[i64; 5]> {
    // The second field, the name in parentheses, may contain both. The last ones exceed 63 bits.
    let (_, fields) = text.rsplit_once(") ")?;
    let fields = fields.split(' ').skip(1).take(21).map(str::parse);
    let fields = fields.collect::<Result<Vec<i64>, _>>().ok()?;
    let field = |number: usize| fields.get(number - 4).copied();
    let cpu = (field(14)? + field(15)?) / ticks;
    Some([
        cpu,
        field(20)?,
        field(23)?,
        field(24)? * page,
        field(22)? / ticks,
    ])
}

/// In seconds since 1970.
fn boot_time() -> Option<i64> {
    let text = fs::read_to_string("/proc/stat").ok()?;
    text.lines()
        .find_map(|line| line.strip_prefix("btime "))?
        .parse()
        .ok()
}

#[cfg(test)]
mod tests {
    use super::parse;

    #[test]
    fn the_name_of_a_program_may_look_like_other_fields() {
        let text = "7 (a) R 1 (b)) S 1 7 7 0 -1 4194560 1 0 0 0 450 151 0 0 20 0 3 0 9200 8192 5 \
                    18446744073709551615 1 1\n";
        assert_eq!(parse(text, 100, 4096), Some([6, 3, 8192, 20480, 92]));
        for invalid in ["", "7 (a) S 1 7", "7 (a", &text.replace("9200", "?")] {
            assert_eq!(parse(invalid, 100, 4096), None, "{invalid}");
        }
    }
}
