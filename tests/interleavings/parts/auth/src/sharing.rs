//! Scenarios of password/credential_cache.rs, in which the same credentials are checked concurrently.

use crate::{
    CLIENT, Running, join_all,
    password::credential_cache::{CacheKey, CredentialCache},
};
use shuttle::{
    sync::atomic::{AtomicU32, Ordering::SeqCst},
    thread,
};
use std::{
    sync::Arc,
    time::{Duration, Instant},
};
use tokio::{spawn, task::yield_now};

const TTL: Duration = Duration::from_mins(5);

fn cache() -> (Arc<CredentialCache>, CacheKey) {
    let cache = CredentialCache::new(TTL).expect("randomness");
    let key = cache.key("ada", Some("a hash"), "a password", CLIENT);
    (Arc::new(cache), key)
}

/// Checks that equal checks at the same time become one, whose outcome all callers get.
pub fn equal_checks_are_one() {
    let ((cache, key), running) = (cache(), Running::default());
    let callers = [0; 4].map(|_| {
        let (cache, running) = (cache.clone(), running.clone());
        spawn(async move {
            let check = async {
                let _run = running.begin();
                yield_now().await;
                Ok::<_, ()>(true)
            };
            assert_eq!(cache.single_flight(key, check).await, Ok(true));
        })
    });
    join_all(callers);
    running.assert_at_most(1);
}

/// Checks that the failure of a check reaches only its own caller, whether it gave up or was refused.
pub fn failures_are_not_shared() {
    let ((cache, key), ran) = (cache(), Arc::<AtomicU32>::default());
    let callers = [0, 1, 2, 3].map(|caller| {
        let (cache, ran) = (cache.clone(), Arc::clone(&ran));
        spawn(async move {
            let check = async {
                ran.fetch_add(1, SeqCst);
                yield_now().await;
                if caller < 2 { Err(caller) } else { Ok(true) }
            };
            let outcome = cache.single_flight(key, check).await;
            assert!(
                outcome == Ok(true) || outcome == Err(caller),
                "{outcome:?} for {caller}"
            );
        })
    });
    join_all(callers);
    assert!(ran.load(SeqCst) <= 4, "a caller's check ran twice");
}

/// Checks that another caller takes over when the one that runs the shared check leaves.
pub fn leaving_caller_is_replaced() {
    let ((cache, key), running) = (cache(), Running::default());
    let callers = [0; 3].map(|_| {
        let (cache, running) = (cache.clone(), running.clone());
        spawn(async move {
            let check = async {
                let _run = running.begin();
                yield_now().await;
                yield_now().await;
                Ok::<_, ()>(true)
            };
            assert_eq!(cache.single_flight(key, check).await, Ok(true));
        })
    });
    callers[0].abort();
    join_all(callers.into_iter().skip(1));
    running.assert_at_most(1);
}

/// Checks that exactly one of several concurrent hits is the first of its minute.
pub fn one_hit_is_audited() {
    let (cache, key) = cache();
    let now = Instant::now();
    cache.insert(key, now);
    let next_minute = now + Duration::from_secs(61);
    let hits = [0; 3].map(|_| {
        let cache = cache.clone();
        thread::spawn(move || {
            cache
                .get(&key, next_minute)
                .expect("a hit")
                .is_first_in_minute
        })
    });
    let audited = hits
        .map(|hit| hit.join().expect("a thread"))
        .into_iter()
        .filter(|it| *it);
    assert_eq!(audited.count(), 1, "audited hits");
    assert!(cache.recall(&key, next_minute).is_hit());
}
