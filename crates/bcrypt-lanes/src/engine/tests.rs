use std::sync::atomic::Ordering;
use std::thread;
use std::time::{Duration, Instant};

use crate::{ClientKey, Cost, Engine, EngineError, Settings, Verdict};

const CHEAP: Cost = Cost::MIN;
const ME: ClientKey = ClientKey(1);

fn engine() -> Engine {
    Engine::start(Settings::default()).expect("threads")
}

fn soon() -> Instant {
    Instant::now() + Duration::from_hours(1)
}

fn cost(cost: u32) -> Cost {
    Cost::new(cost).expect("a valid cost")
}

/// Waits until the engine reaches a state, however slow the machine is.
#[track_caller]
fn eventually(what: &str, reached: impl Fn() -> bool) {
    let patience = Instant::now() + Duration::from_mins(1);
    while !reached() {
        assert!(Instant::now() < patience, "never {what}");
        thread::yield_now();
    }
}

async fn check(engine: &Engine, password: &str, stored: Option<&str>, current: Cost) -> Verdict {
    let check = engine.verify(password.as_bytes(), stored, current, ME, soon());
    check.await.expect("an answer").value
}

#[tokio::test]
async fn the_bcrypt_crate_verifies_hashes_of_the_engine_and_vice_versa() {
    let engine = engine();
    let hash = engine
        .hash(b"secret", CHEAP, ME, soon())
        .await
        .expect("a hash");
    assert!(hash.value.starts_with("$2b$04$"), "{hash:?}");
    assert!(bcrypt::verify("secret", &hash.value).expect("a valid hash"));

    let theirs = bcrypt::hash("secret", 5).expect("a hash");
    for hash in [
        theirs.clone(),
        theirs.replace("$2b", "$2a"),
        theirs.replace("$2b", "$2y"),
    ] {
        let right = check(&engine, "secret", Some(&hash), cost(5)).await;
        assert_eq!(right, Verdict::Match { rehash: false });
        assert_eq!(
            check(&engine, "Secret", Some(&hash), cost(5)).await,
            Verdict::Mismatch
        );
    }
}

#[tokio::test]
async fn two_hashes_of_one_password_have_two_salts() {
    let engine = engine();
    let one = engine
        .hash(b"secret", CHEAP, ME, soon())
        .await
        .expect("a hash");
    let other = engine
        .hash(b"secret", CHEAP, ME, soon())
        .await
        .expect("a hash");
    assert_ne!(one.value, other.value);
}

#[tokio::test]
async fn a_match_with_another_cost_asks_for_a_rehash() {
    let engine = engine();
    let hash = bcrypt::hash("secret", 5).expect("a hash");
    for (current, rehash) in [(4, true), (5, false), (6, true)] {
        let verdict = check(&engine, "secret", Some(&hash), cost(current)).await;
        assert_eq!(verdict, Verdict::Match { rehash }, "{current}");
    }
}

#[tokio::test]
async fn a_missing_hash_never_matches_and_a_malformed_one_is_reported() {
    let engine = engine();
    for password in ["", "secret"] {
        assert_eq!(
            check(&engine, password, None, CHEAP).await,
            Verdict::Mismatch
        );
        let plain = check(&engine, password, Some(password), CHEAP).await;
        assert_eq!(plain, Verdict::Malformed);
    }
    eventually("done all four", || engine.stats().completed == 4);
}

#[tokio::test(flavor = "multi_thread")]
async fn concurrent_jobs_of_different_costs_get_their_own_results() {
    let engine = engine();
    let checks = (0..60).map(|number| {
        let hash = bcrypt::hash(number.to_string(), 4 + number % 3).expect("a hash");
        let tried = (number - number % 2).to_string();
        let client = ClientKey(u128::from(number % 5));
        let check = engine.verify(tried.as_bytes(), Some(&hash), cost(6), client, soon());
        (number % 2 == 0, tokio::spawn(check))
    });
    for (right, check) in checks.collect::<Vec<_>>() {
        let verdict = check.await.expect("no panic").expect("an answer").value;
        assert_eq!(verdict.is_match(), right);
    }
}

