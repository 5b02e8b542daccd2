//! The measurements of a round, and the schedule of all rounds.

use crate::statistics::{Spread, micros, spread};
use std::time::Duration;

/// The number and the length of rounds.
#[derive(Clone, Copy, Debug)]
pub(crate) struct Schedule {
    /// The number of rounds of each contender.
    pub(crate) rounds: usize,
    /// The length of a round in seconds.
    pub(crate) seconds: u64,
    /// The seconds of load before each round that are not measured. If it is 0, only the first round has a warm-up.
    pub(crate) warm_up_seconds: u64,
}

/// The measurements of one round.
#[derive(Clone, Debug)]
pub(crate) struct Round {
    pub(crate) per_second: f64,
    /// The median and the 99th percentile of the latency, if they were measured.
    pub(crate) latency: Option<(Duration, Duration)>,
    /// The CPU time per request of each process, in microseconds.
    pub(crate) cpu: Vec<(&'static str, f64)>,
}

/// All rounds of one contender.
#[derive(Debug)]
pub(crate) struct Rounds {
    pub(crate) name: &'static str,
    pub(crate) rounds: Vec<Round>,
}

impl Round {
    /// Returns the median latency in microseconds, or NaN if it was not measured.
    pub(crate) fn median_latency(&self) -> f64 {
        self.latency.map_or(f64::NAN, |(median, _)| micros(median))
    }

    /// Returns the 99th percentile of the latency in microseconds, or NaN if it was not measured.
    pub(crate) fn p99_latency(&self) -> f64 {
        self.latency.map_or(f64::NAN, |(_, p99)| micros(p99))
    }
}

impl Rounds {
    /// Returns the median and the range of a value over all rounds.
    pub(crate) fn spread(&self, value: impl Fn(&Round) -> f64) -> Spread {
        spread(self.rounds.iter().map(value))
    }

    /// Returns the median CPU time per request of each process, in microseconds.
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
