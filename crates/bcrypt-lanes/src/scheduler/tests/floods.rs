//! Simulates floods on a machine of two workers with six lanes each. The machine is as fast as the scheduler
//! estimates, unless a test says otherwise.

use std::collections::HashMap;
use std::time::{Duration, Instant};

use futures_channel::oneshot::Receiver;

use super::super::{Load, Scheduler};
use crate::job::{Job, Reply, tests::job};
use crate::{EngineError, Settings, Stats};

const WORKERS: usize = 2;
const LANES: usize = 6;
/// The number of iterations of a lane per millisecond.
const PACE: u64 = 12;
/// The number of iterations of one hash of cost 12. It takes a third of a second in a lane, so the machine does
/// 35 per second.
const WORK: u64 = 4096;
const DEADLINE: Duration = Duration::from_millis(9500);

/// The number of jobs of one client by outcome.
#[derive(Clone, Copy, Debug, Default)]
struct Ends {
    done: u32,
    refused_at_once: u32,
    /// The number of jobs that were refused or expired after their admission.
    broken: u32,
}

struct Flood {
    scheduler: Scheduler,
    now: Instant,
    lanes: [Vec<(Job, u64)>; WORKERS],
    waiting: Vec<(u128, Receiver<Reply>)>,
    ends: HashMap<u128, Ends>,
}

impl Flood {
    fn new() -> Self {
        let settings = Settings {
            threads: WORKERS,
            lanes: LANES,
            queue: 1024,
        };
        let mut scheduler = Scheduler::new(settings);
        scheduler.throughput.calibrate(
            u32::try_from(PACE).expect("small"),
            &[Duration::from_millis(1)],
        );
        let lanes = [const { Vec::new() }; WORKERS];
        Self {
            scheduler,
            now: Instant::now(),
            lanes,
            waiting: Vec::new(),
            ends: HashMap::new(),
        }
    }

    fn submit(&mut self, client: u128) {
        let (mut job, mut caller) = job(client, WORK);
        (job.submitted, job.deadline) = (self.now, self.now + DEADLINE);
        self.scheduler.submit(job, self.now);
        let ends = self.ends.entry(client).or_default();
        match caller.try_recv() {
            Ok(None) => self.waiting.push((client, caller)),
            _ => ends.refused_at_once += 1,
        }
    }

    /// Simulates a millisecond in which each of six busy lanes does `throughput` iterations. Seven busy lanes
    /// together do as many as six.
    fn pass(&mut self, throughput: u64) {
        self.now += Duration::from_millis(1);
        self.scheduler.expire(self.now);
        for (worker, lanes) in self.lanes.iter_mut().enumerate() {
            let taken = std::iter::from_fn(|| self.scheduler.take(worker, self.now));
            lanes.extend(taken.map(|job| (job, WORK)));
        }
        for (worker, lanes) in self.lanes.iter_mut().enumerate() {
            let throughput = throughput * 6 / lanes.len().max(LANES) as u64;
            for (_, left) in lanes.iter_mut() {
                *left = left.saturating_sub(throughput);
            }
            let iterations = u32::try_from(throughput).expect("small");
            self.scheduler
                .throughput
                .record(lanes.len(), iterations, Duration::from_millis(1));
            for (job, left) in lanes.extract_if(.., |(_, left)| *left == 0) {
                assert_eq!(left, 0);
                job.answer(Err(EngineError::Lost));
            }
            let work = lanes.iter().map(|(_, left)| left).sum();
            let clients = lanes.iter().map(|(job, _)| job.client).collect();
            self.scheduler
                .report(worker, Load { clients, work }, Stats::default());
        }
        let ends = &mut self.ends;
        self.waiting.retain_mut(|(client, caller)| {
            let Ok(Some(reply)) = caller.try_recv() else {
                return true;
            };
            let ends = ends.entry(*client).or_default();
            match reply {
                // The simulation answers finished jobs with this error.
                Err(EngineError::Lost) => ends.done += 1,
                _ => ends.broken += 1,
            }
            false
        });
    }

    fn total(&self) -> Ends {
        self.ends.values().fold(Ends::default(), |sum, ends| Ends {
            done: sum.done + ends.done,
            refused_at_once: sum.refused_at_once + ends.refused_at_once,
            broken: sum.broken + ends.broken,
        })
    }
}

#[test]
fn jobs_of_a_flood_from_many_clients_are_refused_at_once_or_completed() {
    let mut flood = Flood::new();
    for millisecond in 0..40_000_u128 {
        // The clients send ten times the capacity, and each returns before its turn.
        if millisecond % 3 == 0 {
            flood.submit(millisecond / 3 % 1000);
        }
        flood.pass(PACE);
    }
    let total = flood.total();
    assert!(total.done > 1350, "of 1400 possible: {total:?}");
    assert!(total.broken * 200 < total.refused_at_once, "{total:?}");
}

#[test]
fn new_clients_never_delay_admitted_jobs_past_their_deadline() {
    let mut flood = Flood::new();
    for millisecond in 0..40_000_u128 {
        // A few clients fill the queue, then new clients arrive at the rate of the capacity.
        if millisecond < 10_000 {
            flood.submit(millisecond % 3);
        }
        if millisecond >= 2000 && millisecond % 30 == 0 {
            flood.submit(1000 + millisecond);
        }
        flood.pass(PACE);
    }
    let total = flood.total();
    assert!(total.broken == 0 && total.done > 1300, "{total:?}");
}

#[test]
fn admitted_jobs_finish_when_the_machine_slows_down_by_a_tenth() {
    let mut flood = Flood::new();
    for millisecond in 0..30_000_u128 {
        if millisecond % 3 == 0 {
            flood.submit(millisecond / 3 % 1000);
        }
        flood.pass(if millisecond < 8000 {
            PACE
        } else {
            PACE * 9 / 10
        });
    }
    let total = flood.total();
    assert!(total.broken * 200 < total.refused_at_once, "{total:?}");
}

#[test]
fn occasional_clients_are_served_during_a_flood() {
    for flooders in [1, 10] {
        let mut flood = Flood::new();
        for millisecond in 0..40_000_u128 {
            if millisecond % 3 == 0 {
                flood.submit(millisecond / 3 % flooders);
            }
            if millisecond % 2000 == 1000 {
                flood.submit(1000 + millisecond / 2000);
            }
            flood.pass(PACE);
        }
        let mut others = (1000..1018).map(|client| flood.ends[&client]);
        assert!(
            others.all(|ends| ends.done == 1),
            "{flooders}: {:?}",
            flood.ends
        );
        let total = flood.total();
        assert!(
            total.done > 1350 && total.broken == 0,
            "{flooders}: {total:?}"
        );
    }
}

#[test]
fn flooding_clients_get_equal_shares() {
    let mut flood = Flood::new();
    for millisecond in 0..40_000_u128 {
        if millisecond % 3 == 0 {
            // One client sends as much as the three others together.
            let client = millisecond / 3 % 6;
            flood.submit(client.saturating_sub(2));
        }
        flood.pass(PACE);
    }
    let done: Vec<_> = (0..4).map(|client| flood.ends[&client].done).collect();
    assert!(
        done.iter().all(|done| (300..400).contains(done)),
        "{done:?}"
    );
}