#[tokio::test(flavor = "multi_thread")]
async fn dropping_the_future_frees_the_lane() {
    let engine = engine();
    let endless = tokio::spawn(engine.hash(b"secret", Cost::MAX, ME, soon()));
    eventually("busy", || engine.stats().lanes_busy == 1);
    endless.abort();
    eventually("idle", || engine.stats().lanes_busy == 0);
    assert_eq!((engine.stats().dropped, engine.stats().completed), (1, 0));
}

#[tokio::test]
async fn a_job_past_its_deadline_is_removed_from_its_lane() {
    let engine = engine();
    let deadline = Instant::now() + Duration::from_millis(20);
    let late = engine.hash(b"secret", Cost::MAX, ME, deadline).await;
    assert_eq!(late, Err(EngineError::DeadlinePassed));
    assert!(Instant::now() >= deadline);
    eventually("idle", || engine.stats().lanes_busy == 0);
}

#[tokio::test(flavor = "multi_thread")]
async fn a_busy_engine_refuses_jobs_that_would_miss_their_deadline() {
    let engine = engine();
    let lanes = engine.stats().lanes_total;
    let long: Vec<_> = (0..lanes)
        .map(|_| tokio::spawn(engine.hash(b"secret", cost(20), ME, soon())))
        .collect();
    eventually("full", || engine.stats().lanes_busy == lanes);
    let refused = engine.hash(
        b"secret",
        CHEAP,
        ClientKey(2),
        Instant::now() + Duration::from_secs(1),
    );
    assert!(matches!(refused.await, Err(EngineError::Refused { .. })));
    long.iter().for_each(tokio::task::JoinHandle::abort);
    eventually("idle", || engine.stats().lanes_busy == 0);
    assert!(engine.hash(b"secret", CHEAP, ME, soon()).await.is_ok());
}

#[tokio::test(flavor = "multi_thread")]
async fn check_admission_agrees_with_submission() {
    let engine = engine();
    assert_eq!(engine.check_admission(CHEAP, ME, soon()).await, Ok(()));
    let lanes = engine.stats().lanes_total;
    let _long: Vec<_> = (0..lanes)
        .map(|_| tokio::spawn(engine.hash(b"secret", cost(20), ME, soon())))
        .collect();
    eventually("full", || engine.stats().lanes_busy == lanes);
    let deadline = Instant::now() + Duration::from_secs(1);
    assert!(matches!(
        engine.check_admission(CHEAP, ME, deadline).await,
        Err(EngineError::Refused { .. })
    ));
    assert_eq!(engine.stats().refused, 1);
    assert_eq!(engine.check_admission(CHEAP, ME, soon()).await, Ok(()));
}

/// A worker that loses its core while it holds the lock must not stop the thread of a caller.
#[tokio::test]
async fn a_caller_that_waits_for_the_scheduler_blocks_no_other_task() {
    let engine = engine();
    let (locked, is_locked) = std::sync::mpsc::channel();
    let (unlock, may_unlock) = std::sync::mpsc::channel();
    let pool = std::sync::Arc::clone(&engine.pool);
    let holder = thread::spawn(move || {
        pool.locked(|_| {
            locked.send(()).expect("the test waits");
            may_unlock.recv_timeout(Duration::from_secs(20))
        })
    });
    is_locked.recv().expect("locked");
    let other_task = async { unlock.send(()).expect("the holder waits") };
    let hash = engine.hash(b"secret", CHEAP, ME, soon());
    let (admission, hash, ()) =
        tokio::join!(engine.check_admission(CHEAP, ME, soon()), hash, other_task);
    assert!(admission.is_ok() && hash.is_ok());
    assert_eq!(
        holder.join().expect("no panic"),
        Ok(()),
        "the other task ran only afterwards"
    );
}

