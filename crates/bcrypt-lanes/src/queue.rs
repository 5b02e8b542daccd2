//! The queue of waiting jobs, fair over clients.

use std::collections::{BTreeMap, HashMap, VecDeque};
use std::time::Instant;

use crate::ClientKey;
use crate::job::{Job, JobState};

/// Jobs in the order of self-clocked fair queueing (Golestani, 1994).
///
/// Each job gets a finish tag: its work added to the later of its client's last tag and the clock,
/// which is the tag served last. The lowest tag is served next. A client that floods queues behind
/// itself, and work counts: a client with more expensive hashes gets fewer of them.
///
/// Admission takes precedence over fairness: an admitted job is expected to finish by its deadline.
/// A new job whose fair position would make an admitted one miss its deadline goes behind it, unless
/// that one is late anyway.
pub(crate) struct Queue {
    limit: usize,
    clock: u64,
    arrivals: u64,
    /// In service order.
    jobs: BTreeMap<Tag, Job>,
    /// Iterations of all of them.
    work: u64,
    /// The tags of each client's jobs, oldest first; no entry is empty.
    per_client: HashMap<ClientKey, VecDeque<Tag>>,
    /// A lower bound of all deadlines.
    earliest_deadline: Option<Instant>,
}

/// Finish tag, then arrival number, which breaks ties first come, first served.
type Tag = (u64, u64);

/// The position a job would get.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) struct QueuePosition {
    finish: u64,
    /// Iterations queued before it.
    pub(crate) ahead: u64,
    /// Iterations its client has queued already.
    pub(crate) own: u64,
}

impl Queue {
    /// An empty queue for `limit` jobs.
    pub(crate) fn new(limit: usize) -> Self {
        Self {
            limit,
            clock: 0,
            arrivals: 0,
            jobs: BTreeMap::new(),
            work: 0,
            per_client: HashMap::new(),
            earliest_deadline: None,
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
        self.work
    }

    /// No job has an earlier one; `None` if there was no job.
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
        let own = self.per_client.get(&client).map_or(0, VecDeque::len);
        let (largest, jobs) = self.per_client.iter().max_by_key(|(_, jobs)| jobs.len())?;
        (jobs.len() > own + 1).then_some(*largest)
    }

    /// The position of a new job of `client` with `work`. `stays_ahead` tells whether a queued job with
    /// that many iterations before it would miss its deadline only because of the new job.
    pub(crate) fn position(
        &self,
        client: ClientKey,
        work: u64,
        stays_ahead: impl Fn(u64, &Job) -> bool,
    ) -> QueuePosition {
        let mut position =
            QueuePosition { finish: self.fair_finish(client, work), ahead: 0, own: 0 };
        let mut total = 0;
        for (tag, job) in &self.jobs {
            if tag.0 > position.finish && stays_ahead(total, job) {
                position.finish = tag.0;
            }
            total += job.work();
            if tag.0 <= position.finish {
                position.ahead = total;
            }
            if job.client == client {
                position.own += job.work();
            }
        }
        position
    }

    fn fair_finish(&self, client: ClientKey, work: u64) -> u64 {
        let last = self.per_client.get(&client).and_then(VecDeque::back);
        last.map_or(self.clock, |tag| tag.0.max(self.clock)) + work
    }

    /// Queues a job. Returns the one that has no place if the queue is full: the newest job of the client
    /// with the most, or this one if no client has more than its own.
    pub(crate) fn push(&mut self, job: Job, position: QueuePosition) -> Option<Job> {
        let mut displaced = None;
        if self.is_full() {
            let Some(client) = self.displaceable_for(job.client) else { return Some(job) };
            displaced = self.remove_newest(client);
        }
        let tag = (position.finish, self.arrivals);
        self.arrivals += 1;
        let earliest = self.earliest_deadline.unwrap_or(job.deadline);
        self.earliest_deadline = Some(earliest.min(job.deadline));
        self.per_client.entry(job.client).or_default().push_back(tag);
        self.work += job.work();
        self.jobs.insert(tag, job);
        displaced
    }

    fn remove_newest(&mut self, client: ClientKey) -> Option<Job> {
        let tag = *self.per_client.get(&client)?.back()?;
        let job = self.jobs.remove(&tag)?;
        self.forget(&job, tag);
        Some(job)
    }

    /// The next job.
    pub(crate) fn first(&self) -> Option<&Job> {
        self.jobs.first_key_value().map(|(_, job)| job)
    }

    /// Removes the next job.
    pub(crate) fn pop(&mut self) -> Option<Job> {
        let (tag, job) = self.jobs.pop_first()?;
        self.forget(&job, tag);
        self.clock = self.clock.max(tag.0);
        Some(job)
    }

    /// Removes the next job of a client that `is_wanted`.
    pub(crate) fn pop_of(&mut self, is_wanted: impl Fn(ClientKey) -> bool) -> Option<Job> {
        let wanted = self.per_client.iter().filter(|(client, _)| is_wanted(**client));
        let tag = *wanted.filter_map(|(_, tags)| tags.iter().min()).min()?;
        let job = self.jobs.remove(&tag)?;
        self.forget(&job, tag);
        Some(job)
    }

    /// Updates the counts after `job` was removed.
    fn forget(&mut self, job: &Job, tag: Tag) {
        self.work -= job.work();
        if let Some(tags) = self.per_client.get_mut(&job.client) {
            tags.retain(|other| *other != tag);
            if tags.is_empty() {
                self.per_client.remove(&job.client);
            }
        }
    }

    /// Whether a deadline may have passed: a cheap check before [`Self::remove_dead`].
    pub(crate) fn may_have_expired(&self, now: Instant) -> bool {
        self.earliest_deadline.is_some_and(|earliest| earliest <= now)
    }

    /// Removes cancelled and expired jobs.
    pub(crate) fn remove_dead(&mut self, now: Instant) -> Vec<(JobState, Job)> {
        let dead = self.jobs.extract_if(.., |_, job| job.state(now) != JobState::Live);
        let dead: Vec<_> = dead.collect();
        for (tag, job) in &dead {
            self.forget(job, *tag);
        }
        self.earliest_deadline = self.jobs.values().map(|job| job.deadline).min();
        dead.into_iter().map(|(_, job)| (job.state(now), job)).collect()
    }
}

#[cfg(test)]
mod tests;
