//! Admission control and dispatch, shared by all workers under one lock.

use std::collections::HashMap;
use std::time::{Duration, Instant};

use crate::job::{AdmissionRequest, Job, JobState};
use crate::queue::{PushOutcome, Queue, QueuePosition};
use crate::throughput::Throughput;
use crate::{ClientKey, EngineError, Settings, Stats};

mod newcomers;
mod reports;

/// Clients never retry immediately.
const MIN_RETRY_AFTER: Duration = Duration::from_millis(1);

/// The queue, the load of each worker, and the counters.
pub(crate) struct Scheduler {
    pub(crate) throughput: Throughput,
    pub(crate) stopping: bool,
    queue: Queue,
    lanes: usize,
    loads: Vec<Load>,
    /// The running foreign checks; at most one for each worker.
    foreign: Load,
    /// The clients of the jobs in the lanes of each worker.
    clients: Vec<Vec<ClientKey>>,
    /// How many lanes each client has; no entry is zero.
    lanes_of: HashMap<ClientKey, usize>,
    /// Only the counters are used.
    counters: Stats,
}

/// Why a job is not admitted.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) struct Refusal {
    /// At least [`MIN_RETRY_AFTER`].
    pub(crate) retry_after: Duration,
    /// Whether its client has no queued job, so that every client would be refused.
    pub(crate) is_full: bool,
}

/// The jobs in the lanes of one worker, or beside the lanes of all.
#[derive(Clone, Copy, Default)]
pub(crate) struct Load {
    pub(crate) jobs: usize,
    /// Remaining iterations of all of them.
    pub(crate) work: u64,
}

impl Scheduler {
    pub(crate) fn new(settings: Settings) -> Self {
        Self {
            throughput: Throughput::new(settings.lanes),
            stopping: false,
            queue: Queue::new(settings.queue),
            lanes: settings.lanes,
            loads: vec![Load::default(); settings.threads],
            foreign: Load::default(),
            clients: vec![Vec::new(); settings.threads],
            lanes_of: HashMap::new(),
            counters: Stats::default(),
        }
    }

    /// Loses the queued jobs and all later ones.
    pub(crate) fn stop(&mut self) {
        self.stopping = true;
        while self.queue.pop().is_some() {}
    }

    /// Queues a job, or completes it with [`EngineError::Refused`].
    pub(crate) fn submit(&mut self, job: Job, now: Instant) {
        if self.stopping {
            return;
        }
        let position = match self.admit(job.admission_request(), now) {
            Ok(position) => position,
            Err(refusal) => return self.refuse(job, refusal),
        };
        match self.queue.push(job, position) {
            PushOutcome::Queued => {}
            PushOutcome::Displaced(displaced) => {
                let position = self.fair_position(displaced.admission_request(), now);
                let refusal = self.refusal(position);
                self.refuse(displaced, refusal);
            }
            PushOutcome::Rejected(job) => {
                let refusal = self.refusal(position);
                self.refuse(job, refusal);
            }
        }
    }

    /// Whether such a job would be admitted now. A negative result counts as refused.
    pub(crate) fn check_admission(
        &mut self,
        request: AdmissionRequest,
        now: Instant,
    ) -> Result<(), Refusal> {
        let position = self.admit(request, now).inspect_err(|_| self.counters.refused += 1)?;
        if self.queue.has_capacity_for(request.client) {
            return Ok(());
        }
        self.counters.refused += 1;
        Err(self.refusal(position))
    }

    /// The position of a job, unless it would miss its deadline there.
    fn admit(&mut self, request: AdmissionRequest, now: Instant) -> Result<QueuePosition, Refusal> {
        let position = self.fair_position(request, now);
        if self.overrun(request, position, now).is_none() && !self.queue.is_full() {
            return Ok(position);
        }
        // Removing dead jobs scans the queue, so it is done only when it can change the result.
        self.evict_dead(now);
        let position = self.fair_position(request, now);
        match self.overrun(request, position, now) {
            Some(retry_after) => Err(Refusal { retry_after, is_full: position.own == 0 }),
            None => Ok(position),
        }
    }

    /// By how much a job at this position would miss its due time.
    ///
    /// A job that can start at once is always admitted, whatever the estimate says: the deadline
    /// bounds the cost of an error, and running it corrects a wrong estimate.
    fn overrun(
        &self,
        request: AdmissionRequest,
        position: QueuePosition,
        now: Instant,
    ) -> Option<Duration> {
        let foreign = self.foreign.jobs + self.queue.foreign() + usize::from(request.is_foreign);
        let in_lanes = self.lanes_busy() + self.queue.len() - self.queue.foreign()
            + usize::from(!request.is_foreign);
        if in_lanes <= self.lanes_total() && foreign <= self.loads.len() {
            return None;
        }
        let done = self.wait(position) + self.run_time(request.work, request.is_foreign);
        let overrun = done.checked_sub(request.due.saturating_duration_since(now))?;
        (!overrun.is_zero()).then(|| overrun.max(MIN_RETRY_AFTER))
    }

