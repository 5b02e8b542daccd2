//! The rate limits on failed logins.

use e2e::{
    ADMIN_PASSWORD, Api, TestResponse, TestSetup, eventually, for_all_deployments,
    for_sqlite_deployments, for_two_deployments, proof,
};
use std::time::Instant;

for_all_deployments!(correct_password_is_limited_after_too_many_failures);
for_two_deployments!(
    failures_on_many_usernames_are_limited_per_address,
    concurrent_failures_count_like_sequential_ones,
    successful_logins_do_not_count,
);
for_sqlite_deployments!(refusals_are_counted_and_logged_in_one_line_a_second);

fn with_limit(setup: TestSetup, limit: &str) -> TestSetup {
    setup.with("LOGIN_FAILURE_LIMIT", limit)
}

#[track_caller]
fn expect_too_many(response: &TestResponse) {
    response.expect_detail(429, "Too many attempts, try again later.");
    response.expect_header("www-authenticate", None);
    response.expect_retry_after();
}

async fn correct_password_is_limited_after_too_many_failures(setup: TestSetup) {
    let app = with_limit(setup, "3").start().await;
    let ann = app.user("ann").await;
    for name in ["admin", "stranger"] {
        for _ in 0..3 {
            app.try_log_in(name, "wrong").await.expect(401);
        }
        expect_too_many(&app.try_log_in(name, "wrong").await);
    }
    expect_too_many(&app.try_log_in("admin", ADMIN_PASSWORD).await);
    // Other users and existing tokens are not affected.
    app.try_log_in("ann", &ann.password).await.expect(200);
    app.bearer
        .with_token(&ann.token)
        .get("/profile")
        .await
        .expect(200);
    let basic = |password: &str| app.basic.with_basic("ann", password);
    for _ in 0..3 {
        basic("wrong").get("/protected").await.expect(401);
    }
    expect_too_many(&basic("wrong").get("/protected").await);
}

async fn failures_on_many_usernames_are_limited_per_address(setup: TestSetup) {
    let app = with_limit(setup, "1").start().await;
    for index in 0..15 {
        app.try_log_in(&format!("user {index}"), "password1")
            .await
            .expect(401);
    }
    expect_too_many(&app.try_log_in("user 15", "password1").await);
}

async fn concurrent_failures_count_like_sequential_ones(setup: TestSetup) {
    const GUESSES: usize = 20;
    let app = with_limit(setup, "3").start().await;
    let guesses: Vec<_> = (0..GUESSES)
        .map(|_| {
            let api = app.bearer.clone();
            let body = serde_json::json!({ "username": "admin", "password": "wrong" });
            tokio::spawn(async move { api.post("/login", &body).await })
        })
        .collect();
    let mut tried = 0_usize;
    for guess in guesses {
        let response = guess.await.expect("it was answered");
        if response.status == 401 {
            tried += 1;
        } else {
            expect_too_many(&response);
        }
    }
    assert_eq!(tried, 3);
    let seen = [
        ("hashed", tried),
        ("over the limit of three", tried.saturating_sub(3)),
    ];
    proof("guessing", &[("guesses at once", GUESSES)], &seen);
}

async fn successful_logins_do_not_count(setup: TestSetup) {
    let app = with_limit(setup, "2").start().await;
    for _ in 0..5 {
        app.try_log_in("admin", ADMIN_PASSWORD).await.expect(200);
        let response = app
            .basic
            .with_basic("admin", ADMIN_PASSWORD)
            .get("/protected")
            .await;
        response.expect(200);
    }
    app.try_log_in("admin", "wrong").await.expect(401);
}

async fn refusals_are_counted_and_logged_in_one_line_a_second(setup: TestSetup) {
    const LOGINS: u32 = 30;
    const OF_BASIC: u32 = 3;
    let app = with_limit(setup, "1").start().await;
    app.try_log_in("admin", "wrong").await.expect(401);
    let started = Instant::now();
    for _ in 0..LOGINS {
        expect_too_many(&app.try_log_in("admin", "wrong").await);
    }
    let basic = app.basic.with_basic("admin", "wrong");
    for _ in 0..OF_BASIC {
        expect_too_many(&basic.get("/protected").await);
    }
    let metrics = Api::at(&app.gateway().address("ops"))
        .get("/metrics")
        .await
        .body;
    for (route, count) in [("/login", LOGINS), ("/protected", OF_BASIC)] {
        let series = "rolegate_http_refusals_total{reason=\"TOO_MANY_ATTEMPTS\"";
        let series = format!("{series},route=\"{route}\"}} {count}\n");
        assert!(metrics.contains(&series), "no {series}: {metrics}");
    }
    let reported = |log: &str, route: &str| -> u32 {
        let before = format!("{route} TOO_MANY_ATTEMPTS ");
        let after = log
            .split(&before)
            .skip(1)
            .map(|rest| rest.split([',', '"']).next());
        after
            .map(|count| {
                count
                    .and_then(|it| it.parse::<u32>().ok())
                    .expect("a count")
            })
            .sum()
    };
    let log = eventually("all refusals in the log", async || {
        let log = app.gateway().stderr();
        (reported(&log, "/protected") >= OF_BASIC).then_some(log)
    })
    .await;
    assert_eq!(
        [reported(&log, "/login"), reported(&log, "/protected")],
        [LOGINS, OF_BASIC]
    );
    let lines = log
        .lines()
        .filter(|line| line.contains("refused in the last second"))
        .count();
    let seconds = started.elapsed().as_secs();
    assert!(
        lines as u64 <= seconds + 2,
        "{lines} lines in {seconds} seconds: {log}"
    );
}
