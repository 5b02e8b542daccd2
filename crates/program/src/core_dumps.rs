//! Disables core dumps, which would write passwords, tokens and keys to disk.

use rustix::process::{DumpableBehavior, Resource, Rlimit, set_dumpable_behavior, setrlimit};
use std::io;

/// Disables core dumps of this process: by `RLIMIT_CORE`, and by the dumpable flag because a
/// `core_pattern` with a pipe ignores the limit (core(5), prctl(2)).
pub(crate) fn disable() -> io::Result<()> {
    setrlimit(Resource::Core, Rlimit { current: Some(0), maximum: Some(0) })?;
    set_dumpable_behavior(DumpableBehavior::NotDumpable)?;
    Ok(())
}

#[cfg(test)]
mod tests {
    use rustix::process::{DumpableBehavior, Resource, dumpable_behavior, getrlimit};

    #[test]
    fn the_process_has_no_core_dumps_and_is_not_dumpable() {
        super::disable().expect("allowed");
        assert_eq!(getrlimit(Resource::Core).maximum, Some(0));
        assert_eq!(dumpable_behavior().expect("a state"), DumpableBehavior::NotDumpable);
    }
}
