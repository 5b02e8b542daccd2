//! Who waits, and who is next: fair over shares, whatever each of them sends.

use std::collections::{BTreeSet, HashMap, VecDeque};
use std::time::Instant;

use crate::Share;
use crate::job::{Fate, Job};

/// Jobs in the order of self-clocked fair queueing (Golestani, 1994).
///
/// Each job gets a finish tag: its work after the later of its share's last tag and the clock, which
/// stands at the tag that was served last. The least tag is next. A share that floods thereby queues
/// up behind itself, and costs count: a share with dear hashes gets fewer of them.
pub(crate) struct Queue {
    limit: usize,
    len: usize,
    clock: u64,
    arrivals: u64,
    lines: HashMap<Share, Line>,
    /// The first job of every line. Among equal tags the first to arrive is next.
    heads: BTreeSet<(Tag, Share)>,
    /// No job's deadline is earlier than this.
    earliest: Option<Instant>,
}

/// Finish tag, then number of arrival.
type Tag = (u64, u64);

/// The jobs of one share, oldest first; never empty.
#[derive(Default)]
struct Line {
    jobs: VecDeque<(Tag, Job)>,
    work: u64,
}

impl Line {
    fn head(&self) -> Option<Tag> {
        self.jobs.front().map(|(tag, _)| *tag)
    }
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
            len: 0,
            clock: 0,
            arrivals: 0,
            lines: HashMap::new(),
            heads: BTreeSet::new(),
            earliest: None,
        }
    }

    pub(crate) fn len(&self) -> usize {
        self.len
    }

    pub(crate) fn is_full(&self) -> bool {
        self.len >= self.limit
    }

    /// Takes a job in if there is room, or if room can be made at the cost of a longer line.
    pub(crate) fn push(&mut self, job: Job) -> Admitted {
        if !self.is_full() {
            self.append(job);
            return Admitted::Waits;
        }
        let own = self.lines.get(&job.share).map_or(0, |line| line.jobs.len());
        let longest = self.lines.iter().max_by_key(|(_, line)| line.jobs.len());
        match longest.map(|(share, line)| (*share, line.jobs.len())) {
            // One longer would only change the places of the two.
            Some((share, len)) if len > own + 1 => match self.remove_newest(share) {
                Some(displaced) => {
                    self.append(job);
                    Admitted::InsteadOf(displaced)
                }
                None => Admitted::No(job),
            },
            _ => Admitted::No(job),
        }
    }

    fn append(&mut self, job: Job) {
        let share = job.share;
        let tag = (self.finish_tag(share, job.work()), self.arrivals);
        self.arrivals += 1;
        let earliest = self.earliest.unwrap_or(job.deadline);
        self.earliest = Some(earliest.min(job.deadline));
        self.len += 1;
        let line = self.lines.entry(share).or_default();
        line.work += job.work();
        if line.jobs.is_empty() {
            self.heads.insert((tag, share));
        }
        line.jobs.push_back((tag, job));
    }

    fn finish_tag(&self, share: Share, work: u64) -> u64 {
        let last = self.lines.get(&share).and_then(|line| line.jobs.back());
        last.map_or(self.clock, |(tag, _)| tag.0.max(self.clock)) + work
    }

    fn remove_newest(&mut self, share: Share) -> Option<Job> {
        let line = self.lines.get_mut(&share)?;
        let (tag, job) = line.jobs.pop_back()?;
        line.work -= job.work();
        self.len -= 1;
        if line.jobs.is_empty() {
            self.lines.remove(&share);
            self.heads.remove(&(tag, share));
        }
        Some(job)
    }

    /// The job whose turn it is.
    pub(crate) fn pop(&mut self) -> Option<Job> {
        let (_, share) = self.heads.pop_first()?;
        let line = self.lines.get_mut(&share)?;
        let (tag, job) = line.jobs.pop_front()?;
        line.work -= job.work();
        self.len -= 1;
        self.clock = tag.0;
        match line.head() {
            Some(tag) => {
                self.heads.insert((tag, share));
            }
            None => {
                self.lines.remove(&share);
            }
        }
        Some(job)
    }

    /// About how many iterations would be served before a new job of `share` with `work`, were no
    /// others to come.
    pub(crate) fn work_ahead(&self, share: Share, work: u64) -> u64 {
        let until = self.finish_tag(share, work) - self.clock;
        let ahead = |(other, line): (&Share, &Line)| {
            if *other == share { line.work } else { line.work.min(until) }
        };
        self.lines.iter().map(ahead).sum()
    }

    /// Whether a deadline may have passed: a quick look before [`Self::remove_dead`].
    pub(crate) fn may_be_late(&self, now: Instant) -> bool {
        self.earliest.is_some_and(|earliest| earliest <= now)
    }

    /// Takes out all that nobody waits for, so that they keep no room.
    pub(crate) fn remove_dead(&mut self, now: Instant) -> Vec<(Fate, Job)> {
        let mut dead = Vec::new();
        self.earliest = None;
        for line in self.lines.values_mut() {
            for (tag, job) in std::mem::take(&mut line.jobs) {
                match job.fate(now) {
                    Fate::Awaited => {
                        let earliest = self.earliest.unwrap_or(job.deadline);
                        self.earliest = Some(earliest.min(job.deadline));
                        line.jobs.push_back((tag, job));
                    }
                    fate => {
                        line.work -= job.work();
                        dead.push((fate, job));
                    }
                }
            }
        }
        self.lines.retain(|_, line| !line.jobs.is_empty());
        let heads = self.lines.iter();
        self.heads = heads.filter_map(|(share, line)| Some((line.head()?, *share))).collect();
        self.len -= dead.len();
        dead
    }
}

#[cfg(test)]
mod tests;
