//! Rounds of measurements.

use crate::statistics::{Spread, micros, spread};
use std::time::Duration;

/// Number and length of rounds.
#[derive(Clone, Copy, Debug)]
pub(crate) struct Schedule {
    /// Rounds of each contender.
    pub(crate) rounds: usize,
    /// Length of a round.
    pub(crate) seconds: u64,
    /// Unmeasured time before each round; 0 for the first round only.
    pub(crate) warm_up_seconds: u64,
}

/// The measurements of one round.
#[derive(Clone, Debug)]
pub(crate) struct Round {
    pub(crate) per_second: f64,
    /// Median and 99th percentile, if measured.
    pub(crate) latency: Option<(Duration, Duration)>,
    /// CPU microseconds per request, by process.
    pub(crate) cpu: Vec<(&'static str, f64)>,
}

/// All rounds of one contender.
#[derive(Debug)]
pub(crate) struct Rounds {
    pub(crate) name: &'static str,
    pub(crate) rounds: Vec<Round>,
}

impl Round {
    /// In microseconds; NaN if not measured.
    pub(crate) fn median_latency(&self) -> f64 {
        self.latency.map_or(f64::NAN, |(median, _)| micros(median))
    }

    /// In microseconds; NaN if not measured.
    pub(crate) fn p99_latency(&self) -> f64 {
        self.latency.map_or(f64::NAN, |(_, p99)| micros(p99))
    }
}

impl Rounds {
    /// A value over all rounds.
    pub(crate) fn spread(&self, value: impl Fn(&Round) -> f64) -> Spread {
        spread(self.rounds.iter().map(value))
    }

    /// Median microseconds per request of each process.
    pub(crate) fn cpu(&self) -> Vec<(&'static str, f64)> {
        let Some(first) = self.rounds.first() else {
            return Vec::new();
        };
        let median = |index: usize| {
            let rounds = self.rounds.iter();
            spread(rounds.filter_map(|round| Some(round.cpu.get(index)?.1))).median
        };
        first
            .cpu
            .iter()
            .enumerate()
            .map(|(index, (name, _))| (*name, median(index)))
            .collect()
    }
}
