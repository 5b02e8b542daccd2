//! Second factors: how users turn them on and off, and which endpoints ask for a code.
//!
//! This file has the helpers and the ordinary cases. `codes` and `recovery_codes` show which codes
//! are valid, `guesses` limits wrong ones, and `replicas` uses codes at several replicas.
//! `sign_in_page` and `half_sign_ins` have the sign-in in two steps, and `basic` has HTTP Basic.
//! `admins` makes a second factor necessary, and `removal` lets an admin help. `states`, `issuer`
//! and `record` have the rest.

mod admins;
mod basic;
mod codes;
mod guesses;
mod half_sign_ins;
mod issuer;
mod record;
mod recovery_codes;
mod removal;
mod replicas;
mod sign_in_page;
mod states;

use crate::sessions::{of_creation, sign_in};
use e2e::{
    Api, Process, TestApp, TestResponse, TestSetup, TestUser, for_all_deployments,
    for_two_deployments, second_factor::PATH,
};
use serde_json::{Value, json};

for_all_deployments!(a_second_factor_asks_for_a_code_once_it_was_confirmed_by_one);
for_two_deployments!(
    older_tokens_and_other_sessions_end_and_api_keys_stay,
    a_second_beginning_replaces_the_first,
    what_a_wrong_password_says_does_not_depend_on_a_second_factor,
);

pub(crate) const ON: &str = "Second factor is on.";
pub(crate) const OFF: &str = "Second factor is off.";
pub(crate) const REQUIRED: &str = "One-time code required.";
pub(crate) const INVALID: &str = "Invalid one-time code.";
const INCORRECT: &str = "One-time code is incorrect.";
const WRONG_PASSWORD: &str = "Invalid username or password.";
const ENDED: &str = "Invalid or expired token.";

/// Starts a second process on the database of the first one. The two share nothing else.
pub(crate) async fn two_replicas(setup: TestSetup) -> (TestApp, Process, [Api; 2]) {
    let mut app = setup.start().await;
    let here = app.bearer.clone();
    let other = app.start_second_gateway().await;
    let there = app.bearer.clone();
    (app, other, [here, there])
}

/// Asserts that the password was right and did not sign the user in.
#[track_caller]
fn expect_no_entry(response: &TestResponse, detail: &str) {
    response.expect_detail(401, detail);
    let reason = if detail == REQUIRED {
        "OTP_REQUIRED"
    } else {
        "OTP_INVALID"
    };
    response.expect_header("rolegate-reason", Some(reason));
}

/// Sends `{"otp": …}` to turn a second factor on.
async fn confirm(api: &Api, otp: &str) -> TestResponse {
    api.put(PATH, &json!({ "otp": otp })).await
}

/// Sends `{"otp": …}` to turn a second factor off.
async fn turn_off(api: &Api, otp: &str) -> TestResponse {
    api.send(
        api.request(reqwest::Method::DELETE, PATH)
            .json(&json!({ "otp": otp })),
    )
    .await
}

fn state(is_on: bool, recovery_codes: usize) -> Value {
    json!({ "enabled": is_on, "recovery_codes": recovery_codes })
}

/// Tries to create a session with a code.
async fn try_session(api: &Api, user: &TestUser, otp: &str) -> TestResponse {
    let body = json!({ "username": user.username, "password": user.password, "otp": otp });
    api.post("/sessions", &body).await
}

async fn a_second_factor_asks_for_a_code_once_it_was_confirmed_by_one(setup: TestSetup) {
    let app = setup.start().await;
    let ann = app.user("ann & b").await;
    let own = app.bearer.with_token(&ann.token);
    own.get(PATH).await.expect_json(200, &state(false, 0));
    let factor = ann.begin_second_factor(&app.bearer).await;
    assert_eq!(factor.totp.secret().len(), 20);
    let url = format!(
        "otpauth://totp/127.0.0.1:ann%20%26%20b?secret={}&issuer=127.0.0.1&algorithm=SHA1&digits=6\
         &period=30",
        factor.secret
    );
    assert_eq!(factor.otpauth_url, url);
    assert_eq!(factor.recovery_codes.len(), 10);
    for code in &factor.recovery_codes {
        let groups: Vec<_> = code.split('-').map(str::len).collect();
        assert_eq!(groups, [5, 5, 5, 5, 6], "{code}");
    }

    // A second factor that was only begun asks for nothing, and a code that is sent anyway has no
    // effect.
    own.get(PATH).await.expect_json(200, &state(false, 0));
    app.try_log_in(&ann.username, &ann.password)
        .await
        .expect(200);
    for otp in ["", "nonsense", &factor.code(), &factor.recovery_codes[0]] {
        ann.try_code(&app.bearer, otp).await.expect(200);
        try_session(&app.bearer, &ann, otp).await.expect(201);
    }
    app.basic
        .with_basic(&ann.username, &ann.password)
        .get("/protected")
        .await
        .expect(200);
    let refused = confirm(&own, &factor.totp.wrong()).await;
    refused
        .expect_detail(400, INCORRECT)
        .expect_header("rolegate-reason", Some("OTP_WRONG"));
    // A recovery code does not prove that the user has the secret on a phone.
    confirm(&own, &factor.recovery_codes[0])
        .await
        .expect_detail(400, INCORRECT);
    confirm(&own, &factor.code()).await.expect_message(ON);

    own.get(PATH).await.expect_detail(401, ENDED);
    for path in ["/login", "/sessions"] {
        let body = json!({ "username": ann.username, "password": ann.password });
        expect_no_entry(&app.bearer.post(path, &body).await, REQUIRED);
        let with = async |otp: Value| {
            let mut body = body.clone();
            body["otp"] = otp;
            app.bearer.post(path, &body).await
        };
        expect_no_entry(&with(Value::Null).await, REQUIRED);
        expect_no_entry(&with(json!(factor.totp.wrong())).await, INVALID);
        let detail = with(json!(123_456)).await.expect_error(400);
        assert!(detail.contains("\"otp\""), "{detail}");
    }
    let ann = ann.log_in_with_code(&app.bearer, &factor.next_code()).await;
    let own = app.bearer.with_token(&ann.token);
    own.get(PATH).await.expect_json(200, &state(true, 10));
    let by_recovery_code = try_session(&app.bearer, &ann, &factor.recovery_codes[3]).await;
    let (session, _) = of_creation(&by_recovery_code);
    let session = app.bearer.with_token(&session);
    session.get(PATH).await.expect_json(200, &state(true, 9));
    session.get("/profile").await.expect(200);
}

