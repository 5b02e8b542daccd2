//! Compares contenders in alternating rounds, A B B A, so that drift of the machine affects all of them equally.

use super::{
    bench::{Bench, Contender},
    round::{Round, Rounds, Schedule},
};
use crate::{
    Failure, console,
    statistics::{Spread, spread},
};

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
        let mut comparison: Vec<_> = names
            .into_iter()
            .map(|name| Rounds {
                name,
                rounds: Vec::new(),
            })
            .collect();
        let mut order: Vec<usize> = (0..contenders.len()).collect();
        for round in 0..schedule.rounds {
            for &index in &order {
                let warm_up = if round == 0 {
                    1
                } else {
                    schedule.warm_up_seconds
                };
                if warm_up > 0 && !matches!(contenders[index], Contender::Pgbench) {
                    bench.round(contenders[index], connections, warm_up).await?;
                }
                let round = bench
                    .round(contenders[index], connections, schedule.seconds)
                    .await?;
                comparison[index].rounds.push(round);
            }
            order.reverse();
        }
        Ok(Self {
            connections,
            contenders: comparison,
        })
    }

    /// Returns the contender of this name.
    pub(crate) fn of(&self, name: &str) -> Option<&Rounds> {
        self.contenders
            .iter()
            .find(|contender| contender.name == name)
    }

    /// Returns the ratio of two contenders' values, from the ratios of their rounds.
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
