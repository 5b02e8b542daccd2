use super::{RateLimiter, windows};
use rolegate_http_server::clients::client_key;
use std::{
    net::IpAddr,
    sync::Arc,
    time::{Duration, Instant},
};
use windows::{MAX_WINDOWS, WINDOW};

fn client(text: &str) -> IpAddr {
    client_key(Some(text.parse().expect("an address")))
}

fn fail(limiter: &Arc<RateLimiter>, name: &str, from: &str, now: Instant) -> Result<(), Duration> {
    limiter
        .acquire(name, client(from), now)
        .map(drop)
        .map_err(|exceeded| exceeded.retry_after)
}

#[test]
fn failures_count_per_username_and_address_for_one_minute() {
    let limiter = RateLimiter::per_address_and_name(3);
    let start = Instant::now();
    for second in 0..3 {
        assert!(
            fail(
                &limiter,
                "ada",
                "192.0.2.1",
                start + Duration::from_secs(second)
            )
            .is_ok()
        );
    }
    let later = start + Duration::from_secs(20);
    assert_eq!(
        fail(&limiter, "ada", "192.0.2.1", later),
        Err(Duration::from_secs(40))
    );
    assert!(
        fail(&limiter, "ada", "192.0.2.2", later).is_ok(),
        "another address"
    );
    assert!(
        fail(&limiter, "bob", "192.0.2.1", later).is_ok(),
        "another username"
    );
    assert!(
        fail(&limiter, "ada", "192.0.2.1", start + WINDOW).is_ok(),
        "the next minute"
    );
}

#[test]
fn concurrent_attempts_count_and_refunds_undo_them() {
    let limiter = RateLimiter::per_address_and_name(2);
    let now = Instant::now();
    let acquire = || limiter.acquire("ada", client("192.0.2.1"), now);
    let (first, second) = (acquire().expect("one"), acquire().expect("two"));
    assert!(acquire().is_err(), "two attempts are in progress");
    first.refund();
    let third = acquire().expect("one was refunded");
    drop((second, third));
    assert!(acquire().is_err(), "dropped attempts stay counted");
}

#[test]
fn attempts_in_progress_refuse_for_a_second_and_failed_ones_for_the_window() {
    let limiter = RateLimiter::per_address_and_name(1);
    let now = Instant::now();
    let acquire = || limiter.acquire("ada", client("192.0.2.1"), now);
    let attempt = acquire().expect("the first");
    let exceeded = acquire().map(drop).expect_err("it is in progress");
    assert_eq!(exceeded.retry_after, Duration::from_secs(1));
    drop(attempt);
    let exceeded = acquire().map(drop).expect_err("it failed");
    assert_eq!(exceeded.retry_after, WINDOW);
}

#[test]
fn a_check_refuses_what_an_attempt_would_and_counts_nothing() {
    let limiter = RateLimiter::per_address_and_name(2);
    let start = Instant::now();
    let check = |now| {
        let refusal = limiter.refusal(
            "ada",
            client("192.0.2.1"),
            || now,
            windows::CheckMode::Refuse,
        );
        refusal.map_or(Ok(()), |it| Err(it.retry_after))
    };
    for _ in 0..10 {
        assert_eq!(check(start), Ok(()));
    }
    for _ in 0..2 {
        assert!(fail(&limiter, "ada", "192.0.2.1", start).is_ok());
    }
    assert_eq!(check(start), Err(WINDOW));
    assert!(
        limiter.check("ada", client("192.0.2.1")).is_err(),
        "on the clock of this machine"
    );
    assert_eq!(check(start + WINDOW), Ok(()));
}

#[test]
fn asking_whether_a_limit_is_full_leaves_the_first_refusal_to_the_check() {
    let limiter = RateLimiter::per_address_and_name(1);
    let is_full = |name, from| limiter.is_full(name, client(from));
    assert!(!is_full("ada", "192.0.2.1"));
    assert!(fail(&limiter, "ada", "192.0.2.1", Instant::now()).is_ok());
    for _ in 0..3 {
        assert!(is_full("ada", "192.0.2.1"));
    }
    assert!(!is_full("ben", "192.0.2.1") && !is_full("ada", "192.0.2.2"));
    let first = limiter.check("ada", client("192.0.2.1")).expect_err("full");
    assert!(first.first_in_window);
    assert!(!RateLimiter::per_address_and_name(0).is_full("ada", client("192.0.2.1")));
}

