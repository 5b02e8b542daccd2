//! The scenarios of crates/bcrypt-lanes: callers, the scheduler and workers.

use crate::runs::{Scenario, join_all};
use exchanged_std::time::Instant;
use rolegate_bcrypt_lanes::{
    ClientKey, Cost, Engine, EngineError, Settings, Verdict, begun, forget_begun,
};
use shuttle::{
    rand::{Rng as _, thread_rng},
    thread,
};
use std::{sync::Arc, time::Duration};
use tokio::{spawn, task::JoinHandle};

pub(crate) const SCENARIOS: &[Scenario] = &[
    Scenario {
        name: "lanes::jobs_are_answered",
        property: "each admitted job is answered with its own result, and counted once",
        run: jobs_are_answered,
    },
    Scenario {
        name: "lanes::dropped_engine",
        property: "dropping the engine ends its threads and every call, with a result or as lost",
        run: dropped_engine,
    },
    Scenario {
        name: "lanes::cancelled_jobs",
        property: "jobs of callers that leave free their lanes, and others are answered",
        run: cancelled_jobs,
    },
    Scenario {
        name: "lanes::statistics",
        property: "no call waits for ever for the lock that statistics or a check of admission held",
        run: statistics,
    },
    Scenario {
        name: "lanes::only_caller",
        property: "a caller that nobody comes after is answered, also where it found the lock taken",
        run: only_caller,
    },
    Scenario {
        name: "lanes::panicking_worker",
        property: "a worker that panics loses only jobs in its lanes, and goes on",
        run: panicking_worker,
    },
    Scenario {
        name: "lanes::fair_order",
        property: "of another client's jobs, at most one in the queue begins before the only job of a client",
        run: fair_order,
    },
    Scenario {
        name: "lanes::full_queue",
        property: "the only job of a client is admitted to a queue that another fills, and each is answered",
        run: full_queue,
    },
];

/// Two clients: one with many jobs, and one with a single job, whose password is [`SINGLE`].
const MANY: ClientKey = ClientKey(1);
const ONE: ClientKey = ClientKey(2);
const SINGLE: u8 = 0;

fn engine(threads: usize, lanes: usize) -> Arc<Engine> {
    with_queue(threads, lanes, 8)
}

fn with_queue(threads: usize, lanes: usize, queue: usize) -> Arc<Engine> {
    Arc::new(
        Engine::start(Settings {
            threads,
            lanes,
            queue,
        })
        .expect("threads"),
    )
}

fn soon() -> Instant {
    Instant::now() + Duration::from_hours(1)
}

/// Hashes a password, and checks that the hash verifies it.
fn hash_and_verify(engine: &Arc<Engine>, number: u8) -> JoinHandle<()> {
    let engine = Arc::clone(engine);
    spawn(async move {
        let client = ClientKey(number.into());
        let hash = engine
            .hash(&[number], Cost::MIN, client, soon())
            .await
            .expect("a hash");
        let hash = Some(&*hash.value);
        let verdict = engine
            .verify(&[number], hash, Cost::MIN, client, soon())
            .await;
        assert_eq!(
            verdict.expect("a verdict").value,
            Verdict::Match { rehash: false }
        );
    })
}

/// Waits until the engine is idle, and returns how many jobs it has completed.
fn settle(engine: &Engine) -> u64 {
    loop {
        let stats = engine.stats();
        if stats.queued == 0 && stats.lanes_busy == 0 {
            return stats.completed;
        }
        thread::yield_now();
    }
}

fn jobs_are_answered() {
    let engine = engine(2, thread_rng().gen_range(1..=2));
    join_all([1, 2, 3].map(|number| hash_and_verify(&engine, number)));
    assert_eq!(settle(&engine), 6, "completed jobs");
}

fn dropped_engine() {
    let engine = engine(2, 1);
    let callers = [1, 2, 3].map(|number| {
        let hash = engine.hash(&[number], Cost::MIN, ClientKey(number.into()), soon());
        spawn(async move {
            let outcome = hash.await;
            assert!(
                matches!(outcome, Ok(_) | Err(EngineError::Lost)),
                "{outcome:?}"
            );
        })
    });
    drop(engine);
    join_all(callers);
}

