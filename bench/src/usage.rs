//! Reads the CPU time and the memory of processes from `/proc` (proc(5)).

use crate::Failure;
use std::{fs, time::Duration};

/// The unit of times in `/proc/<pid>/stat`. `USER_HZ` is 100 on all relevant platforms.
const TICK: Duration = Duration::from_millis(10);

struct Stat {
    parent: u32,
    /// The CPU time of the process.
    own: Duration,
    /// The CPU time of its children that were waited for.
    ended_children: Duration,
}

impl Stat {
    fn of(pid: impl std::fmt::Display) -> Option<Self> {
        let text = fs::read_to_string(format!("/proc/{pid}/stat")).ok()?;
        // The process name is in parentheses and may contain anything.
        let fields: Vec<&str> = text.rsplit_once(')')?.1.split_whitespace().collect();
        // Fields are numbered as in proc(5), where the state has number 3. It is the first field here.
        let field = |number: usize| fields.get(number - 3)?.parse::<u32>().ok();
        let time = |first| Some(TICK * (field(first)? + field(first + 1)?));
        Some(Self {
            parent: field(4)?,
            own: time(14)?,
            ended_children: time(16)?,
        })
    }
}

/// Returns the CPU time of a process, or zero if it has ended.
pub(crate) fn cpu(pid: u32) -> Duration {
    Stat::of(pid).map_or(Duration::ZERO, |stat| stat.own)
}

/// Returns the CPU time of this process.
pub(crate) fn own_cpu() -> Duration {
    cpu(std::process::id())
}

/// Returns the CPU time of the children of this process that have ended.
pub(crate) fn cpu_of_ended_children() -> Duration {
    Stat::of("self").map_or(Duration::ZERO, |stat| stat.ended_children)
}

/// Returns the CPU time of a process and its descendants, such as the processes of PostgreSQL.
pub(crate) fn cpu_of_family(pid: u32) -> Duration {
    let processes = fs::read_dir("/proc").into_iter().flatten().flatten();
    let stats = processes.filter_map(|entry| {
        let pid: u32 = entry.file_name().to_str()?.parse().ok()?;
        Some((pid, Stat::of(pid)?))
    });
    let stats: Vec<(u32, Stat)> = stats.collect();
    let mut family = vec![pid];
    let mut total = Duration::ZERO;
    while let Some(member) = family.pop() {
        let own = stats.iter().filter(|(pid, _)| *pid == member);
        total += own
            .map(|(_, stat)| stat.own + stat.ended_children)
            .sum::<Duration>();
        let children = stats.iter().filter(|(_, stat)| stat.parent == member);
        family.extend(children.map(|(pid, _)| *pid));
    }
    total
}

/// Returns the CPU time of all processes since boot, without interrupts, and the time that other virtual machines have
/// stolen.
pub(crate) fn cpu_of_all() -> (Duration, Duration) {
    let text = fs::read_to_string("/proc/stat").unwrap_or_default();
    let ticks = text
        .lines()
        .next()
        .unwrap_or_default()
        .split_whitespace()
        .skip(1);
    let ticks: Vec<u32> = ticks.map_while(|word| word.parse().ok()).collect();
    // The columns are user, nice, system, idle, iowait, irq, softirq and steal.
    let time = |column: usize| TICK * ticks.get(column).copied().unwrap_or_default();
    (time(0) + time(1) + time(2), time(7))
}

/// Returns the peak resident memory of a process in bytes.
pub(crate) fn peak_memory(pid: u32) -> Result<u64, Failure> {
    status_bytes(pid, "VmHWM:")
}

/// Returns the resident memory of a process in bytes.
pub(crate) fn memory(pid: u32) -> Result<u64, Failure> {
    status_bytes(pid, "VmRSS:")
}

/// Resets [`peak_memory`] of a process to its memory now.
pub(crate) fn reset_peak_memory(pid: u32) -> Result<(), Failure> {
    Ok(fs::write(format!("/proc/{pid}/clear_refs"), "5")?)
}

fn status_bytes(pid: u32, field: &str) -> Result<u64, Failure> {
    let text = fs::read_to_string(format!("/proc/{pid}/status"))?;
    let kilobytes = text
        .lines()
        .find_map(|line| {
            line.strip_prefix(field)?
                .split_whitespace()
                .next()?
                .parse::<u64>()
                .ok()
        })
        .ok_or_else(|| format!("/proc/{pid}/status has no {field}"))?;
    Ok(kilobytes * 1024)
}
