//! Divides the file descriptors of this process between its listeners.
//!
//! A reserve is kept for the store, for calls to other services and for the probes. The listeners for clients divide
//! the rest. So clients that use up one listener cannot stop the others, or anything that needs the reserve.

use rustix::process::{Resource, Rlimit, getrlimit, setrlimit};
use std::sync::atomic::{AtomicUsize, Ordering::Relaxed};

/// The descriptors for everything but clients: streams, listeners, the databases of users and posts (at most 22 files
/// or 20 connections), connections to other services, name lookups, and the probes.
const RESERVE: u64 = 52;

/// The minimum number of connections of a listener, even if the limit of open files leaves fewer.
const MIN_PER_LISTENER: usize = 2;

static LISTENERS: AtomicUsize = AtomicUsize::new(1);

/// Raises the soft limit of open files to the hard one, and divides it between this many `listeners` for clients.
///
/// The soft limit is low by default only for programs that use `select`, and nothing here does.
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

/// Returns the number of connections that the limit of open files leaves to each listener for clients.
pub fn per_listener() -> usize {
    let limit = getrlimit(Resource::Nofile).current.unwrap_or(u64::MAX);
    let clients = usize::try_from(limit.saturating_sub(RESERVE)).unwrap_or(usize::MAX);
    (clients / LISTENERS.load(Relaxed).max(1)).max(MIN_PER_LISTENER)
}
