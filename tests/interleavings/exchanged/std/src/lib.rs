//! The standard library with other threads, locks and clock. Shuttle schedules the threads and locks, and the clock
//! shows the same times in each run of a schedule. The parts name this crate `std`, which Rust permits, because it has
//! everything that `std` has.

pub use std::*;

/// Hints for the processor and the compiler. The hint of a spin loop lets other tasks run.
pub mod hint {
    pub use shuttle::hint::spin_loop;
    pub use std::hint::*;
}

/// Locks, channels and atomic numbers that shuttle schedules.
pub mod sync {
    pub use shuttle::sync::{
        Barrier, Condvar, Mutex, MutexGuard, Once, RwLock, RwLockReadGuard, RwLockWriteGuard,
        atomic, mpsc,
    };
    pub use std::sync::*;
}

/// Threads that shuttle schedules.
pub mod thread {
    pub use shuttle::thread::{
        Builder, JoinHandle, Thread, ThreadId, current, park, scope, sleep, spawn, yield_now,
    };
    pub use std::thread::*;
}

/// Durations, and the clock of a schedule.
pub mod time {
    pub use crate::instant::{Instant, advance, restart_clock};
    pub use std::time::*;
}

mod instant;
