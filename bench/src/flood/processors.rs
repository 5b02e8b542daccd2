//! Who used the processors.

use crate::{cluster::Cluster, subject::Subject, usage};
use std::time::Duration;

/// Processor time by program.
#[derive(Clone, Debug)]
pub(crate) struct Processors(Vec<(&'static str, Duration)>);

impl Processors {
    /// What each has used until now.
    pub(crate) fn used(cluster: &Cluster, subject: &Subject) -> Self {
        let programs = subject.programs.iter();
        let mut used: Vec<_> =
            programs.map(|program| (program.name, usage::cpu(program.pid))).collect();
        used.push(("PostgreSQL", usage::cpu_of_family(cluster.pid)));
        used.push(("load generator", usage::own_cpu()));
        Self(used)
    }

    /// How many processors each kept busy in this `time`.
    pub(crate) fn since(&self, before: &Self, time: Duration) -> Vec<(&'static str, f64)> {
        let both = self.0.iter().zip(&before.0);
        let busy = |now: Duration, then: Duration| now.saturating_sub(then).as_secs_f64();
        both.map(|((name, now), (_, then))| (*name, busy(*now, *then) / time.as_secs_f64()))
            .collect()
    }
}
