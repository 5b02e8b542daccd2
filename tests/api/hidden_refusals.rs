//! A flood of refusals must not keep the refusals of other clients out of the record.

use e2e::{Store, TestApp, TestResponse, TestSetup, eventually, for_both_stores};
use reqwest::Method;
use serde_json::{Value, json};

for_both_stores!(
    a_network_with_many_accounts_hides_no_refusal_of_a_stranger,
    many_addresses_at_one_account_hide_no_refusal_at_another,
    unknown_keys_and_names_hide_no_refusal_of_a_user,
);

const STRANGER: &str = "198.51.100.7";

/// Selects the row that says how many refusals have no row, whether it is sealed or not.
macro_rules! number_row {
    ($count:literal) => {
        concat!(
            "SELECT 1 FROM audit WHERE event = 'refusals_not_recorded' AND details = '{\"count\":",
            $count,
            "}' UNION ALL SELECT 1 FROM audit_pending WHERE event = 'refusals_not_recorded'
                AND details = '{\"count\":",
            $count,
            "}'"
        )
    };
}

async fn start(store: Store) -> TestApp {
    TestSetup::all_in_one(store)
        .with("TRUSTED_PROXIES", "127.0.0.0/8")
        .with("LOGIN_FAILURE_LIMIT", "0")
        .start()
        .await
}

async fn log_in(app: &TestApp, from: &str, username: &str, password: &str) -> TestResponse {
    let body = json!({ "username": username, "password": password });
    let request = app.bearer.request(Method::POST, "/login").json(&body);
    app.bearer.send_from(from, request).await
}

async fn refused(app: &TestApp) -> Vec<Value> {
    let admin = app.bearer.with_token(&app.admin().await.token);
    let path = "/audit?event=login_failed&limit=200";
    let body = admin.get(path).await.expect(200).json();
    body["entries"].as_array().expect("entries").clone()
}

/// Waits until the record has a refusal of this user from the stranger's address. Returns how many
/// refusals the record has.
async fn expect_row_of_stranger(app: &TestApp, username: &str) -> usize {
    eventually("the refusal of the stranger", async || {
        let refused = refused(app).await;
        let is_of_stranger =
            |entry: &&Value| entry["username"] == username && entry["client_address"] == STRANGER;
        refused.iter().find(is_of_stranger)?;
        Some(refused.len())
    })
    .await
}

/// Stops the service, which then records how many refusals have no row.
async fn expect_number(app: TestApp, row: &'static str) {
    let (processes, database) = app.into_processes();
    for process in processes {
        process.terminate();
        assert_eq!(process.exit().await.code, Some(0));
    }
    assert_eq!(database.count_rows(row).await, 1, "{row}");
}

async fn a_network_with_many_accounts_hides_no_refusal_of_a_stranger(store: Store) {
    let app = start(store).await;
    app.user("victim").await;
    for number in 0..64 {
        let name = format!("own {number}");
        app.try_register(&name, "a password").await.expect(200);
    }
    for number in 0..64 {
        let from = format!("2001:db8::{number:x}");
        log_in(&app, &from, &format!("own {number}"), "wrong")
            .await
            .expect(401);
    }
    log_in(&app, STRANGER, "victim", "wrong").await.expect(401);
    assert_eq!(expect_row_of_stranger(&app, "victim").await, 11);
    expect_number(app, number_row!("54")).await;
}

async fn many_addresses_at_one_account_hide_no_refusal_at_another(store: Store) {
    let app = start(store).await;
    app.user("ann").await;
    app.user("bob").await;
    for number in 0..70 {
        log_in(&app, &format!("203.0.113.{number}"), "ann", "wrong")
            .await
            .expect(401);
    }
    log_in(&app, STRANGER, "bob", "wrong").await.expect(401);
    assert_eq!(expect_row_of_stranger(&app, "bob").await, 11);
    expect_number(app, number_row!("60")).await;
}

async fn unknown_keys_and_names_hide_no_refusal_of_a_user(store: Store) {
    let app = start(store).await;
    app.user("ann").await;
    let unknown = app.bearer.with_token(&format!("rgk_{}", "A".repeat(43)));
    for number in 0..70 {
        let from = format!("203.0.113.{number}");
        let request = unknown.request(Method::GET, "/profile");
        unknown.send_from(&from, request).await.expect(401);
        log_in(&app, &from, "stranger", "wrong").await.expect(401);
    }
    log_in(&app, STRANGER, "ann", "wrong").await.expect(401);
    // These 140 refusals concern no user, so only 60 have a row: two for each of 20 addresses, then
    // one for each of 20 new addresses.
    expect_row_of_stranger(&app, "ann").await;
    expect_number(app, number_row!("80")).await;
}
