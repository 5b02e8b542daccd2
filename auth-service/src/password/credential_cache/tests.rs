use super::{CacheKey, CredentialCache, Hit, MAX_ENTRIES, Recall, misses::MAX_MISSES};
use std::{
    net::{IpAddr, Ipv4Addr},
    sync::{
        Arc,
        atomic::{AtomicU32, Ordering},
    },
    thread,
    time::{Duration, Instant},
};
use tokio::{sync::Semaphore, task::yield_now};

const HERE: IpAddr = IpAddr::V4(Ipv4Addr::LOCALHOST);

fn cache(ttl: Duration) -> CredentialCache {
    CredentialCache::new(ttl).expect("randomness")
}

#[test]
fn entries_expire_after_the_ttl() {
    for (ttl, is_cached) in [
        (Duration::from_mins(5), true),
        (Duration::from_millis(1), false),
        (Duration::ZERO, false),
    ] {
        let cache = cache(ttl);
        let key = cache.key("ada", Some("hash"), "sesame", HERE);
        assert!(cache.get(&key, Instant::now()).is_none());
        cache.insert(key, Instant::now());
        thread::sleep(Duration::from_millis(5));
        assert_eq!(
            cache.get(&key, Instant::now()).is_some(),
            is_cached,
            "{ttl:?}"
        );
    }
}

#[test]
fn the_first_hit_of_a_minute_is_marked() {
    let mut cache = cache(Duration::from_mins(5));
    let key = cache.key("ada", Some("hash"), "sesame", HERE);
    cache.insert(key, Instant::now());
    let hit = |is_first_in_minute| Some(Hit { is_first_in_minute });
    assert_eq!(
        cache.get(&key, Instant::now()),
        hit(false),
        "the insertion was audited"
    );
    let Some(earlier) = Instant::now().checked_sub(Duration::from_mins(1)) else {
        return;
    };
    cache.started = earlier;
    assert_eq!(
        [
            cache.get(&key, Instant::now()),
            cache.get(&key, Instant::now())
        ],
        [hit(true), hit(false)]
    );
}

#[test]
fn deadlines_in_turn_before_and_after_a_minute_mark_one_hit() {
    let cache = cache(Duration::from_mins(5));
    let (key, now) = (
        cache.key("ada", Some("hash"), "sesame", HERE),
        Instant::now(),
    );
    cache.insert(key, now);
    let marks = [60, 0, 60].map(|ahead| {
        let hit = cache
            .get(&key, now + Duration::from_secs(ahead))
            .expect("cached");
        hit.is_first_in_minute
    });
    assert_eq!(marks, [true, false, false]);
}

#[test]
fn a_hit_without_its_line_of_the_minute_is_not_audited_until_another_is() {
    let cache = cache(Duration::from_mins(5));
    let (key, now) = (
        cache.key("ada", Some("hash"), "sesame", HERE),
        Instant::now(),
    );
    assert!(!cache.recall(&key, now).is_hit());
    cache.insert(key, now);
    let later = now + Duration::from_mins(1);
    assert!(cache.recall(&key, now).is_hit() && !cache.recall(&key, later).is_hit());
    assert!(!cache.recall(&key, later).is_hit(), "asking marks nothing");
    assert!(cache.get(&key, later).expect("cached").is_first_in_minute);
    assert!(cache.recall(&key, later).is_hit());
}

/// Looks up `guesses` different wrong passwords with `recall`.
fn guess(cache: &CredentialCache, username: &str, guesses: u32) {
    for guess in 0..guesses {
        let wrong = cache.key(username, Some("hash"), &format!("guess {guess}"), HERE);
        assert!(!cache.recall(&wrong, Instant::now()).is_hit());
    }
}

fn remembered(cache: &CredentialCache, username: &str, client: IpAddr) -> CacheKey {
    let key = cache.key(username, Some("hash"), "sesame", client);
    cache.insert(key, Instant::now());
    key
}

