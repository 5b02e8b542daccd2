//! Scenarios of accounts/rate_limit.rs, in which attempts are acquired and refunded at the same time.

use crate::{
    CLIENT,
    accounts::rate_limit::{LimitExceeded, RateLimiter},
};
use shuttle::{
    sync::atomic::{AtomicU32, Ordering::SeqCst},
    thread,
};
use std::{
    sync::Arc,
    time::{Duration, Instant, advance},
};

/// Acquires attempts until the limit refuses one, and returns their number and the refusal.
fn use_up(limiter: &Arc<RateLimiter>, name: &str, now: Instant) -> (u32, LimitExceeded) {
    let mut left = 0;
    loop {
        match limiter.acquire(name, CLIENT, now) {
            // An attempt that is dropped without a refund stays counted.
            Ok(attempt) => drop(attempt),
            Err(refusal) => return (left, refusal),
        }
        left += 1;
    }
}

/// Checks that attempts in progress and failed ones never exceed the limit, and that each refund gives back exactly
/// one.
pub fn attempts_keep_the_limit() {
    const LIMIT: u32 = 2;
    let limiter = RateLimiter::per_address_and_name(LIMIT);
    let now = Instant::now();
    let (counted, failed) = (Arc::<AtomicU32>::default(), Arc::<AtomicU32>::default());
    let attempts = [0, 1, 2, 3].map(|caller| {
        let limiter = Arc::clone(&limiter);
        let (counted, failed) = (Arc::clone(&counted), Arc::clone(&failed));
        thread::spawn(move || {
            let Ok(attempt) = limiter.acquire("ada", CLIENT, now) else {
                return;
            };
            let in_progress_or_failed = counted.fetch_add(1, SeqCst) + 1;
            assert!(
                in_progress_or_failed <= LIMIT,
                "{in_progress_or_failed} attempts"
            );
            match caller {
                0 | 1 => {
                    counted.fetch_sub(1, SeqCst);
                    attempt.refund();
                }
                2 => {
                    counted.fetch_sub(1, SeqCst);
                    attempt.succeed();
                }
                _ => {
                    failed.fetch_add(1, SeqCst);
                    drop(attempt);
                }
            }
        })
    });
    for attempt in attempts {
        attempt.join().expect("a thread");
    }
    let (left, refusal) = use_up(&limiter, "ada", now);
    assert_eq!(failed.load(SeqCst) + left, LIMIT, "attempts in one window");
    assert!(
        refusal.retry_after > Duration::from_secs(1),
        "none is in progress"
    );
}

/// Checks that later checks refuse once an attempt has filled a window, even beside a check that has found no full
/// window.
pub fn full_window_refuses_checks() {
    let limiter = RateLimiter::per_address(1);
    let (left, _) = use_up(&limiter, "ada", Instant::now());
    assert_eq!(left, 1);
    // The window is now over, which the next check will notice.
    advance(Duration::from_mins(2));
    let (checked, filled) = (Arc::clone(&limiter), Arc::clone(&limiter));
    let check = thread::spawn(move || {
        assert!(checked.check("ada", CLIENT).is_ok());
    });
    let fill = thread::spawn(move || {
        let attempt = filled.acquire("bob", CLIENT, Instant::now());
        drop(attempt.ok().expect("the first of its window"));
        assert!(filled.check("bob", CLIENT).is_err(), "the window is full");
    });
    check.join().expect("a thread");
    fill.join().expect("a thread");
    assert!(limiter.check("bob", CLIENT).is_err(), "the window is full");
}

/// Checks that exactly one of several concurrent refusals is the first of its window.
pub fn one_refusal_is_first() {
    let limiter = RateLimiter::per_address(1);
    let now = Instant::now();
    let attempt = limiter.acquire("ada", CLIENT, now).ok().expect("the first");
    let refusals = [0; 3].map(|_| {
        let limiter = Arc::clone(&limiter);
        thread::spawn(move || match limiter.check("ada", CLIENT) {
            Ok(()) => false,
            Err(refusal) => refusal.first_in_window,
        })
    });
    drop(attempt);
    let first = refusals
        .map(|it| it.join().expect("a thread"))
        .into_iter()
        .filter(|it| *it);
    assert_eq!(first.count(), 1, "first refusals");
}
