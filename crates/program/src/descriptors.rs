//! The file descriptors of this process. The listeners of clients divide what the limit leaves beyond a
//! reserve, so that the store, calls to other services, the probes and the other listeners work when
//! clients take all that one listener has.

use rustix::process::{Resource, Rlimit, getrlimit, setrlimit};
use std::sync::atomic::{AtomicUsize, Ordering::Relaxed};

/// The reserve for everything but clients: streams, listeners, the databases of users and posts (at most 22 files
/// or 20 connections), connections to other services, name lookups, and the probes.
const RESERVE: u64 = 52;

/// A limit that leaves fewer does not starve a listener altogether.
const MIN_PER_LISTENER: usize = 2;

static LISTENERS: AtomicUsize = AtomicUsize::new(1);

/// Raises the soft limit to the hard one (nothing here uses `select`, for which the soft one is low),
/// and divides it between `listeners` of clients.
pub(crate) fn divide(listeners: usize) {
    LISTENERS.store(listeners, Relaxed);
    let limit = getrlimit(Resource::Nofile);
    if limit.current != limit.maximum {
        let raised = Rlimit {
            current: limit.maximum,
            ..limit
        };
        if let Err(error) = setrlimit(Resource::Nofile, raised) {
            tracing::warn!(%error, "cannot raise the limit of open files");
        }
    }
}

/// How many connections of clients each listener may have, as far as open files limit it.
pub fn per_listener() -> usize {
    let limit = getrlimit(Resource::Nofile).current.unwrap_or(u64::MAX);
    let clients = usize::try_from(limit.saturating_sub(RESERVE)).unwrap_or(usize::MAX);
    (clients / LISTENERS.load(Relaxed).max(1)).max(MIN_PER_LISTENER)
}
