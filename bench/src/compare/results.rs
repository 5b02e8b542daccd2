//! All measurements of the comparison, and their marks.

use super::{comparison::Comparison, round::Round};
use crate::{
    statistics::{Spread, mebibytes},
    target::{BASELINE, BATCHED_BASELINE, EMBEDDED, PRIMARY, QUORUM, SPLIT},
    verdict::{Mark, Verdict},
};

/// All measurements of one run.
#[derive(Debug)]
pub(crate) struct Results {
    /// `GET /profile` of all systems, for each number of connections.
    pub(crate) profile: Vec<Comparison>,
    /// Decisions compared with pgbench.
    pub(crate) decisions: Vec<Comparison>,
    /// `DATABASE_READS=quorum` compared with `primary`.
    pub(crate) reads: Comparison,
    /// Basic compared with bearer; `None` if the Basic cache is off.
    pub(crate) basic: Option<Comparison>,
    /// The peak memory of each process of the split deployment, in bytes.
    pub(crate) peak_memory: Vec<(&'static str, u64)>,
    /// The number of verified responses.
    pub(crate) verified_responses: usize,
}

/// The names of contenders that are measured with other requests than `/profile`.
pub(crate) const DECISIONS: &str = "authorize, by auth-client";
pub(crate) const PGBENCH: &str = "pgbench -S -M prepared";
pub(crate) const BASIC: &str = "Basic, GET /protected";

const MAX_MEMORY_MIB: f64 = 64.0;

impl Results {
    /// Returns every value with its mark.
    pub(crate) fn verdicts(&self) -> Vec<Verdict> {
        let profile = |connections, one, other, target| {
            let comparison = self
                .profile
                .iter()
                .find(|comparison| comparison.connections == connections)?;
            let value = comparison.ratio(one, other, speed)?;
            Some(times(
                format!("/profile at {connections}: {one} / {other}"),
                value,
                target,
            ))
        };
        let lone = || {
            let comparison = self
                .profile
                .iter()
                .find(|comparison| comparison.connections == 1)?;
            let value = comparison.ratio(SPLIT, BASELINE, Round::median_latency)?;
            let claim = format!("median latency of a lone request: {SPLIT} / {BASELINE}");
            Some(times(claim, value, Mark::AtMost(2.5)))
        };
        let decisions = self.decisions.iter().filter_map(|comparison| {
            let value = comparison.ratio(DECISIONS, PGBENCH, speed)?;
            let claim = format!("at {}: {DECISIONS} / {PGBENCH}", comparison.connections);
            Some(times(claim, value, Mark::AtLeast(1.2)))
        });
        let memory = self.peak_memory.iter().map(|(name, bytes)| {
            let claim = format!("most memory of {name}");
            let most = Mark::AtMost(MAX_MEMORY_MIB);
            Verdict::once(&claim, mebibytes(*bytes), most, " MiB")
        });
        let reads = self.reads.ratio(QUORUM, PRIMARY, speed).map(|value| {
            let claim = "/profile at 128: DATABASE_READS=quorum / primary".to_owned();
            times(claim, value, Mark::AtLeast(0.5))
        });
        let basic = self.basic.iter().filter_map(|comparison| {
            let value = comparison.ratio(BASIC, SPLIT, speed)?;
            let claim = format!(
                "at {}: {BASIC} / bearer, GET /profile",
                comparison.connections
            );
            Some(times(claim, value, Mark::AtLeast(0.8)))
        });
        [
            profile(128, SPLIT, BASELINE, Mark::AtLeast(2.0)),
            profile(128, SPLIT, BATCHED_BASELINE, Mark::AtLeast(0.75)),
            profile(32, SPLIT, BASELINE, Mark::AtLeast(1.3)),
            lone(),
            profile(128, EMBEDDED, BASELINE, Mark::AtLeast(1.0)),
        ]
        .into_iter()
        .flatten()
        .chain(decisions)
        .chain(memory)
        .chain(reads)
        .chain(basic)
        .collect()
    }
}

fn speed(round: &Round) -> f64 {
    round.per_second
}

fn times(claim: String, value: Spread, mark: Mark) -> Verdict {
    Verdict {
        claim,
        value,
        mark,
        unit: "×",
    }
}