    fn fair_position(&self, request: AdmissionRequest, now: Instant) -> QueuePosition {
        let running = self.running();
        self.queue.position(request.client, request.work, |ahead, job| {
            let AdmissionRequest { work, due, is_foreign, .. } = job.admission_request();
            let done = |ahead| {
                self.throughput.time_for(running + ahead, self.lanes_total())
                    + self.run_time(work, is_foreign)
            };
            // A machine that others slowed down has jobs that nothing saves: they protect no place.
            done(ahead) <= job.deadline.saturating_duration_since(now)
                && done(ahead + request.work) > due.saturating_duration_since(now)
        })
    }

    /// How long a job would wait for a lane: until all lanes together have finished what they hold
    /// and what is queued before it.
    ///
    /// The work its client has queued counts twice, so that a client that floods leaves as much room
    /// as it takes, and a new client is admitted.
    fn wait(&self, position: QueuePosition) -> Duration {
        self.throughput.time_for(self.running() + position.ahead + position.own, self.lanes_total())
    }

    /// How long a job runs: in one of the lanes while all are busy, or beside them on half a core.
    fn run_time(&self, work: u64, is_foreign: bool) -> Duration {
        self.throughput.time_for(work, if is_foreign { self.lanes / 2 } else { 1 })
    }

    /// The refusal of a job that would wait here in a queue without room for it.
    fn refusal(&self, position: QueuePosition) -> Refusal {
        let retry_after = self.wait(position).max(MIN_RETRY_AFTER);
        Refusal { retry_after, is_full: position.own == 0 }
    }

    /// Remaining iterations in all lanes, and of the foreign checks.
    fn running(&self) -> u64 {
        self.loads.iter().map(|load| load.work).sum::<u64>() + self.foreign.work
    }

    /// Whether jobs wait.
    pub(crate) fn has_queued(&self) -> bool {
        self.queue.len() > 0
    }

    /// Completes queued jobs whose deadline has passed: no lane may become free for a long time.
    pub(crate) fn expire(&mut self, now: Instant) {
        if self.queue.may_have_expired(now) {
            self.evict_dead(now);
        }
    }

    fn evict_dead(&mut self, now: Instant) {
        for (state, job) in self.queue.remove_dead(now) {
            self.drop_job(job, state);
        }
    }

    fn refuse(&mut self, job: Job, Refusal { retry_after, is_full }: Refusal) {
        self.counters.refused += 1;
        job.answer(Err(EngineError::Refused { retry_after, is_full }));
    }

    fn drop_job(&mut self, job: Job, state: JobState) {
        match state {
            JobState::Expired => {
                self.counters.expired += 1;
                job.answer(Err(EngineError::DeadlinePassed));
            }
            JobState::Live | JobState::Cancelled => self.counters.dropped += 1,
        }
    }

    /// The next job for a worker, if there is room for it. The order holds for both kinds of jobs: one
    /// that waits for its room delays those behind it, as admission assumed. The cores are busy meanwhile.
    pub(crate) fn take(&mut self, worker: usize, now: Instant) -> Option<Job> {
        while let Some(first) = self.queue.first() {
            let is_foreign = first.is_foreign();
            let place = if is_foreign { &self.foreign } else { &self.loads[worker] };
            let mine = place.jobs;
            if !self.has_room(worker, is_foreign) && first.state(now) == JobState::Live {
                return self.take_newcomer(worker, now);
            }
            let job = self.queue.pop()?;
            let state = match job.state(now) {
                // It would occupy a place that another job needs. An idle worker tries anyway.
                JobState::Live if mine > 0 && self.is_too_late(&job, now) => JobState::Expired,
                state => state,
            };
            if state == JobState::Live {
                self.occupy(worker, &job);
                return Some(job);
            }
            self.drop_job(job, state);
        }
        None
    }

    /// Whether a worker has a free lane and no other worker has fewer lanes in use: two jobs run faster
    /// on two cores than in two lanes of one. Or whether fewer foreign checks run than there are workers.
    fn has_room(&self, worker: usize, is_foreign: bool) -> bool {
        if is_foreign {
            return self.foreign.jobs < self.loads.len();
        }
        let mine = self.loads[worker].jobs;
        mine < self.lanes && self.loads.iter().all(|other| other.jobs >= mine)
    }

    fn is_too_late(&self, job: &Job, now: Instant) -> bool {
        let lanes = if job.is_foreign() { self.lanes } else { 1 };
        let time = self.throughput.time_for(job.iterations, lanes);
        time > job.deadline.saturating_duration_since(now)
    }

    fn lanes_busy(&self) -> usize {
        self.loads.iter().map(|load| load.jobs).sum()
    }

    fn lanes_total(&self) -> usize {
        self.lanes * self.loads.len()
    }
}

#[cfg(test)]
mod tests;