async fn older_tokens_and_other_sessions_end_and_api_keys_stay(setup: TestSetup) {
    let app = setup.start().await;
    let (ann, bob) = (app.user("ann").await, app.user("bob").await);
    let key = app.bearer.with_token(&ann.key(&app.bearer).await.token);
    let (session, _) = sign_in(&app, &ann).await;
    let (other_session, _) = sign_in(&app, &ann).await;
    let other = TestUser::log_in(&app.bearer, "ann", &ann.password).await;
    // A session turns on the second factor and stays valid.
    let begun = session
        .post(PATH, &json!({ "current_password": ann.password }))
        .await;
    let factor = e2e::SecondFactor::of(&begun);
    confirm(&session, &factor.code()).await.expect_message(ON);
    let by_tokens = [&ann, &other].map(|user| app.bearer.with_token(&user.token));
    for ended in by_tokens.iter().chain([&other_session]) {
        ended.get("/profile").await.expect_detail(401, ENDED);
    }
    session.get(PATH).await.expect_json(200, &state(true, 10));
    app.bearer
        .with_token(&bob.token)
        .get("/profile")
        .await
        .expect(200);
    app.try_log_in("bob", &bob.password).await.expect(200);

    // An API key stays valid. It shows the state of the second factor and cannot change it.
    key.get("/profile").await.expect(200);
    key.get(PATH).await.expect_json(200, &state(true, 10));
    app.database.forget_codes().await;
    let otp = factor.code();
    for refused in [
        key.post(PATH, &json!({ "current_password": ann.password }))
            .await,
        confirm(&key, &otp).await,
        turn_off(&key, &otp).await,
    ] {
        refused.expect_detail(403, "Insufficient privileges.");
    }
    ann.log_in_with_code(&app.bearer, &otp).await;
}

async fn a_second_beginning_replaces_the_first(setup: TestSetup) {
    let app = setup.start().await;
    let ann = app.user("ann").await;
    let first = ann.begin_second_factor(&app.bearer).await;
    let second = ann.begin_second_factor(&app.bearer).await;
    assert_ne!(first.secret, second.secret);
    let own = app.bearer.with_token(&ann.token);
    confirm(&own, &first.code())
        .await
        .expect_detail(400, INCORRECT);
    confirm(&own, &second.code()).await.expect_message(ON);
    expect_no_entry(
        &ann.try_code(&app.bearer, &first.next_code()).await,
        INVALID,
    );
    expect_no_entry(
        &ann.try_code(&app.bearer, &first.recovery_codes[0]).await,
        INVALID,
    );
    ann.log_in_with_code(&app.bearer, &second.recovery_codes[0])
        .await;
    ann.log_in_with_code(&app.bearer, &second.next_code()).await;
    assert_eq!(
        app.database.count_rows("SELECT 1 FROM recovery_code").await,
        9
    );
}

async fn what_a_wrong_password_says_does_not_depend_on_a_second_factor(setup: TestSetup) {
    let app = setup.start().await;
    let (ann, _bob) = (app.user("ann").await, app.user("bob").await);
    let factor = ann.turn_on_second_factor(&app.bearer).await;
    let good = factor.next_code();
    for path in ["/login", "/sessions"] {
        let ask = async |username: &str, otp: Option<&str>| {
            let mut body = json!({ "username": username, "password": "wrong" });
            if let Some(otp) = otp {
                body["otp"] = otp.into();
            }
            app.bearer.post(path, &body).await
        };
        let expected = ask("bob", None).await;
        expected.expect_detail(401, WRONG_PASSWORD);
        for username in ["ann", "bob", "stranger"] {
            for otp in [None, Some(&*good), Some("000000"), Some("nonsense")] {
                let response = ask(username, otp).await;
                assert_eq!(
                    response.comparable(),
                    expected.comparable(),
                    "{username} {otp:?}"
                );
            }
        }
    }
    // None of these requests used up the code or counted as a wrong one.
    let counted = "SELECT 1 FROM second_factor WHERE wrong_codes + wrong_recovery_codes > 0";
    assert_eq!(app.database.count_rows(counted).await, 0);
    ann.log_in_with_code(&app.bearer, &good).await;
}
