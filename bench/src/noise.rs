//! Measures the CPU usage of other processes, because results from a busy machine are unreliable.

use crate::{cluster::Cluster, usage};
use std::{
    num::NonZero,
    thread::available_parallelism,
    time::{Duration, Instant},
};

/// A measurement of the CPU time of other processes since its start.
#[derive(Debug)]
pub(crate) struct Noise {
    since: Instant,
    others: Duration,
    stolen: Duration,
}

impl Noise {
    /// Starts measuring. The child processes of this one do not count as others, whenever they start.
    pub(crate) fn start(cluster: &Cluster) -> Self {
        let (others, stolen) = now(cluster);
        Self {
            since: Instant::now(),
            others,
            stolen,
        }
    }

    /// Describes the CPU usage of other processes so far, as a share of all cores.
    pub(crate) fn report(&self, cluster: &Cluster) -> String {
        let (others, stolen) = now(cluster);
        let cores = u32::try_from(available_parallelism().map_or(1, NonZero::get)).unwrap_or(1);
        let all = self.since.elapsed().as_secs_f64() * f64::from(cores);
        let share = |time: Duration| time.as_secs_f64() * 100.0 / all;
        format!(
            "other processes used {:.1} % of the CPUs, other virtual machines {:.1} %",
            share(others.saturating_sub(self.others)),
            share(stolen.saturating_sub(self.stolen)),
        )
    }
}

fn now(cluster: &Cluster) -> (Duration, Duration) {
    let (busy, stolen) = usage::cpu_of_all();
    let ours = usage::cpu_of_family(std::process::id()) + usage::cpu_of_family(cluster.pid);
    (busy.saturating_sub(ours), stolen)
}
