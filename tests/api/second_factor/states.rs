//! Which requests a second factor refuses in each of its states, and in which order the checks run.

use super::{INCORRECT, OFF, ON, confirm, state, turn_off};
use crate::api_keys::create_key;
use e2e::{
    ADMIN_PASSWORD, TestResponse, TestSetup, TestUser, for_one_deployment, for_two_deployments,
    second_factor::PATH,
};
use reqwest::{Method, header::CONTENT_TYPE};
use serde_json::json;

for_two_deployments!(
    each_change_needs_its_state,
    only_the_current_password_begins_a_second_factor,
    what_was_turned_off_is_forgotten_and_asks_for_nothing,
);
for_one_deployment!(checks_run_in_the_documented_order);

async fn each_change_needs_its_state(setup: TestSetup) {
    let app = setup.start().await;
    let ann = app.user("ann").await;
    let own = app.bearer.with_token(&ann.token);
    let expect_state = |response: &TestResponse, detail: &str| {
        response.expect_detail(400, detail);
        response.expect_header("rolegate-reason", Some("SECOND_FACTOR_STATE"));
    };
    expect_state(
        &confirm(&own, "123456").await,
        "Second factor is not begun.",
    );
    expect_state(&turn_off(&own, "123456").await, "Second factor is not on.");
    let factor = ann.begin_second_factor(&app.bearer).await;
    expect_state(
        &turn_off(&own, &factor.code()).await,
        "Second factor is not on.",
    );
    confirm(&own, &factor.code()).await.expect_message(ON);

    let ann = ann.log_in_with_code(&app.bearer, &factor.next_code()).await;
    let own = app.bearer.with_token(&ann.token);
    // The refusal does not depend on the password or the code.
    for password in [&*ann.password, "wrong"] {
        let begun = own
            .post(PATH, &json!({ "current_password": password }))
            .await;
        expect_state(&begun, "Second factor is already on.");
    }
    expect_state(
        &confirm(&own, "123456").await,
        "Second factor is already on.",
    );
    own.get(PATH).await.expect_json(200, &state(true, 10));
}

async fn only_the_current_password_begins_a_second_factor(setup: TestSetup) {
    let app = setup.with("LOGIN_FAILURE_LIMIT", "3").start().await;
    let ann = app.user("ann").await;
    let own = app.bearer.with_token(&ann.token);
    let begin = async |password: &str| {
        own.post(PATH, &json!({ "current_password": password }))
            .await
    };
    for wrong in ["", "wrong", ADMIN_PASSWORD] {
        begin(wrong)
            .await
            .expect_detail(400, "Current password is incorrect.");
    }
    // Wrong passwords count here as at a login, and the two share one count.
    begin(&ann.password).await.expect(429).expect_retry_after();
    app.try_log_in("ann", &ann.password).await.expect(429);
    assert_eq!(
        app.database.count_rows("SELECT 1 FROM second_factor").await,
        0
    );
}

async fn what_was_turned_off_is_forgotten_and_asks_for_nothing(setup: TestSetup) {
    let app = setup.start().await;
    let ann = app.user("ann").await;
    let stored = app.database.user("ann").await;
    let mut former = Vec::new();
    // One round turns the second factor off with a code, the other with a recovery code.
    for round in 0..2 {
        let ann = TestUser::log_in(&app.bearer, "ann", &ann.password).await;
        let factor = ann.turn_on_second_factor(&app.bearer).await;
        let ann = ann.log_in_with_code(&app.bearer, &factor.next_code()).await;
        let own = app.bearer.with_token(&ann.token);
        for wrong in ["", "nonsense", &factor.totp.wrong()] {
            let refused = turn_off(&own, wrong).await;
            refused.expect_detail(400, INCORRECT);
            refused.expect_header("rolegate-reason", Some("OTP_WRONG"));
        }
        own.get(PATH).await.expect_json(200, &state(true, 10));
        app.database.forget_codes().await;
        let otp = if round == 0 {
            factor.code()
        } else {
            factor.recovery_codes[7].clone()
        };
        turn_off(&own, &otp).await.expect_message(OFF);
        // Turning off the second factor ends no credential.
        own.get(PATH).await.expect_json(200, &state(false, 0));
        app.try_log_in("ann", &ann.password).await.expect(200);
        ann.try_code(&app.bearer, "nonsense").await.expect(200);
        app.basic
            .with_basic("ann", &ann.password)
            .get("/protected")
            .await
            .expect(200);
        assert_eq!(app.database.user("ann").await, stored);
        for table in ["SELECT 1 FROM second_factor", "SELECT 1 FROM recovery_code"] {
            assert_eq!(app.database.count_rows(table).await, 0, "{table}");
        }
        former.extend(factor.recovery_codes);
    }
    let ann = TestUser::log_in(&app.bearer, "ann", &ann.password).await;
    let factor = ann.turn_on_second_factor(&app.bearer).await;
    for code in former.iter().step_by(4) {
        ann.try_code(&app.bearer, code).await.expect(401);
    }
    ann.log_in_with_code(&app.bearer, &factor.next_code()).await;
}

/// Sends requests that fail the expected check and every check after it, which shows the order of
/// the checks.
async fn checks_run_in_the_documented_order(setup: TestSetup) {
    let app = setup.start().await;
    let ann = app.user("ann").await;
    let own = app.bearer.with_token(&ann.token);
    let (key, _) = create_key(&own, &json!({ "name": "export" })).await;
    for method in [Method::POST, Method::PUT, Method::DELETE] {
        let send = async |token: Option<&str>, content_type: &str, body: &str| {
            let api =
                token.map_or_else(|| app.bearer.clone(), |token| app.bearer.with_token(token));
            let request = api
                .request(method.clone(), PATH)
                .header(CONTENT_TYPE, content_type);
            api.send(request.body(body.to_owned())).await
        };
        let (json, text) = ("application/json", "text/plain");
        send(None, text, "{")
            .await
            .expect_detail(401, "Not authenticated.");
        send(Some("bad"), text, "{")
            .await
            .expect_detail(401, "Invalid or expired token.");
        let actor = Some(&*ann.token);
        send(actor, text, "{").await.expect_error(415);
        send(actor, json, "{")
            .await
            .expect_detail(400, "Request body is not valid JSON.");
        let field = if method == Method::POST {
            "current_password"
        } else {
            "otp"
        };
        for body in [
            "{}".to_owned(),
            format!("{{{field:?}:7}}"),
            format!("{{{field:?}:null}}"),
        ] {
            let detail = send(actor, json, &body).await.expect_error(400);
            assert!(detail.contains(&format!("{field:?}")), "{detail}");
        }
        let body = format!("{{{field:?}:\"x\"}}");
        send(Some(&key), json, &body)
            .await
            .expect_detail(403, "Insufficient privileges.");
    }
    app.bearer
        .get(PATH)
        .await
        .expect_detail(401, "Not authenticated.");
    app.bearer
        .with_token("bad")
        .get(PATH)
        .await
        .expect_detail(401, "Invalid or expired token.");
    own.get(PATH).await.expect_json(200, &state(false, 0));
}
