//! Keeps this process from writing core dumps and from holding memory that it does not use.

use rustix::process::{DumpableBehavior, Resource, Rlimit, set_dumpable_behavior, setrlimit};
use std::{hint::black_box, io, time::Duration};
use tokio::time::{MissedTickBehavior, interval};

/// Disables core dumps, which would write passwords, tokens and keys to disk.
///
/// It sets `RLIMIT_CORE`, and also clears the dumpable flag, because a `core_pattern` with a pipe ignores the
/// limit (core(5), prctl(2)).
pub(crate) fn disable_core_dumps() -> io::Result<()> {
    setrlimit(
        Resource::Core,
        Rlimit {
            current: Some(0),
            maximum: Some(0),
        },
    )?;
    Ok(set_dumpable_behavior(DumpableBehavior::NotDumpable)?)
}

/// Disables transparent huge pages. The allocator requests them, and an idle program would hold 10 MiB of them unused.
pub(crate) fn disable_thp() {
    #[cfg(target_os = "linux")]
    if let Err(error) = rustix::thread::disable_transparent_huge_pages(true) {
        tracing::debug!(%error, "cannot disable transparent huge pages");
    }
}

/// Returns freed memory to the operating system, every five seconds.
///
/// When a program frees a large block, mimalloc returns the memory that was freed a second ago, so this task allocates
/// and frees such a block at each tick. Without it, a program that gets no more requests would keep the memory of a
/// past flood.
pub(crate) async fn return_freed_memory() {
    /// The size of a block that is too large for the allocator's lists of small blocks.
    const LARGE_BLOCK: usize = 1024 * 1024;
    let mut ticks = interval(Duration::from_secs(5));
    ticks.set_missed_tick_behavior(MissedTickBehavior::Delay);
    loop {
        ticks.tick().await;
        drop(black_box(Vec::<u8>::with_capacity(LARGE_BLOCK)));
    }
}

#[cfg(test)]
mod tests {
    use rustix::process::{DumpableBehavior, Resource, dumpable_behavior, getrlimit};

    #[test]
    fn the_process_has_no_core_dumps_and_is_not_dumpable() {
        super::disable_core_dumps().expect("allowed");
        assert_eq!(getrlimit(Resource::Core).maximum, Some(0));
        assert_eq!(
            dumpable_behavior().expect("a state"),
            DumpableBehavior::NotDumpable
        );
    }
}
