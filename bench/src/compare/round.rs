//! Alternating rounds, A B B A, so that drift of the machine affects all contenders equally.

use super::bench::{Bench, Contender};
use crate::{
    Failure, console,
    statistics::{Spread, micros, spread},
};
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

/// A comparison of contenders at one number of connections.
#[derive(Debug)]
pub(crate) struct Comparison {
    pub(crate) connections: usize,
    pub(crate) contenders: Vec<Rounds>,
}

impl Comparison {
    /// Measures the contenders alternately.
    pub(crate) async fn run(
        bench: &Bench,
        contenders: &[Contender],
        connections: usize,
        schedule: Schedule,
    ) -> Result<Self, Failure> {
        let names: Vec<_> = contenders.iter().map(|one| bench.name(*one)).collect();
        console::progress(&format!("{connections} connections: {}", names.join(" | ")));
        let mut comparison: Vec<_> =
            names.into_iter().map(|name| Rounds { name, rounds: Vec::new() }).collect();
        let mut order: Vec<usize> = (0..contenders.len()).collect();
        for round in 0..schedule.rounds {
            for &index in &order {
                let warm_up = if round == 0 { 1 } else { schedule.warm_up_seconds };
                if warm_up > 0 && !matches!(contenders[index], Contender::Pgbench) {
                    bench.round(contenders[index], connections, warm_up).await?;
                }
                let round = bench.round(contenders[index], connections, schedule.seconds).await?;
                comparison[index].rounds.push(round);
            }
            order.reverse();
        }
        Ok(Self { connections, contenders: comparison })
    }

    /// The contender of this name.
    pub(crate) fn of(&self, name: &str) -> Option<&Rounds> {
        self.contenders.iter().find(|contender| contender.name == name)
    }

    /// The ratio of two contenders' values, per round.
    pub(crate) fn ratio(
        &self,
        one: &str,
        other: &str,
        value: impl Fn(&Round) -> f64,
    ) -> Option<Spread> {
        let rounds = self.of(one)?.rounds.iter().zip(&self.of(other)?.rounds);
        Some(spread(rounds.map(|(one, other)| value(one) / value(other))))
    }
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
        let Some(first) = self.rounds.first() else { return Vec::new() };
        let median = |index: usize| {
            let rounds = self.rounds.iter();
            spread(rounds.filter_map(|round| Some(round.cpu.get(index)?.1))).median
        };
        first.cpu.iter().enumerate().map(|(index, (name, _))| (*name, median(index))).collect()
    }
}
