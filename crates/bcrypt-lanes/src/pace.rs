//! How fast this machine is, as far as it is known.

use std::time::Duration;

/// What a lane is thought to do when nothing was measured: less than a slow machine's.
const FIRST_GUESS: f64 = 2_000.0;

/// How much of a worker's past counts. Long enough that a core which others use for a while is not
/// taken for a slow one, short enough to notice that they stay.
const MEMORY: Duration = Duration::from_secs(1);

/// The most that one slice counts: a machine that was halted says nothing about its pace.
const MOST: f64 = 1.0 / 16.0;

/// How long workers compute between two looks at the queue.
const SLICE: Duration = Duration::from_millis(1);

/// A running estimate of iterations per second and lane when all lanes of a thread are busy: the
/// state in which a queue forms. Time that others had the core is part of it.
#[derive(Clone, Copy, Debug)]
pub(crate) struct Pace {
    lanes: usize,
    per_second: f64,
}

#[expect(clippy::cast_precision_loss, reason = "estimates: 52 bits are more than enough")]
impl Pace {
    /// A first guess for threads with `lanes` lanes each.
    pub(crate) fn new(lanes: usize) -> Self {
        Self { lanes, per_second: FIRST_GUESS }
    }

    /// Puts a trial in the place of the first guess: `iterations` on each lane of a full thread, in
    /// the mean of these times.
    pub(crate) fn calibrate(&mut self, iterations: u32, times: &[Duration]) {
        let sum: f64 = times.iter().map(Duration::as_secs_f64).sum();
        let measured = f64::from(iterations) * times.len() as f64 / sum;
        if measured.is_finite() {
            self.per_second = measured;
        }
    }

    /// Learns that a thread did `iterations` on each of `width` lanes in `elapsed`.
    ///
    /// Full width is what is estimated. Fewer lanes prove at least that many iterations a second
    /// for all of them together: so an estimate that is far too low recovers without a queue.
    pub(crate) fn learn(&mut self, width: usize, iterations: u32, elapsed: Duration) {
        if elapsed.is_zero() || width == 0 {
            return;
        }
        let measured = f64::from(iterations) / elapsed.as_secs_f64();
        if width == self.lanes {
            let weight = (elapsed.as_secs_f64() / MEMORY.as_secs_f64()).min(MOST);
            self.per_second += (measured - self.per_second) * weight;
        } else {
            let proven = measured * width as f64 / self.lanes as f64;
            self.per_second = self.per_second.max(proven);
        }
    }

    /// Iterations a second of one lane among busy ones.
    fn per_second(&self) -> f64 {
        self.per_second.max(1.0)
    }

    /// Iterations a second of `lanes` busy lanes together, for those who look on.
    #[expect(
        clippy::cast_possible_truncation,
        clippy::cast_sign_loss,
        reason = "saturates: a positive number"
    )]
    pub(crate) fn together(&self, lanes: usize) -> u64 {
        (self.per_second() * lanes as f64) as u64
    }

    /// How long `lanes` busy lanes take for `work` iterations together.
    pub(crate) fn time_for(&self, work: u64, lanes: usize) -> Duration {
        Duration::from_secs_f64(work as f64 / (self.per_second() * lanes.max(1) as f64))
    }

    /// Iterations of every lane until the next look at the queue, about a millisecond.
    #[expect(
        clippy::cast_possible_truncation,
        clippy::cast_sign_loss,
        reason = "saturates: a positive number of a few dozens"
    )]
    pub(crate) fn slice(&self) -> u32 {
        ((self.per_second() * SLICE.as_secs_f64()) as u32).max(1)
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn settle(pace: &mut Pace, width: usize, iterations: u32) -> f64 {
        for _ in 0..10_000 {
            pace.learn(width, iterations, Duration::from_millis(1));
        }
        pace.per_second()
    }

    #[test]
    fn full_width_is_learnt_both_upwards_and_downwards() {
        let mut pace = Pace::new(6);
        assert!((settle(&mut pace, 6, 20) - 20_000.0).abs() < 5.0);
        assert!((settle(&mut pace, 6, 5) - 5_000.0).abs() < 5.0);
    }

    #[test]
    fn a_trial_takes_the_place_of_the_guess() {
        let mut pace = Pace::new(6);
        pace.calibrate(20, &[Duration::from_millis(1), Duration::from_millis(3)]);
        assert!((pace.per_second() - 10_000.0).abs() < 1.0);
        pace.calibrate(20, &[]);
        pace.calibrate(20, &[Duration::ZERO]);
        assert!((pace.per_second() - 10_000.0).abs() < 1.0, "these say nothing");
    }

    #[test]
    fn one_stalled_slice_does_not_ruin_the_estimate() {
        let mut pace = Pace::new(6);
        settle(&mut pace, 6, 20);
        pace.learn(6, 20, Duration::from_mins(1));
        assert!(pace.per_second() > 18_000.0);
    }

    #[test]
    fn a_core_shared_for_a_while_is_not_taken_for_a_slow_one_and_one_shared_for_good_is() {
        let mut pace = Pace::new(6);
        settle(&mut pace, 6, 20);
        for _ in 0..10 {
            pace.learn(6, 10, Duration::from_millis(5));
        }
        assert!(pace.per_second() > 18_000.0);
        for _ in 0..2_000 {
            pace.learn(6, 10, Duration::from_millis(5));
        }
        assert!(pace.per_second() < 2_100.0);
    }

    #[test]
    fn a_lone_lane_lifts_an_estimate_that_is_too_low_and_never_lowers_one() {
        let mut pace = Pace::new(6);
        pace.per_second = 0.0;
        assert!((settle(&mut pace, 1, 18) - 3_000.0).abs() < 1.0);
        assert!((settle(&mut pace, 1, 6) - 3_000.0).abs() < 1.0);
    }

    #[test]
    fn no_estimate_makes_a_slice_empty_or_a_time_infinite() {
        let mut pace = Pace::new(6);
        pace.per_second = 0.0;
        assert_eq!(pace.slice(), 1);
        assert!(pace.time_for(1 << 41, 1) < Duration::MAX);
    }
}
