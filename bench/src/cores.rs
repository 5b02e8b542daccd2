//! Chooses the cores on which this process and the programs that it starts may run (sched(7)).

use crate::Failure;
use rustix::{
    io::Errno,
    thread::{CpuSet, Pid, sched_getaffinity, sched_setaffinity},
};
use std::fs;

/// Returns the cores that this process may use.
pub(crate) fn allowed() -> Result<Vec<usize>, Failure> {
    let allowed = sched_getaffinity(None)?;
    Ok((0..CpuSet::MAX_CPU)
        .filter(|core| allowed.is_set(*core))
        .collect())
}

/// Moves every thread of this process to these cores. Programs that it starts from now on stay on these cores, and
/// see no others.
pub(crate) fn run_on(cores: &[usize]) -> Result<(), Failure> {
    let mut set = CpuSet::new();
    for core in cores {
        set.set(*core);
    }
    for thread in fs::read_dir("/proc/self/task")? {
        let id = thread?.file_name().to_str().and_then(|id| id.parse().ok());
        match sched_setaffinity(id.and_then(Pid::from_raw), &set) {
            // `SRCH` means that the thread has ended.
            Ok(()) | Err(Errno::SRCH) => {}
            Err(error) => return Err(error.into()),
        }
    }
    Ok(())
}

/// Returns the cores in the form `0-3,8`, which `taskset` reads.
pub(crate) fn list(cores: &[usize]) -> String {
    let ranges = cores.chunk_by(|one, next| one + 1 == *next);
    let ranges = ranges.map(|range| match range {
        [first, .., last] => format!("{first}-{last}"),
        range => range.first().map_or_else(String::new, ToString::to_string),
    });
    ranges.collect::<Vec<_>>().join(",")
}

#[cfg(test)]
mod tests {
    use super::list;

    #[test]
    fn neighbouring_cores_are_listed_as_a_range() {
        assert_eq!(list(&[0, 1, 2, 3, 8, 10, 11]), "0-3,8,10-11");
        assert_eq!(list(&[]), "");
    }
}
