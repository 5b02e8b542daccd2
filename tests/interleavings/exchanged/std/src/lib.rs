//! The standard library, with threads and locks that shuttle schedules and a clock that is the same in each
//! run of a schedule. The parts name this crate `std`, which Rust permits: it has all that `std` has.

pub use std::*;

/// Waiting in a loop lets others run.
pub mod hint {
    pub use shuttle::hint::spin_loop;
    pub use std::hint::*;
}

/// Locks, channels and atomic numbers.
pub mod sync {
    pub use shuttle::sync::{
        Barrier, Condvar, Mutex, MutexGuard, Once, RwLock, RwLockReadGuard, RwLockWriteGuard,
        atomic, mpsc,
    };
    pub use std::sync::*;
}

/// Threads.
pub mod thread {
    pub use shuttle::thread::{
        Builder, JoinHandle, Thread, ThreadId, current, park, scope, sleep, spawn, yield_now,
    };
    pub use std::thread::*;
}

/// Durations, and a clock.
pub mod time {
    pub use crate::instant::{Instant, advance, restart_clock};
    pub use std::time::*;
}

mod instant;
