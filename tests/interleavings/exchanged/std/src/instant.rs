//! A clock that advances by a microsecond whenever it is read, or by as much as a scenario says.

use std::{
    ops::{Add, AddAssign, Sub},
    sync::atomic::{AtomicU64, Ordering::Relaxed},
    time::Duration,
};

static NANOS: AtomicU64 = AtomicU64::new(0);

/// A moment on this clock.
#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord, Hash)]
pub struct Instant(Duration);

/// Moves the clock forward.
pub fn advance(time: Duration) {
    NANOS.fetch_add(u64::try_from(time.as_nanos()).unwrap_or(u64::MAX), Relaxed);
}

/// Sets the clock to zero, as each schedule needs.
pub fn restart_clock() {
    NANOS.store(0, Relaxed);
}

impl Instant {
    /// Returns the current time, and advances the clock.
    pub fn now() -> Self {
        Self(Duration::from_nanos(NANOS.fetch_add(1_000, Relaxed)))
    }

    /// Returns the time that has passed since this moment.
    pub fn elapsed(&self) -> Duration {
        Self::now() - *self
    }

    /// Returns the time since `earlier`, or zero if `earlier` is later.
    pub fn saturating_duration_since(&self, earlier: Self) -> Duration {
        self.0.saturating_sub(earlier.0)
    }

    /// Returns the time since `earlier`, or zero if `earlier` is later.
    pub fn duration_since(&self, earlier: Self) -> Duration {
        self.saturating_duration_since(earlier)
    }

    /// Subtracts a duration, or returns `None` if the result would be before the beginning of the clock.
    pub fn checked_sub(&self, time: Duration) -> Option<Self> {
        self.0.checked_sub(time).map(Self)
    }

    /// Adds a duration, or returns `None` if the result would be beyond the end of the clock.
    pub fn checked_add(&self, time: Duration) -> Option<Self> {
        self.0.checked_add(time).map(Self)
    }
}

impl Add<Duration> for Instant {
    type Output = Self;

    fn add(self, time: Duration) -> Self {
        Self(self.0 + time)
    }
}

impl AddAssign<Duration> for Instant {
    fn add_assign(&mut self, time: Duration) {
        self.0 += time;
    }
}

impl Sub<Duration> for Instant {
    type Output = Self;

    fn sub(self, time: Duration) -> Self {
        Self(self.0 - time)
    }
}

impl Sub for Instant {
    type Output = Duration;

    fn sub(self, earlier: Self) -> Duration {
        self.saturating_duration_since(earlier)
    }
}

/// Ignores the deadline, because shuttle has no timers. A timeout ends when a scenario says so.
impl From<Instant> for tokio::time::Instant {
    fn from(_: Instant) -> Self {
        Self::now()
    }
}