fn cancelled_jobs() {
    let engine = engine(thread_rng().gen_range(1..=2), 1);
    let leaving = [1, 2].map(|number| hash_and_verify(&engine, number));
    let staying = hash_and_verify(&engine, 3);
    for caller in &leaving {
        caller.abort();
    }
    join_all([staying]);
    settle(&engine);
    join_all([hash_and_verify(&engine, 4)]);
}

fn statistics() {
    let engine = engine(1, 1);
    let calls = [1, 2].map(|number| hash_and_verify(&engine, number));
    let (observed, checked) = (Arc::clone(&engine), Arc::clone(&engine));
    let observer = thread::spawn(move || {
        for _ in 0..3 {
            observed.stats();
        }
    });
    let checks = spawn(async move {
        for _ in 0..2 {
            let admission = checked
                .check_admission(Cost::MIN, ClientKey(9), soon())
                .await;
            admission.expect("an hour is enough");
        }
    });
    join_all(calls.into_iter().chain([checks]));
    observer.join().expect("the observer");
}

fn only_caller() {
    let engine = engine(1, 1);
    join_all([hash_and_verify(&engine, 1)]);
}

fn panicking_worker() {
    let engine = engine(1, 1);
    let panicking = engine.hash(&[0xff], Cost::MIN, ClientKey(1), soon());
    let panicking = spawn(async move {
        assert!(matches!(panicking.await, Err(EngineError::Lost)));
    });
    let others = [1, 2].map(|number| {
        let engine = Arc::clone(&engine);
        spawn(async move {
            let hash = || engine.hash(&[number], Cost::MIN, ClientKey(number.into()), soon());
            // The job may share the lanes with the one that panics, but only once.
            if let Err(error) = hash().await {
                assert_eq!(error, EngineError::Lost);
                hash().await.expect("a hash");
            }
        })
    });
    join_all(others.into_iter().chain([panicking]));
    // Callers learn of the panic before it is counted.
    while engine.stats().panics != 1 {
        thread::yield_now();
    }
}

fn fair_order() {
    let engine = engine(1, 1);
    forget_begun();
    let jobs = [1, 2, 3, 4, 5, 6, 7, SINGLE];
    let callers = jobs.map(|number| {
        let client = if number == SINGLE { ONE } else { MANY };
        let hash = engine.hash(&[number], Cost::MIN, client, soon());
        spawn(async move { drop(hash.await.expect("a hash")) })
    });
    let is_submitted = || {
        let stats = engine.stats();
        stats.queued + stats.lanes_busy + usize::try_from(stats.completed).expect("few")
            == jobs.len()
    };
    while !is_submitted() {
        thread::yield_now();
    }
    // At most this many jobs had begun when the single job was queued.
    let before = begun().len();
    join_all(callers);
    let place = begun()
        .iter()
        .position(|number| *number == SINGLE)
        .expect("its place");
    // Two more jobs may come first: one that a worker had taken but not begun, and one whose turn came at the same
    // time.
    assert!(
        place <= before + 2,
        "place {place}, where {before} had begun: {:?}",
        begun()
    );
}

fn full_queue() {
    let engine = with_queue(1, 1, 2);
    let many = [1, 2, 3, 4].map(|number| {
        let hash = engine.hash(&[number], Cost::MIN, MANY, soon());
        spawn(async move {
            let outcome = hash.await;
            assert!(
                matches!(outcome, Ok(_) | Err(EngineError::Refused { .. })),
                "{outcome:?}"
            );
        })
    });
    let single = engine.hash(&[SINGLE], Cost::MIN, ONE, soon());
    let single = spawn(async move { drop(single.await.expect("a hash")) });
    join_all(many.into_iter().chain([single]));
    let completed = settle(&engine);
    assert_eq!(completed + engine.stats().refused, 5, "answers");
}
