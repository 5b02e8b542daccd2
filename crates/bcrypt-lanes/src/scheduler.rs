//! Admission control and dispatch, shared by all workers under one lock.
//!
//! A job has two times. At its *deadline*, its caller gives up. It is *due* somewhat earlier
//! ([`AdmissionRequest::due`]). A job is admitted only if it is expected to finish when it is due, so the estimate may
//! be wrong by the difference. A job is *live* until its deadline passes or its caller leaves, and *dead* from
//! then on.

use std::collections::HashMap;
use std::collections::hash_map::Entry;
use std::mem;
use std::time::{Duration, Instant};

use crate::job::{AdmissionRequest, Job};
use crate::kernel::MAX_LANES;
use crate::queue::{Queue, QueuePosition};
use crate::throughput::Throughput;
use crate::{ClientKey, EngineError, Settings, Stats};

/// The minimum time after which a refused client is told to retry, so that it does not retry at once.
const MIN_RETRY_AFTER: Duration = Duration::from_millis(1);

/// A client floods if it occupies at least one lane in this many of all lanes, and at least two.
const FLOOD_SHARE: usize = 4;
/// A queue is short if it has at most this many jobs for each lane. Newcomers may go ahead of the queue only
/// while it is short.
const MAX_SHORT_QUEUE: usize = 4;

/// Decides which jobs are admitted, and which worker computes them.
pub(crate) struct Scheduler {
    pub(crate) throughput: Throughput,
    pub(crate) stopping: bool,
    queue: Queue,
    lanes_per_worker: usize,
    /// The load of each worker, indexed by the number of the worker.
    loads: Vec<Load>,
    /// The number of lanes that each client occupies. A client that occupies none has no entry.
    lanes_by_client: HashMap<ClientKey, usize>,
    /// The counters of the statistics; [`Self::stats`] computes the rest.
    counters: Stats,
}

/// The jobs in the lanes of a worker.
#[derive(Clone, Default)]
pub(crate) struct Load {
    /// The client of each job.
    pub(crate) clients: Vec<ClientKey>,
    /// The remaining iterations of all jobs together.
    pub(crate) work: u64,
}

impl Scheduler {
    pub(crate) fn new(settings: Settings) -> Self {
        Self {
            throughput: Throughput::new(settings.lanes),
            stopping: false,
            queue: Queue::new(settings.queue),
            lanes_per_worker: settings.lanes,
            loads: vec![Load::default(); settings.threads],
            lanes_by_client: HashMap::new(),
            counters: Stats::default(),
        }
    }

    /// Drops the queued jobs and all later ones. Their callers get [`EngineError::Lost`].
    pub(crate) fn stop(&mut self) {
        self.stopping = true;
        while let Some(job) = self.queue.pop() {
            // The sender of the reply is dropped with the job, so the caller gets an error.
            drop(job);
        }
    }

    /// Queues a job, or completes one with [`EngineError::Refused`].
    ///
    /// The given job is refused if it would not be finished when it is due, or if the queue is full. Another
    /// client's job is refused if the given one displaces it.
    pub(crate) fn submit(&mut self, job: Job, now: Instant) {
        if self.stopping {
            return;
        }
        let (refused_job, error) = match self.find_position(job.admission_request(), now) {
            Ok(position) => {
                // If the queue is full, either another client's job or the given one does not fit.
                let Some(without_place) = self.queue.push(job, position) else {
                    return;
                };
                let position = self.fair_position(without_place.admission_request(), now);
                (without_place, refused(self.estimate_wait(position)))
            }
            Err(error) => (job, error),
        };
        self.counters.refused += 1;
        refused_job.answer(Err(error));
    }

    /// Checks whether a job would be admitted now. An error is counted as a refused job.
    pub(crate) fn check_admission(
        &mut self,
        request: AdmissionRequest,
        now: Instant,
    ) -> Result<(), EngineError> {
        let error = match self.find_position(request, now) {
            Ok(_) if self.queue.has_capacity_for(request.client) => return Ok(()),
            Ok(position) => refused(self.estimate_wait(position)),
            Err(error) => error,
        };
        self.counters.refused += 1;
        Err(error)
    }