#[test]
fn a_hundred_misses_end_what_is_cached_for_the_name_at_every_client() {
    let cache = cache(Duration::from_mins(5));
    let now = Instant::now();
    let (here, there) = (HERE, IpAddr::from([192, 0, 2, 1]));
    let ada = [here, there].map(|client| remembered(&cache, "ada", client));
    let other = (0..9)
        .map(|number| format!("bob {number}"))
        .find(|name| cache.misses.slot(name) != cache.misses.slot("ada"))
        .expect("a name with a slot of its own");
    let bob = remembered(&cache, &other, HERE);
    guess(&cache, "ada", MAX_MISSES - 1);
    assert!(ada.iter().all(|key| cache.recall(key, now).is_hit()));
    guess(&cache, "ada", 1);
    for key in &ada {
        assert!(!cache.recall(key, now).is_hit());
        assert_eq!(cache.get(key, now), None, "nor for a single check");
    }
    assert!(cache.recall(&bob, now).is_hit(), "of another name");
}

#[test]
fn the_hundredth_miss_and_each_further_one_of_its_minute_are_too_many() {
    let mut cache = cache(Duration::from_mins(5));
    let wrong = cache.key("ada", Some("hash"), "wrong", HERE);
    guess(&cache, "ada", MAX_MISSES - 2);
    let recalled = [0; 4].map(|_| cache.recall(&wrong, Instant::now()));
    let [Recall::Miss, further @ ..] = recalled else {
        panic!("{recalled:?}");
    };
    assert_eq!(further, [Recall::TooManyMisses; 3]);
    cache.misses.pass_a_minute();
    assert_eq!(cache.recall(&wrong, Instant::now()), Recall::Miss);
}

#[test]
fn after_the_misses_a_right_password_is_cached_again_until_the_next_miss() {
    let cache = cache(Duration::from_mins(5));
    let now = Instant::now();
    let key = remembered(&cache, "ada", HERE);
    guess(&cache, "ada", MAX_MISSES + 5);
    assert!(!cache.recall(&key, now).is_hit());
    cache.insert(key, now);
    assert!(cache.recall(&key, now).is_hit() && cache.recall(&key, now).is_hit());
    guess(&cache, "ada", 1);
    assert!(!cache.recall(&key, now).is_hit(), "the minute is not over");
}

#[test]
fn misses_of_different_minutes_do_not_count_together() {
    let mut cache = cache(Duration::from_mins(5));
    let key = remembered(&cache, "ada", HERE);
    for _ in 0..3 {
        guess(&cache, "ada", MAX_MISSES - 1);
        cache.misses.pass_a_minute();
    }
    assert!(cache.recall(&key, Instant::now()).is_hit());
    guess(&cache, "ada", MAX_MISSES);
    assert!(!cache.recall(&key, Instant::now()).is_hit());
}

/// Each client misses once in `recall`, and then has its password checked, which subtracts the miss again.
#[test]
fn many_clients_of_one_user_end_nothing() {
    let cache = cache(Duration::from_mins(5));
    let now = Instant::now();
    let clients = (0..5 * MAX_MISSES).map(|client| IpAddr::from(Ipv4Addr::from_bits(client)));
    let keys: Vec<_> = clients
        .map(|client| {
            let key = cache.key("ada", Some("hash"), "sesame", client);
            assert!(!cache.recall(&key, now).is_hit());
            remembered(&cache, "ada", client)
        })
        .collect();
    assert!(keys.iter().all(|key| cache.recall(key, now).is_hit()));
}

#[test]
fn misses_at_once_all_count() {
    let cache = cache(Duration::from_mins(5));
    let key = remembered(&cache, "ada", HERE);
    thread::scope(|scope| {
        for _ in 0..4 {
            scope.spawn(|| guess(&cache, "ada", MAX_MISSES / 4));
        }
    });
    assert!(!cache.recall(&key, Instant::now()).is_hit());
}

#[test]
fn a_deadline_far_away_counts_in_the_same_minute() {
    let cache = cache(Duration::from_mins(5));
    let key = remembered(&cache, "ada", HERE);
    for guess in 0..MAX_MISSES {
        let wrong = cache.key("ada", Some("hash"), &guess.to_string(), HERE);
        let deadline = Instant::now() + Duration::from_mins(u64::from(guess % 3));
        assert!(!cache.recall(&wrong, deadline).is_hit());
    }
    assert!(!cache.recall(&key, Instant::now()).is_hit());
}

