//! Estimates how fast this machine computes bcrypt iterations.

use std::time::Duration;

/// The estimate before anything was measured, in iterations per second and lane. It is below the speed of a slow
/// machine.
const INITIAL_ESTIMATE: f64 = 2_000.0;

/// The time constant of the moving average. It is long enough to ignore a short burst of other work on the
/// core, and short enough to adapt to permanent load.
const AVERAGING_TIME: Duration = Duration::from_secs(1);

/// The maximum weight of one slice, so that the long slice of a machine that was suspended does not ruin the estimate.
const MAX_WEIGHT: f64 = 1.0 / 16.0;

/// The time for which workers compute between two visits to the scheduler.
const SLICE_TIME: Duration = Duration::from_millis(1);

/// A moving average of the iterations per second and lane while all lanes of a thread are busy.
///
/// A queue forms only in that state. Time in which other threads had the core is included.
#[derive(Clone, Copy, Debug)]
pub(crate) struct Throughput {
    lanes: usize,
    per_second: f64,
}

#[expect(
    clippy::cast_precision_loss,
    clippy::cast_possible_truncation,
    clippy::cast_sign_loss,
    reason = "estimates, for which 52 bits are more than enough, and positive numbers"
)]
impl Throughput {
    /// Returns the initial estimate for threads with `lanes` lanes each.
    pub(crate) fn new(lanes: usize) -> Self {
        Self {
            lanes,
            per_second: INITIAL_ESTIMATE,
        }
    }

    /// Replaces the initial estimate with a measurement. `times` has the time that each thread took for
    /// `iterations` on all its lanes.
    pub(crate) fn calibrate(&mut self, iterations: u32, times: &[Duration]) {
        let sum: f64 = times.iter().map(Duration::as_secs_f64).sum();
        let measured = f64::from(iterations) * times.len() as f64 / sum;
        if measured.is_finite() {
            self.per_second = measured;
        }
    }

    /// Records that a thread computed `iterations` on each of `width` lanes in `elapsed`.
    ///
    /// Only slices in which all lanes were busy, perhaps with the extra lane of a newcomer, feed the average. A
    /// slice with fewer busy lanes gives a lower bound for all lanes together, so that an estimate that is far
    /// too low recovers without a queue.
    pub(crate) fn record(&mut self, width: usize, iterations: u32, elapsed: Duration) {
        if elapsed.is_zero() || width == 0 {
            return;
        }
        let mut measured = f64::from(iterations) / elapsed.as_secs_f64();
        if width >= self.lanes {
            measured *= width as f64 / self.lanes as f64;
            let weight = (elapsed.as_secs_f64() / AVERAGING_TIME.as_secs_f64()).min(MAX_WEIGHT);
            self.per_second += (measured - self.per_second) * weight;
        } else {
            let proven = measured * width as f64 / self.lanes as f64;
            self.per_second = self.per_second.max(proven);
        }
    }

    /// Returns the iterations per second of one lane while all lanes are busy.
    fn per_second(&self) -> f64 {
        self.per_second.max(1.0)
    }

    /// Returns the iterations per second of `lanes` busy lanes together, for statistics.
    pub(crate) fn total_per_second(&self, lanes: usize) -> u64 {
        (self.per_second() * lanes as f64) as u64
    }

    /// Estimates how long `lanes` busy lanes together take for `work` iterations.
    pub(crate) fn time_for(&self, work: u64, lanes: usize) -> Duration {
        Duration::from_secs_f64(work as f64 / (self.per_second() * lanes.max(1) as f64))
    }

    /// Returns the number of iterations per lane until the next visit to the scheduler, which take about a
    /// millisecond.
    pub(crate) fn slice(&self) -> u32 {
        ((self.per_second() * SLICE_TIME.as_secs_f64()) as u32).max(1)
    }
}

#[cfg(test)]
mod tests;
