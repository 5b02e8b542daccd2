//! CPU usage by program.

use crate::{cluster::Cluster, target::Target, usage};
use std::time::Duration;

/// CPU time by program.
#[derive(Clone, Debug)]
pub(crate) struct CpuUsage(Vec<(&'static str, Duration)>);

impl CpuUsage {
    /// CPU time so far.
    pub(crate) fn used(cluster: &Cluster, target: &Target) -> Self {
        let mut used = target.cpu(&[cluster.pid]);
        used.push(("load generator", usage::own_cpu()));
        Self(used)
    }

    /// Average number of CPUs used by each program in `time`.
    pub(crate) fn since(&self, before: &Self, time: Duration) -> Vec<(&'static str, f64)> {
        let both = self.0.iter().zip(&before.0);
        let busy = |now: Duration, then: Duration| now.saturating_sub(then).as_secs_f64();
        both.map(|((name, now), (_, then))| (*name, busy(*now, *then) / time.as_secs_f64()))
            .collect()
    }
}
