//! Who else used the machine meanwhile: numbers of a busy machine are worth little.

use crate::{cluster::Cluster, usage};
use std::{
    num::NonZero,
    thread::available_parallelism,
    time::{Duration, Instant},
};

/// Listens from its start on.
#[derive(Debug)]
pub(crate) struct Noise {
    since: Instant,
    others: Duration,
    stolen: Duration,
}

impl Noise {
    /// Begins to listen. What was started before belongs to us, as what is started later.
    pub(crate) fn listen(cluster: &Cluster) -> Self {
        let (others, stolen) = now(cluster);
        Self { since: Instant::now(), others, stolen }
    }

    /// What was heard, as a share of all cores.
    pub(crate) fn told(&self, cluster: &Cluster) -> String {
        let (others, stolen) = now(cluster);
        let cores = u32::try_from(available_parallelism().map_or(1, NonZero::get)).unwrap_or(1);
        let all = self.since.elapsed().as_secs_f64() * f64::from(cores);
        let share = |time: Duration| time.as_secs_f64() * 100.0 / all;
        format!(
            "meanwhile other programs used {:.1} % of the processors, other machines {:.1} %",
            share(others.saturating_sub(self.others)),
            share(stolen.saturating_sub(self.stolen)),
        )
    }
}

fn now(cluster: &Cluster) -> (Duration, Duration) {
    let (busy, stolen) = usage::cpu_of_everybody();
    let ours = usage::cpu_of_family(std::process::id()) + usage::cpu_of_family(cluster.pid);
    (busy.saturating_sub(ours), stolen)
}
