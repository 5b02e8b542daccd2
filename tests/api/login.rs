//! `POST /login`, with which users get access tokens.

use e2e::{
    Api, TestSetup, eventually, for_all_deployments, for_two_deployments, program::HASH_COST, token,
};
use serde_json::{Value, json};

for_all_deployments!(correct_password_gets_a_token_with_four_claims);
for_two_deployments!(
    unknown_user_and_wrong_password_get_the_same_response,
    impossible_credentials_get_the_same_response,
    new_login_carries_the_new_role,
    successful_login_rehashes_a_hash_of_another_cost,
    unknown_name_takes_the_work_of_stored_hashes_after_the_cost_was_lowered,
);

async fn correct_password_gets_a_token_with_four_claims(setup: TestSetup) {
    let app = setup.start().await;
    let before = token::now();
    let ann = app.user("ann").await;
    let after = token::now();
    let claims = token::claims(&ann.token);
    let exp = claims["exp"].as_u64().expect("exp is a whole number");
    assert!(
        (before + 1800..=after + 1800).contains(&exp),
        "{exp} is not in 30 minutes"
    );
    let id = app
        .database
        .user("ann")
        .await
        .expect("stored")
        .id
        .to_string();
    let wanted = json!({ "sub": id, "username": "ann", "role": "user", "exp": exp });
    assert_eq!(claims, wanted, "exactly these");
    assert_eq!(token::header(&ann.token)["alg"], "HS256");
    assert_eq!(token::header(&ann.token).get("crit"), None);
}

async fn unknown_user_and_wrong_password_get_the_same_response(setup: TestSetup) {
    let app = setup.start().await;
    app.user("ann").await;
    let unknown = app.try_log_in("stranger", "a password").await;
    let wrong = app.try_log_in("ann", "a password").await;
    wrong.expect_detail(401, "Invalid username or password.");
    wrong.expect_header("www-authenticate", Some("Bearer"));
    assert_eq!(unknown.comparable(), wrong.comparable());
}

async fn impossible_credentials_get_the_same_response(setup: TestSetup) {
    let app = setup.start().await;
    let ann = app.user("ann").await;
    let wrong = app.try_log_in("ann", "a password").await;
    let (long_name, long_password) = ("x".repeat(256), "x".repeat(73));
    let nul_at_end = format!("{}\0", ann.password);
    for (name, password) in [
        ("", "pw"),
        ("a:b", "pw"),
        (" ann", &ann.password),
        ("ann\0", &ann.password),
        (&*long_name, "pw"),
        ("ann", ""),
        ("ann", "\0"),
        ("ann", &*nul_at_end),
        ("ann", &*long_password),
        ("stranger", &*long_password),
    ] {
        let response = app.try_log_in(name, password).await;
        assert_eq!(
            response.comparable(),
            wrong.comparable(),
            "{name:?} {password:?}"
        );
    }
}

async fn new_login_carries_the_new_role(setup: TestSetup) {
    let app = setup.start().await;
    let ann = app.user_with_role("ann", "author").await;
    let again = app.try_log_in(&ann.username, &ann.password).await;
    let body = again.expect(200).json();
    let token = body["access_token"].as_str().expect("a token");
    assert_eq!(token::claims(token)["role"], "author");
    assert_eq!(
        token::claims(&ann.token)["role"],
        Value::from("user"),
        "the old one says the old"
    );
}

async fn successful_login_rehashes_a_hash_of_another_cost(setup: TestSetup) {
    // The hash of "sesame" at cost 5. The fast-hash programs use cost 4.
    const OLD: &str = "$2b$05$abcdefghijklmnopqrstuuKcS.CYWVYVaLiiCKrrc0A5s3mGesJ9O";
    let app = setup.start().await;
    app.user("ann").await;
    app.database.set_password_hash("ann", OLD).await;
    app.try_log_in("ann", "Sesame").await.expect(401);
    app.try_log_in("ann", "sesame").await.expect(200);
    let stored = async || app.database.user("ann").await.expect("stored").password;
    eventually("the hash to be renewed", async || {
        stored().await.starts_with("$2b$04$").then_some(())
    })
    .await;
    app.try_log_in("ann", "sesame").await.expect(200);
    app.try_log_in("ann", "Sesame").await.expect(401);
}

async fn unknown_name_takes_the_work_of_stored_hashes_after_the_cost_was_lowered(setup: TestSetup) {
    let mut app = setup.with_hash_cost(8).start().await;
    app.user("ann").await;
    // Cost 4 takes a sixteenth of the work. The service learns about the old cost when it starts,
    // because no user with such a hash logs in.
    app.kill_auth().await;
    app.start_auth(Some((HASH_COST, "4"))).await;
    let ops = Api::at(&app.auth().address("ops"));
    let hashed = async || {
        let metrics = ops.get("/metrics").await.body;
        let sum = metrics
            .lines()
            .find_map(|it| it.strip_prefix("rolegate_hashing_run_seconds_sum "));
        sum.expect("the metric").parse::<f64>().expect("seconds")
    };
    let mut lone = f64::MAX;
    for number in 0..5 {
        let before = hashed().await;
        app.try_register(&format!("user {number}"), "password")
            .await
            .expect(200);
        lone = lone.min(hashed().await - before);
    }
    let before = hashed().await;
    app.try_log_in("stranger", "wrong").await.expect(401);
    let refused = hashed().await - before;
    assert!(
        refused > 4.0 * lone,
        "{refused} s for a refusal, {lone} s for a hash of the new cost"
    );
}
