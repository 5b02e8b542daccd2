//! The queue of waiting jobs, in which every client gets a fair share.

use std::collections::{BTreeMap, HashMap};
use std::time::Instant;

use crate::ClientKey;
use crate::job::Job;

/// Jobs in the order of self-clocked fair queueing (Golestani, 1994).
///
/// Each job gets a finish tag: its work, added to the last tag of its client or to the clock, whichever is
/// later. The clock is the tag that was served last, and the lowest tag is served next. A client that
/// floods therefore waits behind its own jobs, and a client with more expensive hashes gets fewer of them.
///
/// Admission takes precedence over fairness, because an admitted job is expected to finish by its deadline.
/// If the fair position of a new job would make an admitted job miss its deadline, the new one goes behind
/// it. An admitted job that is late anyway does not hold a new one back.
#[derive(Default)]
pub(crate) struct Queue {
    limit: usize,
    clock: u64,
    arrivals: u64,
    /// The jobs in the order of service. The jobs of one client are served in the order of their arrival.
    jobs: BTreeMap<Tag, Job>,
    /// A lower bound of the deadlines of all jobs.
    earliest_deadline: Option<Instant>,
}

/// The position of a job in the queue. The derived order compares the fields from the first to the last.
#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord)]
struct Tag {
    finish: u64,
    /// The number of the job in the order of arrival, so that equal finish tags are served first come, first served.
    arrival: u64,
}

#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) struct QueuePosition {
    finish: u64,
    /// The number of iterations of all jobs before this position.
    pub(crate) iterations_ahead: u64,
    /// The number of iterations that the same client has already queued.
    pub(crate) own_iterations: u64,
}

impl Queue {
    pub(crate) fn new(limit: usize) -> Self {
        Self {
            limit,
            ..Self::default()
        }
    }

    pub(crate) fn len(&self) -> usize {
        self.jobs.len()
    }

    pub(crate) fn is_full(&self) -> bool {
        self.len() >= self.limit
    }

    /// Returns the number of iterations of all queued jobs together.
    pub(crate) fn work(&self) -> u64 {
        self.jobs.values().map(Job::work).sum()
    }

    /// Returns a lower bound of all deadlines. `None` means that the queue is empty.
    pub(crate) fn earliest_deadline(&self) -> Option<Instant> {
        self.earliest_deadline
    }

    /// Returns `true` if a job of `client` could be queued now, possibly by displacing another job.
    pub(crate) fn has_capacity_for(&self, client: ClientKey) -> bool {
        !self.is_full() || self.displaceable_for(client).is_some()
    }

    /// Returns the client whose job a job of `client` may displace: the one with the most jobs, if it has at
    /// least two more than `client`.
    ///
    /// With a difference of one, the two clients would displace each other in turn.
    fn displaceable_for(&self, client: ClientKey) -> Option<ClientKey> {
        let mut jobs_of = HashMap::<ClientKey, usize>::new();
        for job in self.jobs.values() {
            *jobs_of.entry(job.client).or_default() += 1;
        }
        let own = jobs_of.get(&client).copied().unwrap_or_default();
        let (largest, jobs) = jobs_of.into_iter().max_by_key(|(_, jobs)| *jobs)?;
        (jobs > own + 1).then_some(largest)
    }

    /// Returns the position of a new job of `client` with `work`.
    ///
    /// `stays_ahead` gets a queued job and the number of iterations before it. It returns `true` if this job
    /// would miss its deadline only because of the new one, which then goes behind it.
    pub(crate) fn position(
        &self,
        client: ClientKey,
        work: u64,
        stays_ahead: impl Fn(u64, &Job) -> bool,
    ) -> QueuePosition {
        let last = self.newest_tag(client).map_or(0, |tag| tag.finish);
        let finish = last.max(self.clock) + work;
        let mut position = QueuePosition {
            finish,
            iterations_ahead: 0,
            own_iterations: 0,
        };
        let mut total = 0;
        for (tag, job) in &self.jobs {
            if tag.finish > position.finish && stays_ahead(total, job) {
                position.finish = tag.finish;
            }
            total += job.work();
            if tag.finish <= position.finish {
                position.iterations_ahead = total;
            }
            if job.client == client {
                position.own_iterations += job.work();
            }
        }
        position
    }

    /// Returns the tag of the newest job of `client`.
    fn newest_tag(&self, client: ClientKey) -> Option<Tag> {
        let mut newest_first = self.jobs.iter().rev();
        let (tag, _) = newest_first.find(|(_, job)| job.client == client)?;
        Some(*tag)
    }

    /// Queues a job. If the queue is full, returns the job that does not fit.
    ///
    /// The returned job is the newest one of the client with the most jobs, or the given job if no client has
    /// at least two more than its own.
    pub(crate) fn push(&mut self, job: Job, position: QueuePosition) -> Option<Job> {
        let mut displaced = None;
        if self.is_full() {
            let Some(client) = self.displaceable_for(job.client) else {
                return Some(job);
            };
            displaced = self
                .newest_tag(client)
                .and_then(|tag| self.jobs.remove(&tag));
        }
        let tag = Tag {
            finish: position.finish,
            arrival: self.arrivals,
        };
        self.arrivals += 1;
        let earliest = self.earliest_deadline.unwrap_or(job.deadline);
        self.earliest_deadline = Some(earliest.min(job.deadline));
        self.jobs.insert(tag, job);
        displaced
    }

    pub(crate) fn first(&self) -> Option<&Job> {
        self.jobs.first_key_value().map(|(_, job)| job)
    }

    pub(crate) fn pop(&mut self) -> Option<Job> {
        let (tag, job) = self.jobs.pop_first()?;
        self.clock = self.clock.max(tag.finish);
        Some(job)
    }

    /// Takes the first job whose client `is_wanted` accepts. The clock does not advance, because the job goes
    /// before its turn.
    pub(crate) fn pop_from(&mut self, is_wanted: impl Fn(ClientKey) -> bool) -> Option<Job> {
        let (&tag, _) = self.jobs.iter().find(|(_, job)| is_wanted(job.client))?;
        self.jobs.remove(&tag)
    }

    /// Removes and returns the jobs whose deadline has passed or whose caller has left.
    pub(crate) fn remove_dead(&mut self, now: Instant) -> Vec<Job> {
        let dead: Vec<_> = self
            .jobs
            .extract_if(.., |_, job| !job.is_live(now))
            .map(|(_, job)| job)
            .collect();
        self.earliest_deadline = self.jobs.values().map(|job| job.deadline).min();
        dead
    }
}

#[cfg(test)]
mod tests;