#[test]
fn guesses_of_countless_names_take_no_memory_and_take_back_no_count() {
    let cache = cache(Duration::from_mins(5));
    let key = remembered(&cache, "ada", HERE);
    guess(&cache, "ada", MAX_MISSES - 1);
    for stranger in 0..100_000 {
        guess(&cache, &format!("stranger {stranger}"), 1);
    }
    guess(&cache, "ada", 1);
    assert!(!cache.recall(&key, Instant::now()).is_hit());
}

#[test]
fn number_of_entries_is_bounded() {
    let cache = cache(Duration::from_mins(5));
    for name in 0..MAX_ENTRIES * 5 / 4 {
        cache.insert(
            cache.key(&name.to_string(), Some("hash"), "sesame", HERE),
            Instant::now(),
        );
    }
    let entries = cache.entries.expect("caching is on");
    entries.run_pending_tasks();
    assert!(
        entries.entry_count() <= MAX_ENTRIES,
        "{}",
        entries.entry_count()
    );
}

#[test]
fn every_part_and_its_length_changes_the_key() {
    let secret = cache(Duration::ZERO);
    let checks = [
        ("ada", Some("hash"), "sesame"),
        ("bob", Some("hash"), "sesame"),
        ("ada", Some("other"), "sesame"),
        ("ada", Some("hash"), "Sesame"),
        ("ada", None, "sesame"),
        ("ada", Some(""), "sesame"),
        ("adah", Some("ash"), "sesame"),
        ("ada", Some("hashs"), "esame"),
    ];
    let client = IpAddr::from([192, 0, 2, 1]);
    let key = |(name, stored, password)| secret.key(name, stored, password, client);
    let elsewhere = secret.key("ada", Some("hash"), "sesame", IpAddr::from([192, 0, 2, 2]));
    let keys: Vec<_> = checks.into_iter().map(key).chain([elsewhere]).collect();
    for (one, key) in keys.iter().enumerate() {
        for (other, other_key) in keys.iter().enumerate() {
            assert_eq!(key == other_key, one == other, "{one} {other}");
        }
    }
}

#[test]
fn each_process_has_its_own_keys() {
    let key = || cache(Duration::ZERO).key("ada", Some("hash"), "sesame", HERE);
    assert!(key() != key());
}

fn key() -> CacheKey {
    cache(Duration::ZERO).key("ada", None, "sesame", HERE)
}

/// Returns whether the cache has no check in progress.
fn is_empty(cache: &CredentialCache) -> bool {
    cache.in_flight.run_pending_tasks();
    cache.in_flight.entry_count() == 0
}

#[tokio::test]
async fn concurrent_checks_run_once_and_survive_a_cancelled_runner() {
    let cache = Arc::new(cache(Duration::ZERO));
    let (runs, may_end) = (Arc::new(AtomicU32::new(0)), Arc::new(Semaphore::new(0)));
    let key = key();
    let start = || {
        let (cache, runs, may_end) = (cache.clone(), runs.clone(), may_end.clone());
        tokio::spawn(async move {
            let check = async {
                runs.fetch_add(1, Ordering::SeqCst);
                may_end.acquire().await.expect("open").forget();
                Ok::<_, ()>(true)
            };
            cache.single_flight(key, check).await
        })
    };
    let callers = [start(), start(), start()];
    for _ in 0..20 {
        yield_now().await;
    }
    callers[0].abort();
    may_end.add_permits(1);
    for caller in callers.into_iter().skip(1) {
        assert_eq!(caller.await.expect("no panic"), Ok(true));
    }
    assert_eq!(runs.load(Ordering::SeqCst), 2);
    assert!(is_empty(&cache));
    may_end.add_permits(1);
    assert_eq!(start().await.expect("no panic"), Ok(true));
    assert_eq!(runs.load(Ordering::SeqCst), 3, "later checks run again");
}

#[tokio::test]
async fn waiters_share_a_wrong_password_but_no_error() {
    let cache = cache(Duration::ZERO);
    let key = key();
    let check = |outcome: Result<bool, &'static str>| {
        cache.single_flight(key, async move {
            yield_now().await;
            outcome
        })
    };
    let outcomes = tokio::join!(check(Ok(false)), check(Ok(true)));
    assert_eq!(outcomes, (Ok(false), Ok(false)), "one check");
    let outcomes = tokio::join!(check(Err("deadline")), check(Ok(true)));
    assert_eq!(outcomes, (Err("deadline"), Ok(true)), "two checks");
}
