//! Floods in simulated time: a machine of two workers with six lanes each that does exactly what the
//! board believes it does, unless told otherwise.

use std::collections::HashMap;
use std::time::{Duration, Instant};

use futures_channel::oneshot::Receiver;

use super::super::{Board, Counted, Load};
use crate::job::{Job, Reply, tests::job};
use crate::{EngineError, Settings};

const WORKERS: usize = 2;
const LANES: usize = 6;
/// Iterations of a lane in a millisecond.
const PACE: u64 = 12;
/// One hash of cost 12: a third of a second in a lane, 35 of them a second.
const WORK: u64 = 4096;
const DEADLINE: Duration = Duration::from_millis(9500);

/// How the jobs of one share ended.
#[derive(Clone, Copy, Debug, Default)]
struct Ends {
    done: u32,
    refused_at_once: u32,
    /// Refused or given up after they were let in.
    broken: u32,
}

struct Flood {
    board: Board,
    now: Instant,
    lanes: [Vec<(Job, u64)>; WORKERS],
    waiting: Vec<(u128, Receiver<Reply>)>,
    ends: HashMap<u128, Ends>,
}

impl Flood {
    fn new() -> Self {
        let settings =
            Settings { threads: WORKERS, lanes: LANES, queue: 1024, low_priority: false };
        let mut board = Board::new(settings);
        board.pace.calibrate(u32::try_from(PACE).expect("small"), &[Duration::from_millis(1)]);
        let lanes = [const { Vec::new() }; WORKERS];
        Self { board, now: Instant::now(), lanes, waiting: Vec::new(), ends: HashMap::new() }
    }

    fn submit(&mut self, share: u128) {
        let (mut job, mut caller) = job(share, WORK);
        (job.submitted, job.deadline) = (self.now, self.now + DEADLINE);
        self.board.submit(job, self.now);
        let ends = self.ends.entry(share).or_default();
        match caller.try_recv() {
            Ok(None) => self.waiting.push((share, caller)),
            _ => ends.refused_at_once += 1,
        }
    }

    /// A millisecond in which lanes do `pace` iterations.
    fn pass(&mut self, pace: u64) {
        self.now += Duration::from_millis(1);
        self.board.expire(self.now);
        for (worker, lanes) in self.lanes.iter_mut().enumerate() {
            let taken = std::iter::from_fn(|| self.board.take(worker, self.now));
            lanes.extend(taken.map(|job| (job, WORK)));
        }
        for (worker, lanes) in self.lanes.iter_mut().enumerate() {
            for (_, left) in lanes.iter_mut() {
                *left = left.saturating_sub(pace);
            }
            let iterations = u32::try_from(pace).expect("small");
            self.board.pace.learn(lanes.len(), iterations, Duration::from_millis(1));
            for (job, left) in lanes.extract_if(.., |(_, left)| *left == 0) {
                assert_eq!(left, 0);
                job.answer(Err(EngineError::Lost));
            }
            let work = lanes.iter().map(|(_, left)| left).sum();
            self.board.report(worker, Load { jobs: lanes.len(), work }, Counted::default());
        }
        let ends = &mut self.ends;
        self.waiting.retain_mut(|(share, caller)| {
            let Ok(Some(reply)) = caller.try_recv() else { return true };
            let ends = ends.entry(*share).or_default();
            match reply {
                // What the simulation answers when a job is done.
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
fn a_flood_from_many_addresses_is_refused_at_once_or_done() {
    let mut flood = Flood::new();
    for millisecond in 0..40_000_u128 {
        // Ten times what can be done; each address comes back before its turn.
        if millisecond % 3 == 0 {
            flood.submit(millisecond / 3 % 1000);
        }
        flood.pass(PACE);
    }
    let total = flood.total();
    assert!(total.done > 1350, "of 1400 that can be: {total:?}");
    assert!(total.broken * 200 < total.refused_at_once, "{total:?}");
}

#[test]
fn newcomers_overtake_nobody_beyond_the_time() {
    let mut flood = Flood::new();
    for millisecond in 0..40_000_u128 {
        // A few who take all the room there is, then ever new ones, as many as can be done.
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
fn a_machine_that_becomes_slower_by_a_tenth_breaks_no_promise() {
    let mut flood = Flood::new();
    for millisecond in 0..30_000_u128 {
        if millisecond % 3 == 0 {
            flood.submit(millisecond / 3 % 1000);
        }
        flood.pass(if millisecond < 8000 { PACE } else { PACE * 9 / 10 });
    }
    let total = flood.total();
    assert!(total.broken * 200 < total.refused_at_once, "{total:?}");
}

#[test]
fn whoever_comes_now_and_then_does_not_notice_that_others_flood() {
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
        let mut others = (1000..1018).map(|share| flood.ends[&share]);
        assert!(others.all(|ends| ends.done == 1), "{flooders}: {:?}", flood.ends);
        let total = flood.total();
        assert!(total.done > 1350 && total.broken == 0, "{flooders}: {total:?}");
    }
}

#[test]
fn those_who_flood_get_equal_parts() {
    let mut flood = Flood::new();
    for millisecond in 0..40_000_u128 {
        if millisecond % 3 == 0 {
            // One of them sends as much as the three others together.
            let share = millisecond / 3 % 6;
            flood.submit(share.saturating_sub(2));
        }
        flood.pass(PACE);
    }
    let done: Vec<_> = (0..4).map(|share| flood.ends[&share].done).collect();
    assert!(done.iter().all(|done| (300..400).contains(done)), "{done:?}");
}
