//! Contenders take turns, A B B A: what the machine does meanwhile meets all of them alike.

use super::bench::{Bench, Contender};
use crate::{
    Failure, console,
    statistics::{Spread, micros, spread},
};
use std::time::Duration;

/// How long and how often.
#[derive(Clone, Copy, Debug)]
pub(crate) struct Pace {
    /// Turns of each contender.
    pub(crate) rounds: usize,
    /// Of one turn.
    pub(crate) seconds: u64,
    /// Before each turn, not measured; 0 for none but the first.
    pub(crate) warm_up_seconds: u64,
}

/// What one turn has shown.
#[derive(Clone, Debug)]
pub(crate) struct Turn {
    pub(crate) per_second: f64,
    /// Median and 99th percentile, where they were seen.
    pub(crate) latency: Option<(Duration, Duration)>,
    /// Processor microseconds per request, by process.
    pub(crate) cpu: Vec<(&'static str, f64)>,
}

/// All turns of one contender.
#[derive(Debug)]
pub(crate) struct Turns {
    pub(crate) name: &'static str,
    pub(crate) turns: Vec<Turn>,
}

/// Contenders that took turns with so many connections each.
#[derive(Debug)]
pub(crate) struct Heat {
    pub(crate) connections: usize,
    pub(crate) contenders: Vec<Turns>,
}

impl Heat {
    /// Lets the contenders take turns.
    pub(crate) async fn run(
        bench: &Bench,
        contenders: &[Contender],
        connections: usize,
        pace: Pace,
    ) -> Result<Self, Failure> {
        let names: Vec<_> = contenders.iter().map(|one| bench.name(*one)).collect();
        console::note(&format!("{connections} connections: {}", names.join(" | ")));
        let mut heat: Vec<_> =
            names.into_iter().map(|name| Turns { name, turns: Vec::new() }).collect();
        let mut order: Vec<usize> = (0..contenders.len()).collect();
        for round in 0..pace.rounds {
            for &index in &order {
                let warm_up = if round == 0 { 1 } else { pace.warm_up_seconds };
                if warm_up > 0 && !matches!(contenders[index], Contender::Pgbench) {
                    bench.turn(contenders[index], connections, warm_up).await?;
                }
                let turn = bench.turn(contenders[index], connections, pace.seconds).await?;
                heat[index].turns.push(turn);
            }
            order.reverse();
        }
        Ok(Self { connections, contenders: heat })
    }

    /// The contender of this name.
    pub(crate) fn of(&self, name: &str) -> Option<&Turns> {
        self.contenders.iter().find(|contender| contender.name == name)
    }

    /// How one contender's value relates to another's, round by round.
    pub(crate) fn ratio(
        &self,
        one: &str,
        other: &str,
        value: impl Fn(&Turn) -> f64,
    ) -> Option<Spread> {
        let rounds = self.of(one)?.turns.iter().zip(&self.of(other)?.turns);
        Some(spread(rounds.map(|(one, other)| value(one) / value(other))))
    }
}

impl Turn {
    /// In microseconds; NaN where it was not seen.
    pub(crate) fn median_latency(&self) -> f64 {
        self.latency.map_or(f64::NAN, |(median, _)| micros(median))
    }

    /// In microseconds; NaN where it was not seen.
    pub(crate) fn p99_latency(&self) -> f64 {
        self.latency.map_or(f64::NAN, |(_, p99)| micros(p99))
    }
}

impl Turns {
    /// A value over all turns.
    pub(crate) fn spread(&self, value: impl Fn(&Turn) -> f64) -> Spread {
        spread(self.turns.iter().map(value))
    }

    /// Median microseconds per request of each process.
    pub(crate) fn cpu(&self) -> Vec<(&'static str, f64)> {
        let Some(first) = self.turns.first() else { return Vec::new() };
        let median = |index: usize| {
            let turns = self.turns.iter();
            spread(turns.filter_map(|turn| Some(turn.cpu.get(index)?.1))).median
        };
        first.cpu.iter().enumerate().map(|(index, (name, _))| (*name, median(index))).collect()
    }
}
