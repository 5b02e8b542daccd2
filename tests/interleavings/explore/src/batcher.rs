//! The scenarios of crates/batcher, in which requests of several tasks share batches.

use crate::runs::{Scenario, join_all};
use rolegate_batcher::{Batcher, Limits, SubmitError};
use shuttle::{
    rand::{Rng as _, thread_rng},
    sync::atomic::{AtomicU32, Ordering::SeqCst},
    thread,
};
use std::{sync::Arc, time::Duration};
use tokio::{
    spawn,
    sync::Semaphore,
    task::{JoinHandle, yield_now},
};

pub(crate) const SCENARIOS: &[Scenario] = &[
    Scenario {
        name: "batcher::answers_are_fresh",
        property: "no answer is older than its request: none joins a batch in flight",
        run: answers_are_fresh,
    },
    Scenario {
        name: "batcher::submits_end",
        property: "each request gets its own answer, and batches and their number keep their limits",
        run: submits_end,
    },
    Scenario {
        name: "batcher::stalled_batch",
        property: "a batch that hangs delays no other, and no more than the limit are in flight",
        run: stalled_batch,
    },
    Scenario {
        name: "batcher::second_stall",
        property: "requests behind a second batch that hangs are answered too",
        run: second_stall,
    },
    Scenario {
        name: "batcher::cancelled_callers",
        property: "callers that leave and batches that panic take no answer from others",
        run: cancelled_callers,
    },
];

/// A timeout that never ends, because shuttle never ends a sleep of more than a year.
const NEVER: Duration = Duration::from_hours(2 * 366 * 24);

fn limits(max_batch_size: usize, max_in_flight: usize) -> Limits {
    Limits {
        max_batch_size,
        max_in_flight,
        stall_timeout: NEVER,
        max_in_flight_stalled: 2,
    }
}

/// Returns this batcher, or one whose lone requests are sent by their callers. Planted faults need `Clone`.
fn with_or_without_tasks<R: Clone + Send + 'static, A: Clone + Send + 'static>(
    batcher: Batcher<R, A>,
) -> Batcher<R, A> {
    if thread_rng().gen_bool(0.5) {
        batcher.let_callers_send()
    } else {
        batcher
    }
}

fn answers_are_fresh() {
    let value = Arc::new(AtomicU32::new(0));
    let read = Arc::clone(&value);
    let max_in_flight = thread_rng().gen_range(1..=2);
    let reads = with_or_without_tasks(Batcher::new(
        limits(2, max_in_flight),
        move |batch: Vec<()>| {
            let value = Arc::clone(&read);
            async move {
                let read = value.load(SeqCst);
                yield_now().await;
                vec![read; batch.len()]
            }
        },
    ));
    let readers: Vec<_> = (0..3)
        .map(|_| {
            let (value, reads) = (Arc::clone(&value), reads.clone());
            spawn(async move {
                for _ in 0..2 {
                    let written = value.fetch_add(1, SeqCst) + 1;
                    let read = reads.submit(()).await.expect("an answer");
                    assert!(read >= written, "read {read} after {written} was written");
                }
            })
        })
        .collect();
    join_all(readers);
}

/// Counts the batches in flight, which must not exceed a maximum.
#[derive(Clone)]
struct InFlight {
    now: Arc<AtomicU32>,
    most: Arc<AtomicU32>,
}

impl InFlight {
    fn new() -> Self {
        Self {
            now: Arc::default(),
            most: Arc::default(),
        }
    }

    fn begin(&self) {
        self.most
            .fetch_max(self.now.fetch_add(1, SeqCst) + 1, SeqCst);
    }

    fn end(&self) {
        self.now.fetch_sub(1, SeqCst);
    }

    fn assert_at_most(&self, max: usize) {
        let most = self.most.load(SeqCst);
        assert!(most as usize <= max, "{most} batches in flight");
    }
}

