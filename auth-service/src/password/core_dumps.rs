//! No core dumps: what is remembered of passwords must not reach a disk.

use rustix::process::{DumpableBehavior, Resource, Rlimit, set_dumpable_behavior, setrlimit};
use std::io;

/// Turns core dumps of this process off: by the limit, which a dump into a file heeds, and by the
/// dumpable flag, which a dump into a pipe heeds too (core(5), prctl(2)).
pub(crate) fn turn_off() -> io::Result<()> {
    setrlimit(Resource::Core, Rlimit { current: Some(0), maximum: Some(0) })?;
    set_dumpable_behavior(DumpableBehavior::NotDumpable)?;
    Ok(())
}
