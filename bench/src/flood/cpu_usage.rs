//! Measures the CPU usage of each program.

use crate::{cluster::Cluster, target::Target, usage};
use std::time::Duration;

/// The CPU time of each program.
#[derive(Clone, Debug)]
pub(crate) struct CpuUsage(Vec<(&'static str, Duration)>);

impl CpuUsage {
    /// Returns the CPU time so far.
    pub(crate) fn used(cluster: &Cluster, target: &Target) -> Self {
        let mut used = target.cpu(&[cluster.pid]);
        used.push(("load generator", usage::own_cpu()));
        Self(used)
    }

    /// Returns the average number of CPUs that each program used in `time`.
    pub(crate) fn since(&self, before: &Self, time: Duration) -> Vec<(&'static str, f64)> {
        let both = self.0.iter().zip(&before.0);
        let busy = |now: Duration, then: Duration| now.saturating_sub(then).as_secs_f64();
        both.map(|((name, now), (_, then))| (*name, busy(*now, *then) / time.as_secs_f64()))
            .collect()
    }
}
