//! Describes the machine in a report.

use std::{fs, path::Path, process::Command, thread::available_parallelism};

/// Returns facts about hardware and software, one in each line.
pub(crate) fn description(postgresql_programs: &Path) -> Vec<String> {
    let cores = available_parallelism().map_or(0, usize::from);
    let kernel = fs::read_to_string("/proc/sys/kernel/osrelease").unwrap_or_default();
    vec![
        format!("{} × {cores}", field("/proc/cpuinfo", "model name")),
        format!(
            "{} of memory",
            gibibytes(&field("/proc/meminfo", "MemTotal"))
        ),
        format!(
            "Linux {}, scheduler autogroup {}",
            kernel.trim(),
            autogroup()
        ),
        first_line(Command::new(postgresql_programs.join("postgres")).arg("--version")),
        first_line(Command::new("rustc").arg("--version")),
    ]
}

/// Returns `on` or `off` for the autogroup feature of Linux. If it is on, a nice value applies only within its own
/// session (sched(7)).
fn autogroup() -> &'static str {
    match fs::read_to_string("/proc/sys/kernel/sched_autogroup_enabled").as_deref() {
        Ok("1\n") => "on",
        _ => "off",
    }
}

/// Returns the first line of a command's output.
pub(crate) fn first_line(command: &mut Command) -> String {
    let output = command
        .output()
        .map(|output| output.stdout)
        .unwrap_or_default();
    String::from_utf8_lossy(&output)
        .lines()
        .next()
        .unwrap_or("unknown")
        .trim()
        .to_owned()
}

/// Returns the first value of `name: value` in a file of `/proc`.
fn field(file: &str, name: &str) -> String {
    let text = fs::read_to_string(file).unwrap_or_default();
    let value = text.lines().find_map(|line| {
        let (key, value) = line.split_once(':')?;
        (key.trim() == name).then(|| value.trim().to_owned())
    });
    value.unwrap_or_else(|| "unknown".to_owned())
}

/// Converts a value such as `24684096 kB` to GiB.
fn gibibytes(kilobytes: &str) -> String {
    let number = kilobytes
        .split_whitespace()
        .next()
        .and_then(|word| word.parse::<u32>().ok());
    number.map_or_else(
        || kilobytes.to_owned(),
        |kb| format!("{:.0} GiB", f64::from(kb) / 1_048_576.0),
    )
}
