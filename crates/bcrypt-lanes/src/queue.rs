//! Who waits, and who is next: fair over shares, whatever each of them sends.

use std::collections::{BTreeMap, HashMap, VecDeque};
use std::time::Instant;

use crate::Share;
use crate::job::{Fate, Job};

/// Jobs in the order of self-clocked fair queueing (Golestani, 1994).
///
/// Each job gets a finish tag: its work after the later of its share's last tag and the clock, which
/// stands at the tag that was served last. The least tag is next. A share that floods thereby queues
/// up behind itself, and costs count: a share with dear hashes gets fewer of them.
///
/// One thing comes before fairness: who was let in was promised an answer in time. Where a job's
/// fair place would break such a promise, it goes behind it.
pub(crate) struct Queue {
    limit: usize,
    clock: u64,
    arrivals: u64,
    /// In the order in which they are served.
    jobs: BTreeMap<Tag, Job>,
    /// The jobs of each share, oldest first; none is empty.
    lines: HashMap<Share, VecDeque<Tag>>,
    /// No job's deadline is earlier than this.
    earliest: Option<Instant>,
}

/// Finish tag, then number of arrival: among equal tags the first to arrive is next.
type Tag = (u64, u64);

/// Where a job would wait.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) struct Place {
    finish: u64,
    /// Iterations that would be served before it, were no others to come.
    pub(crate) ahead: u64,
    /// Iterations that its share waits for already.
    pub(crate) own: u64,
}

/// What became of a job that wanted to wait.
pub(crate) enum Admitted {
    /// It waits.
    Waits,
    /// It waits in the place of this one, the newest of the longest line.
    InsteadOf(Job),
    /// The queue is full and its own line is as long as any: here it is again.
    No(Job),
}

impl Queue {
    /// An empty queue for `limit` jobs.
    pub(crate) fn new(limit: usize) -> Self {
        Self {
            limit,
            clock: 0,
            arrivals: 0,
            jobs: BTreeMap::new(),
            lines: HashMap::new(),
            earliest: None,
        }
    }

    pub(crate) fn len(&self) -> usize {
        self.jobs.len()
    }

    pub(crate) fn is_full(&self) -> bool {
        self.len() >= self.limit
    }

    /// Whether a job of `share` would be let in: there is room, or it can be made.
    pub(crate) fn has_room_for(&self, share: Share) -> bool {
        !self.is_full() || self.line_that_yields_to(share).is_some()
    }

    /// The longest line, if it is more than one job longer than the one of `share`: else the two
    /// would only change places.
    fn line_that_yields_to(&self, share: Share) -> Option<Share> {
        let own = self.lines.get(&share).map_or(0, VecDeque::len);
        let (longest, line) = self.lines.iter().max_by_key(|(_, line)| line.len())?;
        (line.len() > own + 1).then_some(*longest)
    }

    /// The place of a job of `share` with `work`. `in_time` says whether a job that waits would
    /// still be done in time with so many iterations ahead of it.
    pub(crate) fn place(
        &self,
        share: Share,
        work: u64,
        in_time: impl Fn(u64, &Job) -> bool,
    ) -> Place {
        let mut place = Place { finish: self.fair_finish(share, work), ahead: 0, own: 0 };
        let mut total = 0;
        for (tag, job) in &self.jobs {
            if tag.0 > place.finish && !in_time(total + work, job) {
                place.finish = tag.0;
            }
            total += job.work();
            if tag.0 <= place.finish {
                place.ahead = total;
            }
            if job.share == share {
                place.own += job.work();
            }
        }
        place
    }

    fn fair_finish(&self, share: Share, work: u64) -> u64 {
        let last = self.lines.get(&share).and_then(VecDeque::back);
        last.map_or(self.clock, |tag| tag.0.max(self.clock)) + work
    }

    /// Takes a job in if there is room, or if room can be made at the cost of a longer line.
    pub(crate) fn push(&mut self, job: Job, place: Place) -> Admitted {
        if !self.is_full() {
            self.insert(job, place);
            return Admitted::Waits;
        }
        let yields = self.line_that_yields_to(job.share);
        match yields.and_then(|share| self.remove_newest(share)) {
            Some(displaced) => {
                self.insert(job, place);
                Admitted::InsteadOf(displaced)
            }
            None => Admitted::No(job),
        }
    }

    fn insert(&mut self, job: Job, place: Place) {
        let tag = (place.finish, self.arrivals);
        self.arrivals += 1;
        let earliest = self.earliest.unwrap_or(job.deadline);
        self.earliest = Some(earliest.min(job.deadline));
        self.lines.entry(job.share).or_default().push_back(tag);
        self.jobs.insert(tag, job);
    }

    fn remove_newest(&mut self, share: Share) -> Option<Job> {
        let tag = *self.lines.get(&share)?.back()?;
        let job = self.jobs.remove(&tag)?;
        self.leave_line(share, tag);
        Some(job)
    }

    /// The job whose turn it is.
    pub(crate) fn pop(&mut self) -> Option<Job> {
        let (tag, job) = self.jobs.pop_first()?;
        self.leave_line(job.share, tag);
        self.clock = self.clock.max(tag.0);
        Some(job)
    }

    fn leave_line(&mut self, share: Share, tag: Tag) {
        if let Some(line) = self.lines.get_mut(&share) {
            line.retain(|other| *other != tag);
            if line.is_empty() {
                self.lines.remove(&share);
            }
        }
    }

    /// Whether a deadline may have passed: a quick look before [`Self::remove_dead`].
    pub(crate) fn may_be_late(&self, now: Instant) -> bool {
        self.earliest.is_some_and(|earliest| earliest <= now)
    }

    /// Takes out all that nobody waits for, so that they keep no room.
    pub(crate) fn remove_dead(&mut self, now: Instant) -> Vec<(Fate, Job)> {
        let dead = self.jobs.extract_if(.., |_, job| job.fate(now) != Fate::Awaited);
        let dead: Vec<_> = dead.collect();
        for (tag, job) in &dead {
            self.leave_line(job.share, *tag);
        }
        self.earliest = self.jobs.values().map(|job| job.deadline).min();
        dead.into_iter().map(|(_, job)| (job.fate(now), job)).collect()
    }
}

#[cfg(test)]
mod tests;
