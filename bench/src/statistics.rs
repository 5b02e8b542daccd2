//! Computes medians, percentiles and ranges.

use std::time::Duration;

/// The median and the range of some numbers.
#[derive(Clone, Copy, Debug, PartialEq)]
pub(crate) struct Spread {
    pub(crate) least: f64,
    pub(crate) median: f64,
    pub(crate) most: f64,
}

/// Returns the spread of some numbers. It is NaN if there are none.
pub(crate) fn spread(numbers: impl IntoIterator<Item = f64>) -> Spread {
    let mut sorted: Vec<f64> = numbers.into_iter().collect();
    sorted.sort_by(f64::total_cmp);
    let at = |index: usize| sorted.get(index).copied().unwrap_or(f64::NAN);
    let (middle, last) = (sorted.len() / 2, sorted.len().saturating_sub(1));
    let median = if sorted.len().is_multiple_of(2) {
        f64::midpoint(at(middle.saturating_sub(1)), at(middle))
    } else {
        at(middle)
    };
    Spread {
        least: at(0),
        median,
        most: at(last),
    }
}

/// Returns a percentile of some times, or zero if there are none.
pub(crate) fn percentile(times: &[Duration], percent: usize) -> Duration {
    let mut sorted = times.to_vec();
    sorted.sort_unstable();
    per_mille(&sorted, percent * 10)
}

/// Returns the time at this per mille of sorted times, or zero if there are none.
pub(crate) fn per_mille(sorted: &[Duration], rank: usize) -> Duration {
    let index = (sorted.len() * rank).div_ceil(1000).saturating_sub(1);
    sorted.get(index).copied().unwrap_or_default()
}

/// Converts a time to microseconds.
pub(crate) fn micros(time: Duration) -> f64 {
    time.as_secs_f64() * 1e6
}

/// Converts a time to milliseconds.
pub(crate) fn millis(time: Duration) -> f64 {
    time.as_secs_f64() * 1e3
}

/// Returns the number of events per second.
#[expect(clippy::cast_precision_loss, reason = "far fewer than 2^52")]
pub(crate) fn rate(count: u64, time: Duration) -> f64 {
    count as f64 / time.as_secs_f64()
}

/// Returns the completions per second, or NaN if there are fewer than two.
///
/// The time counts from the first completion, because nothing can complete before it.
pub(crate) fn completion_rate(mut ends: Vec<Duration>) -> f64 {
    ends.sort_unstable();
    let (Some(&first), Some(&last)) = (ends.first(), ends.last()) else {
        return f64::NAN;
    };
    let later = ends.iter().filter(|&&end| end > first).count();
    rate(
        u64::try_from(later).unwrap_or(u64::MAX),
        last.saturating_sub(first),
    )
}

/// Converts bytes to MiB.
#[expect(clippy::cast_precision_loss, reason = "far fewer than 2^52")]
pub(crate) fn mebibytes(bytes: u64) -> f64 {
    bytes as f64 / 1_048_576.0
}

#[cfg(test)]
mod tests {
    use super::{Spread, completion_rate, percentile, spread};
    use std::time::Duration;

    #[test]
    fn the_median_is_the_middle_value() {
        assert_eq!(
            spread([3.0, 1.0, 2.0]),
            Spread {
                least: 1.0,
                median: 2.0,
                most: 3.0
            }
        );
        assert!((spread([4.0, 1.0, 2.0, 3.0]).median - 2.5).abs() < f64::EPSILON);
        assert!(spread([]).median.is_nan());
    }

    #[test]
    fn a_percentile_is_one_of_the_times() {
        let times: Vec<_> = (1..=200).rev().map(Duration::from_millis).collect();
        assert_eq!(percentile(&times, 50), Duration::from_millis(100));
        assert_eq!(percentile(&times, 99), Duration::from_millis(198));
        assert_eq!(percentile(&times[..1], 99), Duration::from_millis(200));
        assert_eq!(percentile(&[], 99), Duration::ZERO);
    }
    #[test]
    fn the_completion_rate_starts_at_the_first_completion() {
        let ends = [7, 5, 6, 9].map(Duration::from_secs);
        assert!((completion_rate(ends.to_vec()) - 0.75).abs() < f64::EPSILON);
        assert!(completion_rate(ends[..1].to_vec()).is_nan());
        assert!(completion_rate(Vec::new()).is_nan());
    }
}
