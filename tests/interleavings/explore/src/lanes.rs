//! crates/bcrypt-lanes: callers, the scheduler and workers.

use crate::runs::{Scenario, join_all};
use exchanged_std::time::Instant;
use rolegate_bcrypt_lanes::{ClientKey, Cost, Engine, EngineError, Settings, Verdict};
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
];

fn engine(threads: usize, lanes: usize) -> Arc<Engine> {
    Arc::new(Engine::start(Settings { threads, lanes, queue: 8 }).expect("threads"))
}

fn soon() -> Instant {
    Instant::now() + Duration::from_hours(1)
}

/// Checks that a new hash is that of its password.
fn hash_and_verify(engine: &Arc<Engine>, number: u8) -> JoinHandle<()> {
    let engine = Arc::clone(engine);
    spawn(async move {
        let client = ClientKey(number.into());
        let hash = engine.hash(&[number], Cost::MIN, client, soon()).await.expect("a hash");
        let hash = Some(&*hash.value);
        let verdict = engine.verify(&[number], hash, Cost::MIN, client, soon()).await;
        assert_eq!(verdict.expect("a verdict").value, Verdict::Match { rehash: false });
    })
}

/// Waits until the engine does nothing, and returns how many jobs it completed.
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
            assert!(matches!(outcome, Ok(_) | Err(EngineError::Lost)), "{outcome:?}");
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
            let admission = checked.check_admission(Cost::MIN, ClientKey(9), soon()).await;
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
            // It may be in the same lanes, once.
            if let Err(error) = hash().await {
                assert_eq!(error, EngineError::Lost);
                hash().await.expect("a hash");
            }
        })
    });
    join_all(others.into_iter().chain([panicking]));
    // Its callers learn of it first.
    while engine.stats().panics != 1 {
        thread::yield_now();
    }
}
