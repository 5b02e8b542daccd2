//! What was measured, and what must be reached.

use super::turn::{Heat, Turn};
use crate::{
    statistics::{Spread, mebibytes},
    subject::{EMBEDDED, SHARED_YARDSTICK, SPLIT, YARDSTICK},
    verdict::{Target, Verdict},
};

/// Everything that was measured.
#[derive(Debug)]
pub(crate) struct Results {
    /// `GET /profile`.
    pub(crate) profile: Vec<Heat>,
    /// Decisions against pgbench.
    pub(crate) decisions: Vec<Heat>,
    /// Basic against bearer, where Basic remembers.
    pub(crate) basic: Option<Heat>,
    /// The most memory of each process of the split, in bytes.
    pub(crate) peak_memory: Vec<(&'static str, u64)>,
    /// How many answers were looked at; all were right.
    pub(crate) answers_checked: usize,
}

/// Contenders of the heats that are not about `/profile`.
pub(crate) const DECISIONS: &str = "authorize, by auth-client";
pub(crate) const PGBENCH: &str = "pgbench -S -M prepared";
pub(crate) const BASIC: &str = "Basic, GET /protected";

const MOST_MEMORY_MIB: f64 = 64.0;

impl Results {
    /// Every ratio that must be reached.
    pub(crate) fn verdicts(&self) -> Vec<Verdict> {
        let profile = |connections, one, other, target| {
            let heat = self.profile.iter().find(|heat| heat.connections == connections)?;
            let value = heat.ratio(one, other, speed)?;
            Some(times(format!("/profile at {connections}: {one} / {other}"), value, target))
        };
        let lone = || {
            let heat = self.profile.iter().find(|heat| heat.connections == 1)?;
            let value = heat.ratio(SPLIT, YARDSTICK, Turn::median_latency)?;
            let claim = format!("median latency of a lone request: {SPLIT} / {YARDSTICK}");
            Some(times(claim, value, Target::AtMost(3.5)))
        };
        let decisions = self.decisions.iter().filter_map(|heat| {
            let value = heat.ratio(DECISIONS, PGBENCH, speed)?;
            let claim = format!("at {}: {DECISIONS} / {PGBENCH}", heat.connections);
            Some(times(claim, value, Target::AtLeast(1.2)))
        });
        let memory = self.peak_memory.iter().map(|(name, bytes)| {
            let claim = format!("most memory of {name}");
            let most = Target::AtMost(MOST_MEMORY_MIB);
            Verdict::once(&claim, mebibytes(*bytes), most, " MiB")
        });
        let basic = self.basic.iter().filter_map(|heat| {
            let value = heat.ratio(BASIC, SPLIT, speed)?;
            let claim = format!("at {}: {BASIC} / bearer, GET /profile", heat.connections);
            Some(times(claim, value, Target::AtLeast(0.5)))
        });
        [
            profile(128, SPLIT, YARDSTICK, Target::AtLeast(2.0)),
            profile(128, SPLIT, SHARED_YARDSTICK, Target::AtLeast(0.75)),
            profile(32, SPLIT, YARDSTICK, Target::AtLeast(1.25)),
            lone(),
            profile(128, EMBEDDED, YARDSTICK, Target::AtLeast(1.0)),
        ]
        .into_iter()
        .flatten()
        .chain(decisions)
        .chain(memory)
        .chain(basic)
        .collect()
    }
}

fn speed(turn: &Turn) -> f64 {
    turn.per_second
}

fn times(claim: String, value: Spread, target: Target) -> Verdict {
    Verdict { claim, value, target, unit: "×" }
}