    /// Returns the position of a job, or a refusal if the job would not be finished in time at that position.
    fn find_position(
        &mut self,
        request: AdmissionRequest,
        now: Instant,
    ) -> Result<QueuePosition, EngineError> {
        let position = self.fair_position(request, now);
        if self.overrun(request, position, now).is_none() && !self.queue.is_full() {
            return Ok(position);
        }
        // Removing dead jobs scans the queue, so they are removed only when that can change the result.
        self.evict_dead(now);
        let position = self.fair_position(request, now);
        match self.overrun(request, position, now) {
            Some(overrun) => Err(refused(overrun)),
            None => Ok(position),
        }
    }

    /// Returns the time by which a job at this position would be late; `None` if it would be finished when it
    /// is due.
    ///
    /// A job that can start at once is always admitted, whatever the estimate says. The deadline
    /// bounds the cost of an error, and running the job corrects a wrong estimate.
    fn overrun(
        &self,
        request: AdmissionRequest,
        position: QueuePosition,
        now: Instant,
    ) -> Option<Duration> {
        if self.lanes_busy() + self.queue.len() < self.lanes_total() {
            return None;
        }
        let done = self.estimate_wait(position) + self.run_time(request.work);
        let time_left = request.due.saturating_duration_since(now);
        match done.checked_sub(time_left) {
            Some(overrun) if !overrun.is_zero() => Some(overrun),
            _ => None,
        }
    }

    /// Returns the position of a job by fair queueing, but behind any admitted job that would otherwise be late because
    /// of it.
    fn fair_position(&self, request: AdmissionRequest, now: Instant) -> QueuePosition {
        let running = self.running_iterations();
        self.queue
            .position(request.client, request.work, |ahead, queued| {
                let AdmissionRequest { work, due, .. } = queued.admission_request();
                let time_to_finish = |ahead| {
                    self.throughput
                        .time_for(running + ahead, self.lanes_total())
                        + self.run_time(work)
                };
                // A queued job that misses its deadline anyway, because other programs slow the machine down, does not
                // hold the new one back.
                time_to_finish(ahead) <= queued.deadline.saturating_duration_since(now)
                    && time_to_finish(ahead + request.work) > due.saturating_duration_since(now)
            })
    }

    /// Estimates how long a job would wait for a lane: until all lanes together have finished their jobs and the jobs
    /// queued before it.
    ///
    /// The work that the client of the job has queued is counted twice. A client that floods is therefore refused
    /// while the engine still has time for as much work as this client has queued. That time is left for new clients.
    fn estimate_wait(&self, position: QueuePosition) -> Duration {
        self.throughput.time_for(
            self.running_iterations() + position.iterations_ahead + position.own_iterations,
            self.lanes_total(),
        )
    }

    /// Estimates how long a job runs in its lane while all lanes are busy.
    fn run_time(&self, work: u64) -> Duration {
        self.throughput.time_for(work, 1)
    }

    /// Returns the remaining iterations in all lanes.
    fn running_iterations(&self) -> u64 {
        self.loads.iter().map(|load| load.work).sum()
    }

    /// Completes queued jobs whose deadline has passed. They do not wait for a free lane, because that may take long.
    pub(crate) fn expire(&mut self, now: Instant) {
        if self
            .queue
            .earliest_deadline()
            .is_some_and(|earliest| earliest <= now)
        {
            self.evict_dead(now);
        }
    }

    fn evict_dead(&mut self, now: Instant) {
        for job in self.queue.remove_dead(now) {
            job.discard(&mut self.counters);
        }
    }

    pub(crate) fn has_queued(&self) -> bool {
        self.queue.len() > 0
    }

