//! The queue of waiting jobs, fair over clients.

use std::collections::{BTreeMap, HashMap};
use std::time::Instant;

use crate::ClientKey;
use crate::job::Job;

/// Jobs in the order of self-clocked fair queueing (Golestani, 1994).
///
/// Each job gets a finish tag: its work added to the later of its client's last tag and the clock,
/// which is the tag served last. The lowest tag is served next. A client that floods queues behind
/// itself, and work counts: a client with more expensive hashes gets fewer of them.
///
/// Admission takes precedence over fairness: an admitted job is expected to finish by its deadline.
/// A new job whose fair position would make an admitted one miss its deadline goes behind it, unless
/// that one is late anyway.
#[derive(Default)]
pub(crate) struct Queue {
    limit: usize,
    clock: u64,
    arrivals: u64,
    /// The jobs in the order of service, which for the jobs of one client is their order of arrival.
    jobs: BTreeMap<Tag, Job>,
    /// A lower bound of all deadlines.
    earliest_deadline: Option<Instant>,
}

/// The place of a job in the queue, which is ordered by the fields.
#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord)]
struct Tag {
    finish: u64,
    /// Breaks ties: first come, first served.
    arrival: u64,
}

#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) struct QueuePosition {
    finish: u64,
    /// The iterations of all jobs before it in the queue.
    pub(crate) iterations_ahead: u64,
    /// The iterations that its client has queued already.
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

    /// Iterations of all jobs.
    pub(crate) fn work(&self) -> u64 {
        self.jobs.values().map(Job::work).sum()
    }

    /// A lower bound of all deadlines; `None` if there was no job.
    pub(crate) fn earliest_deadline(&self) -> Option<Instant> {
        self.earliest_deadline
    }

    /// Whether a job of `client` could be queued, possibly by displacing another.
    pub(crate) fn has_capacity_for(&self, client: ClientKey) -> bool {
        !self.is_full() || self.displaceable_for(client).is_some()
    }

    /// The client with the most jobs, if it has at least two more than `client`: with a difference
    /// of one, the two clients would displace each other in turn.
    fn displaceable_for(&self, client: ClientKey) -> Option<ClientKey> {
        let mut jobs_of = HashMap::<ClientKey, usize>::new();
        for job in self.jobs.values() {
            *jobs_of.entry(job.client).or_default() += 1;
        }
        let own = jobs_of.get(&client).copied().unwrap_or_default();
        let (largest, jobs) = jobs_of.into_iter().max_by_key(|(_, jobs)| *jobs)?;
        (jobs > own + 1).then_some(largest)
    }

    /// The position of a new job of `client` with `work`. `stays_ahead` tells whether a queued job with
    /// that many iterations before it would miss its deadline only because of the new job.
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

    /// The tag of the newest job of `client`.
    fn newest_tag(&self, client: ClientKey) -> Option<Tag> {
        let mut newest_first = self.jobs.iter().rev();
        let (tag, _) = newest_first.find(|(_, job)| job.client == client)?;
        Some(*tag)
    }

    /// Queues a job. If the queue is full, returns the job that has no place in it: the newest one of the client
    /// with the most jobs, or this job itself if no client has at least two more than its own.
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

    /// Takes the first job of a client that is wanted. The clock does not follow it.
    pub(crate) fn pop_from(&mut self, is_wanted: impl Fn(ClientKey) -> bool) -> Option<Job> {
        let (&tag, _) = self.jobs.iter().find(|(_, job)| is_wanted(job.client))?;
        self.jobs.remove(&tag)
    }

    /// Removes the jobs that are not live any more.
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