#[test]
fn address_has_fifteen_times_the_limit_over_all_usernames() {
    let limiter = RateLimiter::per_address_and_name(2);
    let now = Instant::now();
    for name in 0..30 {
        assert!(fail(&limiter, &name.to_string(), "192.0.2.1", now).is_ok());
    }
    let exceeded = limiter
        .acquire("new", client("192.0.2.1"), now)
        .map(drop)
        .expect_err("full");
    assert_eq!(exceeded.retry_after, WINDOW);
    assert!(fail(&limiter, "new", "192.0.2.2", now).is_ok());
}

#[test]
fn networks_of_ipv6_allow_little_more_than_one_64() {
    for (prefix, networks, allowed) in [("/64", 0, 2), ("/56", 255, 4), ("/48", 255 << 8, 8)] {
        let limiter = RateLimiter::per_address_and_name(2);
        let now = Instant::now();
        let guesses = (0..1000_u32).map(|guess| {
            let subnet = guess.wrapping_mul(257) & networks;
            fail(
                &limiter,
                "ada",
                &format!("2001:db8:0:{subnet:x}::{guess:x}"),
                now,
            )
        });
        assert_eq!(guesses.flatten().count(), allowed, "{prefix}");
        assert!(
            fail(&limiter, "ada", "2001:db8:1::1", now).is_ok(),
            "{prefix}: another /48"
        );
    }
}

#[test]
fn a_name_guessed_from_many_addresses_is_limited_where_its_user_never_logged_in() {
    let limiter = RateLimiter::per_address_and_name(2);
    let start = Instant::now();
    let home = client("198.51.100.7");
    limiter
        .acquire("ada", home, start)
        .expect("allowed")
        .succeed();
    let guess = |number: u32, now| {
        let from = IpAddr::from(number.to_be_bytes());
        limiter
            .acquire("ada", from, now)
            .map(drop)
            .map_err(|exceeded| exceeded.retry_after)
    };
    for number in 0..30 {
        assert_eq!(guess(number, start), Ok(()));
    }
    assert_eq!(guess(30, start), Err(WINDOW));
    assert!(
        limiter.check("ada", client("192.0.2.9")).is_err(),
        "an address without guesses"
    );
    limiter
        .acquire("ada", home, start)
        .expect("its user logged in here")
        .succeed();
    assert!(
        fail(&limiter, "bob", "0.0.0.1", start).is_ok(),
        "another name"
    );
    assert_eq!(guess(30, start + WINDOW), Ok(()));
}

#[test]
fn registrations_of_all_addresses_together_are_not_limited() {
    let limiter = RateLimiter::per_address(1);
    let now = Instant::now();
    for number in 0..100_u32 {
        let from = IpAddr::from(number.to_be_bytes());
        drop(
            limiter
                .acquire("", from, now)
                .expect("the first of its address"),
        );
    }
}

#[test]
fn only_the_first_refusal_of_a_window_is_marked() {
    let limiter = RateLimiter::per_address_and_name(1);
    let start = Instant::now();
    for now in [start, start + WINDOW] {
        let attempt = || limiter.acquire("ada", client("192.0.2.1"), now).map(drop);
        attempt().expect("below the limit");
        let first =
            [attempt(), attempt()].map(|refused| refused.expect_err("full").first_in_window);
        assert_eq!(first, [true, false]);
    }
}

#[test]
fn zero_is_no_limit() {
    let limiter = RateLimiter::per_address_and_name(0);
    let now = Instant::now();
    assert!((0..1000).all(|_| fail(&limiter, "ada", "192.0.2.1", now).is_ok()));
}

#[test]
fn number_of_windows_is_bounded() {
    let limiter = RateLimiter::per_address_and_name(1);
    let now = Instant::now();
    for name in 0..MAX_WINDOWS + 10 {
        let from = IpAddr::from(u32::try_from(name).expect("small").to_be_bytes());
        let _ = limiter.acquire(&name.to_string(), from, now).map(drop);
    }
    assert!(limiter.windows.lock().len() <= MAX_WINDOWS + 3);
}