    /// Takes the next job for a worker that has a free lane, or a newcomer for its extra lane. Returns `None`
    /// if another worker has fewer lanes in use. Jobs at the front that are dead or too late are completed
    /// without a result.
    ///
    /// Two jobs run faster on two cores than in two lanes of one, so the idlest worker goes first.
    pub(crate) fn take(&mut self, worker: usize, now: Instant) -> Option<Job> {
        let mine = self.loads[worker].clients.len();
        let is_next = self.loads.iter().all(|other| other.clients.len() >= mine);
        let has_free_lane = is_next && mine < self.lanes_per_worker;
        let has_extra_lane = is_next && mine == self.lanes_per_worker && mine < MAX_LANES;
        while let Some(first) = self.queue.first() {
            if !has_free_lane && first.is_live(now) {
                if has_extra_lane {
                    return self.take_newcomer(worker, now);
                }
                return None;
            }
            let job = self.queue.pop()?;
            // A job that will miss its deadline would occupy a lane that another job needs. An idle worker runs it
            // anyway, because the estimate may be wrong.
            if job.is_live(now) && (mine == 0 || !self.would_miss_deadline(&job, now)) {
                self.occupy(worker, &job);
                return Some(job);
            }
            job.discard(&mut self.counters);
        }
        None
    }

    fn would_miss_deadline(&self, job: &Job, now: Instant) -> bool {
        self.run_time(job.iterations) > job.deadline.saturating_duration_since(now)
    }

    /// Lets a busy worker take one extra job for a client that has none running.
    ///
    /// Jobs of the same cost advance by the same slices, so jobs that begin together end together. The jobs of
    /// a flood then hold all lanes for the time of a whole hash, and when they end, the next ones begin at
    /// once. Without the extra lane, a job of another client could wait as long as a whole hash runs.
    fn take_newcomer(&mut self, worker: usize, now: Instant) -> Option<Job> {
        if !self.can_admit_newcomer(now) {
            return None;
        }
        let job = self
            .queue
            .pop_from(|client| !self.lanes_by_client.contains_key(&client))?;
        if !job.is_live(now) {
            job.discard(&mut self.counters);
            return None;
        }
        self.occupy(worker, &job);
        Some(job)
    }

    /// Returns `true` if a newcomer may go before the queued jobs.
    ///
    /// This is the case while one client floods and the queued jobs have twice the time that they need, so that
    /// none of them is delayed past its deadline.
    fn can_admit_newcomer(&self, now: Instant) -> bool {
        let lanes_total = self.lanes_total();
        let flood_lanes = lanes_total.div_ceil(FLOOD_SHARE).max(2);
        let has_flood = self
            .lanes_by_client
            .values()
            .any(|lanes| *lanes >= flood_lanes);
        if !has_flood || self.queue.len() > MAX_SHORT_QUEUE * lanes_total {
            return false;
        }
        let time = self
            .throughput
            .time_for(self.running_iterations() + self.queue.work(), lanes_total);
        self.queue
            .earliest_deadline()
            .is_none_or(|deadline| now + 2 * time <= deadline)
    }

    fn occupy(&mut self, worker: usize, job: &Job) {
        let load = &mut self.loads[worker];
        load.work += job.work();
        load.clients.push(job.client);
        *self.lanes_by_client.entry(job.client).or_default() += 1;
    }

    /// Replaces the load of a worker, and adds the outcomes since its last report to the counters.
    pub(crate) fn report(&mut self, worker: usize, load: Load, ended: Stats) {
        let before = mem::replace(&mut self.loads[worker], load);
        for client in &self.loads[worker].clients {
            *self.lanes_by_client.entry(*client).or_default() += 1;
        }
        for client in before.clients {
            if let Entry::Occupied(mut lanes) = self.lanes_by_client.entry(client) {
                *lanes.get_mut() -= 1;
                if *lanes.get() == 0 {
                    lanes.remove();
                }
            }
        }
        self.counters.completed += ended.completed;
        self.counters.expired += ended.expired;
        self.counters.dropped += ended.dropped;
        self.counters.panics += ended.panics;
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

    fn lanes_busy(&self) -> usize {
        self.loads.iter().map(|load| load.clients.len()).sum()
    }

    fn lanes_total(&self) -> usize {
        self.lanes_per_worker * self.loads.len()
    }
}

/// Returns the error for a job that is refused.
///
/// If the job would be late, `retry_after` is the time by which it would be late. If the queue is full, it is
/// the estimated wait for a lane.
fn refused(retry_after: Duration) -> EngineError {
    EngineError::Refused {
        retry_after: retry_after.max(MIN_RETRY_AFTER),
    }
}

#[cfg(test)]
mod tests;