#[tokio::test]
async fn failed_checks_take_the_work_of_the_highest_cost_seen() {
    let engine = Engine::start(Settings {
        threads: 1,
        ..Settings::default()
    })
    .expect("threads");
    let stored = bcrypt::hash("secret", 5).expect("a hash");
    let work = |cost: Cost| engine.failed_cost(cost).get();
    assert_eq!(work(CHEAP), 4);
    assert!(
        check(&engine, "secret", Some(&stored), CHEAP)
            .await
            .is_match()
    );
    assert_eq!((work(CHEAP), work(cost(6))), (5, 6), "learned from a hash");
    let ran = async |stored: Option<&str>| {
        let check = engine
            .verify(b"wrong", stored, CHEAP, ME, soon())
            .await
            .expect("an answer");
        check.ran
    };
    let mut cheap = Duration::MAX;
    for _ in 0..10 {
        cheap = cheap.min(ran(None).await);
    }
    // Cost 12 is 128 times the work of the stored hash.
    engine.note_stored_cost(cost(12));
    for stored in [None, Some(stored.as_str())] {
        let dear = ran(stored).await;
        assert!(dear > cheap * 16, "{dear:?} and {cheap:?}");
    }
    engine.note_stored_cost(Cost::MAX);
    assert_eq!(work(CHEAP), 16, "one hash must not stop all logins");
}

#[tokio::test]
async fn completed_jobs_are_counted_and_timed() {
    let engine = engine();
    for _ in 0..3 {
        let done = engine
            .hash(b"secret", CHEAP, ME, soon())
            .await
            .expect("a hash");
        assert!(done.ran > Duration::ZERO);
    }
    eventually("counters", || engine.stats().completed == 3);
}

#[tokio::test]
async fn a_new_engine_has_measured_the_machine() {
    // The initial estimate is 2,000 per lane. Every machine is faster than that, and none a thousand times as fast.
    let engine = engine();
    let per_lane = engine.stats().iterations_per_second
        / u64::try_from(engine.stats().lanes_total).expect("few");
    assert!(
        per_lane != 2_000 && (10..2_000_000).contains(&per_lane),
        "{per_lane}"
    );
}

#[tokio::test]
async fn a_worker_panic_fails_only_the_jobs_in_its_lanes() {
    let engine = engine();
    engine.pool.inject_panic.store(true, Ordering::Relaxed);
    let lost = engine.hash(b"secret", Cost::MAX, ME, soon()).await;
    assert_eq!(lost, Err(EngineError::Lost));
    eventually("counters", || engine.stats().panics == 1);
    assert_eq!(engine.stats().lanes_busy, 0);
    for _ in 0..engine.threads.len() {
        assert!(engine.hash(b"secret", CHEAP, ME, soon()).await.is_ok());
    }
}

#[tokio::test(flavor = "multi_thread")]
async fn dropping_the_engine_completes_all_waiting_jobs() {
    let engine = engine();
    let lanes = engine.stats().lanes_total;
    let hash = |client| engine.hash(b"secret", cost(20), ClientKey(client), soon());
    let waiting: Vec<_> = (0..40).map(|client| tokio::spawn(hash(client))).collect();
    eventually("full", || engine.stats().lanes_busy == lanes);
    let late = tokio::spawn(hash(41));
    drop(engine);
    for answer in waiting.into_iter().chain([late]) {
        let answer = answer.await.expect("no panic");
        let lost = matches!(answer, Err(EngineError::Lost | EngineError::Refused { .. }));
        assert!(lost, "{answer:?}");
    }
}

#[cfg(target_os = "linux")]
#[test]
fn only_workers_run_at_low_priority() {
    let before = rustix::process::getpriority_process(None);
    let low = thread::spawn(|| {
        crate::worker::lower_priority().expect("lowering needs no privilege");
        rustix::process::getpriority_process(None)
    });
    assert_eq!(low.join().expect("no panic"), Ok(10));
    assert_eq!(rustix::process::getpriority_process(None), before);
    assert!(engine().priority().is_ok());
}
