//! The limit on how many API keys, sessions and second factors of a user are created within a
//! minute. Without it a user could fill the record, so these tests count the rows of the record.

use crate::{metrics::scrape, second_factor::two_replicas};
use e2e::{
    Api, Store, TestApp, TestResponse, TestSetup, TestUser, for_both_stores, for_two_deployments,
};
use serde_json::json;

for_both_stores!(
    nobody_fills_the_record_in_a_loop_at_two_replicas_or_by_a_restart,
    additions_at_once_at_two_replicas_are_as_many_as_one_after_the_other,
);
for_two_deployments!(what_is_added_is_limited_together_and_what_ends_is_not);

/// The limit on new keys, sessions and second factors of a user together, within a minute.
const MAX_ADDITIONS: usize = 140;

/// Selects the rows about keys, whether they are sealed or not.
const ROWS_OF_KEYS: &str =
    "SELECT 1 FROM audit WHERE event IN ('api_key_created', 'api_key_deleted')
    UNION ALL SELECT 1 FROM audit_pending WHERE event IN ('api_key_created', 'api_key_deleted')";

async fn try_key(api: &Api) -> TestResponse {
    api.post("/profile/keys", &json!({ "name": "a program" }))
        .await
}

async fn try_session(api: &Api, user: &TestUser, password: &str) -> TestResponse {
    let body = json!({ "username": user.username, "password": password });
    api.post("/sessions", &body).await
}

#[track_caller]
fn expect_too_many(response: &TestResponse) {
    response.expect_detail(429, "Too many attempts, try again later.");
    response.expect_header("rolegate-reason", Some("TOO_MANY_ATTEMPTS"));
    response.expect_retry_after();
}

/// Creates a key and deletes it again. Returns whether it was created.
async fn make_and_delete(api: &Api) -> bool {
    let response = try_key(api).await;
    if response.status == 201 {
        api.delete("/profile/keys").await.expect(200);
        return true;
    }
    expect_too_many(&response);
    false
}

/// Creates as many keys as the limit allows.
async fn fill(api: &Api) {
    for _ in 0..MAX_ADDITIONS {
        assert!(make_and_delete(api).await);
    }
    expect_too_many(&try_key(api).await);
}

/// Makes all additions a minute older, so that the limit no longer counts them.
async fn pass_a_minute(app: &TestApp) {
    app.database
        .execute("UPDATE addition SET at = at - 60")
        .await;
}

async fn nobody_fills_the_record_in_a_loop_at_two_replicas_or_by_a_restart(store: Store) {
    let (mut app, _other, replicas) = two_replicas(TestSetup::all_in_one(store)).await;
    let ann = TestUser::register(&replicas[0], "ann").await;
    let apis = replicas.map(|api| api.with_token(&ann.token));
    let mut made = 0;
    for _ in 0..MAX_ADDITIONS {
        for api in &apis {
            made += usize::from(make_and_delete(api).await);
        }
    }
    assert_eq!(made, MAX_ADDITIONS);
    app.restart_gateway().await;
    let restarted = app.bearer.with_token(&ann.token);
    expect_too_many(&try_key(&restarted).await);
    assert_eq!(
        app.database.count_rows(ROWS_OF_KEYS).await,
        2 * MAX_ADDITIONS
    );
    let bob = app.user("bob").await;
    try_key(&app.bearer.with_token(&bob.token))
        .await
        .expect(201);
    pass_a_minute(&app).await;
    try_key(&restarted).await.expect(201);
    try_key(&apis[0]).await.expect(201);
}

async fn additions_at_once_at_two_replicas_are_as_many_as_one_after_the_other(store: Store) {
    let (app, _other, replicas) = two_replicas(TestSetup::all_in_one(store)).await;
    let ann = TestUser::register(&replicas[0], "ann").await;
    let lanes = replicas.iter().cycle().take(8).map(|api| {
        let api = api.with_token(&ann.token);
        tokio::spawn(async move {
            let mut made = 0_usize;
            for _ in 0..40 {
                let response = try_key(&api).await;
                match response.status {
                    201 => made += 1,
                    // The user has fifty keys, which is the maximum, until another lane deletes
                    // them.
                    400 => {}
                    _ => expect_too_many(&response),
                }
                api.delete("/profile/keys").await.expect(200);
            }
            made
        })
    });
    let mut made = 0;
    for lane in lanes.collect::<Vec<_>>() {
        made += lane.await.expect("it ended");
    }
    assert_eq!(made, MAX_ADDITIONS);
    assert!(app.database.count_rows(ROWS_OF_KEYS).await <= 2 * MAX_ADDITIONS);
}

async fn what_is_added_is_limited_together_and_what_ends_is_not(setup: TestSetup) {
    let app = setup.start().await;
    let ann = app.user("ann").await;
    let session = ann.session(&app.bearer).await;
    let other = ann.session(&app.bearer).await;
    pass_a_minute(&app).await;
    let own = app.bearer.with_token(&ann.token);
    fill(&own).await;
    expect_too_many(&try_session(&app.bearer, &ann, &ann.password).await);
    let begin = async |password: &str| {
        own.post(
            "/profile/second-factor",
            &json!({ "current_password": password }),
        )
        .await
    };
    expect_too_many(&begin(&ann.password).await);
    let as_admin = app.bearer.with_token(&app.admin().await.token);
    let key = json!({ "name": "a program", "role": "user" });
    let keys = format!("/users/{}/keys", ann.id);
    expect_too_many(&as_admin.post(&keys, &key).await);
    try_key(&as_admin).await.expect(201);

    // Wrong input still gets its own error instead of the error of the limit.
    try_session(&app.bearer, &ann, "wrong")
        .await
        .expect_detail(401, "Invalid username or password.");
    begin("wrong")
        .await
        .expect_detail(400, "Current password is incorrect.");
    own.post("/profile/keys", &json!({ "name": "" }))
        .await
        .expect(400);

    let metrics = scrape(app.auth()).await;
    let refused = r#"rolegate_limit_refusals_total{limit="additions"} 4"#;
    assert!(metrics.contains(refused), "{metrics}");

    // A user who fears a thief can always end credentials, whatever the limit says.
    own.delete(&format!("/profile/sessions/{}", session.id))
        .await
        .expect(200);
    own.delete("/profile/keys").await.expect(200);
    app.bearer.with_token(&other.token).log_out().await;
    let change = json!({ "current_password": ann.password, "new_password": "another one" });
    own.put("/profile/password", &change).await.expect(200);
    let ann = TestUser::log_in(&app.bearer, "ann", "another one").await;
    app.bearer.with_token(&ann.token).log_out().await;
}