fn submits_end() {
    let in_flight = InFlight::new();
    let flight = in_flight.clone();
    let max_in_flight = thread_rng().gen_range(1..=2);
    let echo = with_or_without_tasks(Batcher::new(
        limits(2, max_in_flight),
        move |batch: Vec<u32>| {
            let flight = flight.clone();
            async move {
                flight.begin();
                yield_now().await;
                flight.end();
                // A batch that is too large gets no answers, so its callers fail.
                if batch.len() <= 2 { batch } else { Vec::new() }
            }
        },
    ));
    let callers: Vec<_> = (0..3)
        .map(|caller| {
            let echo = echo.clone();
            spawn(async move {
                for request in 0..2 {
                    let request = 10 * caller + request;
                    assert_eq!(echo.submit(request).await, Ok(request));
                }
            })
        })
        .collect();
    join_all(callers);
    in_flight.assert_at_most(max_in_flight);
}

/// Returns a batcher that answers the requests 0 and 1 only with a permit for each.
fn hanging(stalled: usize) -> (Batcher<u32, u32>, Arc<Semaphore>, InFlight) {
    let (release, in_flight) = (Arc::new(Semaphore::new(0)), InFlight::new());
    let limits = Limits {
        max_batch_size: 1,
        max_in_flight: 1,
        stall_timeout: Duration::ZERO,
        max_in_flight_stalled: stalled,
    };
    let (permits, flight) = (Arc::clone(&release), in_flight.clone());
    let echo = with_or_without_tasks(Batcher::new(limits, move |batch: Vec<u32>| {
        let (permits, flight) = (Arc::clone(&permits), flight.clone());
        async move {
            flight.begin();
            if batch[0] < 2 {
                permits.acquire().await.expect("a permit").forget();
            } else {
                yield_now().await;
            }
            flight.end();
            batch
        }
    }));
    (echo, release, in_flight)
}

fn submit(echo: &Batcher<u32, u32>, request: u32) -> JoinHandle<()> {
    let echo = echo.clone();
    spawn(async move { assert_eq!(echo.submit(request).await, Ok(request)) })
}

fn stalled_batch() {
    let (echo, release, in_flight) = hanging(2);
    let hanging = submit(&echo, 0);
    join_all([2, 3, 4].map(|request| submit(&echo, request)));
    release.add_permits(1);
    join_all([hanging]);
    in_flight.assert_at_most(2);
}

fn second_stall() {
    let (echo, release, in_flight) = hanging(2);
    for round in 0..2 {
        let hanging = submit(&echo, round);
        join_all([2, 3].map(|request| submit(&echo, request)));
        release.add_permits(1);
        join_all([hanging]);
    }
    in_flight.assert_at_most(2);
}

const PANIC: u32 = 99;

fn cancelled_callers() {
    let echo = with_or_without_tasks(Batcher::new(
        limits(3, 1),
        move |batch: Vec<u32>| async move {
            yield_now().await;
            assert!(!batch.contains(&PANIC), "as the scenario intends");
            batch
        },
    ));
    let leaving = [10, 11].map(|request| {
        let echo = echo.clone();
        spawn(async move {
            let _ = echo.submit(request).await;
        })
    });
    let panicking = echo.clone();
    let panicking = spawn(async move {
        assert_eq!(
            panicking.submit(PANIC).await,
            Err(SubmitError::BatchDropped)
        );
    });
    let staying = [20, 21].map(|request| {
        let echo = echo.clone();
        spawn(async move {
            let answer = echo.submit(request).await;
            // The request may share the batch that panics, but only once.
            if answer.is_err() {
                assert_eq!(answer, Err(SubmitError::BatchDropped));
                assert_eq!(echo.submit(request).await, Ok(request));
            }
        })
    });
    for task in &leaving {
        // The task is aborted before its batch is sent, or while the batch is in flight.
        for _ in 0..thread_rng().gen_range(0..20) {
            thread::yield_now();
        }
        task.abort();
    }
    join_all(staying.into_iter().chain([panicking]));
    // The batcher still works.
    join_all([submit(&echo, 30)]);
}
