//! What runs, by the reports of the workers, and the counters.

use std::collections::hash_map::Entry;

use super::{Load, Scheduler};
use crate::job::Job;
use crate::{ClientKey, Stats};

impl Scheduler {
    /// Counts a job that a worker starts.
    pub(super) fn occupy(&mut self, worker: usize, job: &Job) {
        let place = if job.is_foreign() { &mut self.foreign } else { &mut self.loads[worker] };
        place.jobs += 1;
        place.work += job.work();
        if !job.is_foreign() {
            self.clients[worker].push(job.client);
            *self.lanes_of.entry(job.client).or_default() += 1;
        }
    }

    /// Frees the place of a foreign check.
    pub(crate) fn end_foreign(&mut self, work: u64, ended: Stats) {
        self.foreign.jobs -= 1;
        self.foreign.work -= work;
        self.count(ended);
    }

    /// Updates what a worker has in its lanes and adds the outcomes since its last report.
    pub(crate) fn report(
        &mut self,
        worker: usize,
        load: Load,
        clients: impl Iterator<Item = ClientKey>,
        ended: Stats,
    ) {
        self.loads[worker] = load;
        for client in self.clients[worker].drain(..) {
            if let Entry::Occupied(mut lanes) = self.lanes_of.entry(client) {
                *lanes.get_mut() -= 1;
                if *lanes.get() == 0 {
                    lanes.remove();
                }
            }
        }
        for client in clients {
            self.clients[worker].push(client);
            *self.lanes_of.entry(client).or_default() += 1;
        }
        self.count(ended);
    }

    fn count(&mut self, ended: Stats) {
        self.counters.completed += ended.completed;
        self.counters.expired += ended.expired;
        self.counters.dropped += ended.dropped;
        self.counters.panics += ended.panics;
        self.counters.waited += ended.waited;
        self.counters.ran += ended.ran;
    }

    pub(crate) fn stats(&self) -> Stats {
        Stats {
            queued: self.queue.len(),
            lanes_busy: self.lanes_busy(),
            lanes_total: self.lanes_total(),
            iterations_per_second: self.throughput.total_per_second(self.lanes_total()),
            ..self.counters
        }
    }
}
