//! Checks by other algorithms.

use std::sync::Arc;
use std::sync::atomic::{AtomicUsize, Ordering};
use std::sync::mpsc::{Receiver, Sender, channel};
use std::time::{Duration, Instant};

use super::{CHEAP, ME, cost, engine, eventually, soon};
use crate::{ClientKey, Cost, Engine, EngineError, ForeignCheck, Settings, Verdict};

fn answers(matches: bool) -> ForeignCheck {
    ForeignCheck { work: 16, run: Box::new(move || matches) }
}

/// A check that matches once it may end, and counts itself while it runs.
fn held(running: &Arc<AtomicUsize>) -> (ForeignCheck, Sender<()>) {
    let (end, may_end): (_, Receiver<()>) = channel();
    let running = Arc::clone(running);
    let run = move || {
        running.fetch_add(1, Ordering::SeqCst);
        let _ = may_end.recv();
        running.fetch_sub(1, Ordering::SeqCst);
        true
    };
    (ForeignCheck { work: 16, run: Box::new(run) }, end)
}

#[tokio::test]
async fn a_match_asks_for_a_rehash_and_a_mismatch_takes_the_work_of_a_failed_one() {
    let engine = engine();
    let right = engine.verify_foreign(answers(true), cost(20), ME, soon()).await;
    let right = right.expect("answered before a hash of cost 20 could end");
    assert_eq!(right.value, Verdict::Match { rehash: true });
    eventually("without padding", || engine.stats().lanes_busy + engine.stats().queued == 0);
    let wrong = engine.verify_foreign(answers(false), CHEAP, ME, soon()).await;
    assert_eq!(wrong.expect("an answer").value, Verdict::Mismatch);
    eventually("both checks and the padding of the second", || engine.stats().completed == 3);
}

#[tokio::test(flavor = "multi_thread")]
async fn a_mismatch_is_not_answered_before_a_lane_did_the_work() {
    let engine = engine();
    let wrong = tokio::spawn(engine.verify_foreign(answers(false), Cost::MAX, ME, soon()));
    eventually("checked", || engine.stats().completed == 1);
    eventually("padding", || engine.stats().lanes_busy == 1);
    assert!(!wrong.is_finished());
    wrong.abort();
    eventually("idle", || engine.stats().lanes_busy == 0);
}

#[tokio::test]
async fn a_mismatch_whose_padding_is_late_is_still_a_mismatch() {
    let engine = engine();
    let deadline = Instant::now() + Duration::from_secs(2);
    let wrong = engine.verify_foreign(answers(false), Cost::MAX, ME, deadline).await;
    assert_eq!(wrong.expect("an attempt that counts").value, Verdict::Mismatch);
}

#[tokio::test(flavor = "multi_thread")]
async fn one_foreign_check_runs_for_each_thread_and_the_lanes_go_on() {
    let settings = Settings { threads: 2, ..Settings::default() };
    let engine = Engine::start(settings).expect("threads");
    let running = Arc::default();
    let (checks, ends): (Vec<_>, Vec<_>) = (0..5).map(|_| held(&running)).unzip();
    let checks: Vec<_> = checks
        .into_iter()
        .map(|check| tokio::spawn(engine.verify_foreign(check, CHEAP, ME, soon())))
        .collect();
    eventually("both places taken", || running.load(Ordering::SeqCst) == 2);
    eventually("the others queued", || engine.stats().queued >= 3);
    for end in ends {
        assert!(running.load(Ordering::SeqCst) <= 2);
        end.send(()).expect("held");
    }
    for check in checks {
        assert!(check.await.expect("no panic").expect("an answer").value.is_match());
    }
    let (check, end) = held(&running);
    let check = tokio::spawn(engine.verify_foreign(check, CHEAP, ME, soon()));
    eventually("running", || running.load(Ordering::SeqCst) == 1);
    assert!(engine.hash(b"secret", CHEAP, ClientKey(2), soon()).await.is_ok(), "in a lane");
    end.send(()).expect("held");
    assert!(check.await.expect("no panic").is_ok());
}

#[tokio::test(flavor = "multi_thread")]
async fn a_hash_behind_a_cancelled_foreign_check_is_not_stuck() {
    let engine = Engine::start(Settings { threads: 1, ..Settings::default() }).expect("threads");
    let running = Arc::default();
    let ((first, end), (second, _end)) = (held(&running), held(&running));
    let first = tokio::spawn(engine.verify_foreign(first, CHEAP, ME, soon()));
    eventually("running", || running.load(Ordering::SeqCst) == 1);
    let second = tokio::spawn(engine.verify_foreign(second, CHEAP, ME, soon()));
    eventually("queued", || engine.stats().queued >= 1);
    second.abort();
    assert!(engine.hash(b"secret", CHEAP, ClientKey(2), soon()).await.is_ok());
    assert_eq!(running.load(Ordering::SeqCst), 1, "the first still runs");
    end.send(()).expect("held");
    assert!(first.await.expect("no panic").is_ok());
}

#[tokio::test]
async fn a_check_that_panics_is_lost_and_frees_its_place() {
    let engine = Engine::start(Settings { threads: 1, ..Settings::default() }).expect("threads");
    for panics in 1..=2 {
        let check = ForeignCheck { work: 16, run: Box::new(|| panic!("sabotaged")) };
        let lost = engine.verify_foreign(check, CHEAP, ME, soon()).await;
        assert_eq!(lost, Err(EngineError::Lost));
        eventually("counted", || engine.stats().panics == panics);
    }
    assert!(engine.verify_foreign(answers(true), CHEAP, ME, soon()).await.is_ok());
}

#[tokio::test(flavor = "multi_thread")]
async fn admission_counts_the_work_of_foreign_checks() {
    let engine = engine();
    let running = Arc::default();
    let (checks, ends): (Vec<_>, Vec<_>) =
        (0..engine.threads.len()).map(|_| held(&running)).unzip();
    let places = checks.len();
    let minute = engine.stats().iterations_per_second * 60;
    let held: Vec<_> = checks
        .into_iter()
        .map(|check| {
            let check = ForeignCheck { work: minute, ..check };
            tokio::spawn(engine.verify_foreign(check, CHEAP, ME, soon()))
        })
        .collect();
    eventually("all places taken", || running.load(Ordering::SeqCst) == places);
    let deadline = Instant::now() + Duration::from_secs(10);
    let refused = engine.verify_foreign(answers(true), CHEAP, ClientKey(2), deadline).await;
    assert!(matches!(refused, Err(EngineError::Refused { .. })), "{refused:?}");
    let native = engine.hash(b"secret", CHEAP, ClientKey(2), deadline).await;
    assert!(native.is_ok(), "a lane is free: {native:?}");
    for end in ends {
        end.send(()).expect("held");
    }
    for check in held {
        assert!(check.await.expect("no panic").is_ok());
    }
}
