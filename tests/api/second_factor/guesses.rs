//! Guesses of codes by a client that knows the password or has a session. It gets ten guesses an
//! hour, wherever they are sent from, and a hundred for recovery codes. Each purpose and each kind
//! of code has its own count.

use super::{
    INCORRECT, INVALID, OFF, ON, REQUIRED, confirm, expect_no_entry, turn_off, two_replicas,
};
use crate::sessions::of_creation;
use e2e::{
    Api, SecondFactor, Store, TestResponse, TestSetup, TestUser, for_both_stores,
    for_two_deployments,
};
use reqwest::Method;
use serde_json::json;

for_both_stores!(
    exactly_ten_wrong_codes_an_hour_are_tried_over_all_addresses_and_replicas,
    a_stolen_session_blocks_no_code_of_its_user_at_sign_in,
    wrong_recovery_codes_are_limited_over_all_replicas_and_block_nothing_else,
);
for_two_deployments!(
    wrong_codes_count_wherever_they_are_sent,
    wrong_codes_of_one_user_lock_out_no_other,
);

const AN_HOUR_LATER: &str = "UPDATE second_factor SET wrong_since = wrong_since - 3600";
/// Makes used codes valid again and leaves the count of wrong ones.
const NO_CODE_WAS_USED: &str = "UPDATE second_factor SET last_step = 0";

#[track_caller]
fn expect_too_many(response: &TestResponse) {
    response.expect_detail(429, "Too many attempts, try again later.");
    response.expect_header("www-authenticate", None);
    response.expect_header("rolegate-reason", Some("TOO_MANY_ATTEMPTS"));
    let seconds = response
        .header("retry-after")
        .and_then(|text| text.parse::<u32>().ok());
    assert!(
        seconds.is_some_and(|seconds| (1..=3600).contains(&seconds)),
        "{response}"
    );
}

/// Sends more wrong codes than may be tried, all at once and each from another address. Returns how
/// many were tried.
async fn guess(apis: &[Api; 2], user: &TestUser, factor: &SecondFactor) -> usize {
    let guesses = (0..30).map(|number| {
        let (api, otp) = (apis[number % 2].clone(), factor.totp.wrong());
        let body = json!({ "username": user.username, "password": user.password, "otp": otp });
        tokio::spawn(async move {
            let path = ["/login", "/sessions"][number / 2 % 2];
            let request = api.request(Method::POST, path).json(&body);
            api.send_from(&format!("192.0.2.{number}"), request).await
        })
    });
    let mut tried = 0;
    for guess in guesses.collect::<Vec<_>>() {
        let response = guess.await.expect("it was answered");
        if response.status == 401 {
            expect_no_entry(&response, INVALID);
            tried += 1;
        } else {
            expect_too_many(&response);
        }
    }
    tried
}

async fn exactly_ten_wrong_codes_an_hour_are_tried_over_all_addresses_and_replicas(store: Store) {
    let setup = TestSetup::all_in_one(store).with("TRUSTED_PROXIES", "127.0.0.0/8");
    let (app, _other, apis) = two_replicas(setup).await;
    let ann = app.user("ann").await;
    let factor = ann.turn_on_second_factor(&app.bearer).await;
    let own = ann
        .log_in_with_code(&app.bearer, &factor.recovery_codes[0])
        .await;
    for hour in 0..2 {
        assert_eq!(guess(&apis, &ann, &factor).await, 10, "hour {hour}");
        app.database.execute(NO_CODE_WAS_USED).await;
        for api in &apis {
            // Now the right code is refused, too.
            expect_too_many(&ann.try_code(api, &factor.code()).await);
            expect_too_many(&ann.try_code(api, "nonsense").await);
            // The responses to a missing code and to a wrong password stay the same.
            let body = json!({ "username": "ann", "password": ann.password });
            expect_no_entry(&api.post("/login", &body).await, REQUIRED);
            let body = json!({ "username": "ann", "password": "wrong", "otp": "000000" });
            let wrong = api.post("/login", &body).await;
            wrong.expect_detail(401, "Invalid username or password.");
            api.with_token(&own.token).get("/profile").await.expect(200);
        }
        // Recovery codes are not blocked.
        ann.log_in_with_code(&apis[hour], &factor.recovery_codes[1 + hour])
            .await;
        // None of these requests prolonged the block.
        app.database.execute(AN_HOUR_LATER).await;
        ann.log_in_with_code(&apis[hour], &factor.code()).await;
        app.database.execute(NO_CODE_WAS_USED).await;
    }
    // The block does not apply to the code with which a signed-in user confirms a change.
    assert_eq!(guess(&apis, &ann, &factor).await, 10);
    app.database.execute(NO_CODE_WAS_USED).await;
    expect_too_many(&ann.try_code(&app.bearer, &factor.code()).await);
    turn_off(&app.bearer.with_token(&own.token), &factor.code())
        .await
        .expect_message(OFF);
}

/// Sends more wrong codes than may be tried, all at once, by a session at two replicas. Returns how
/// many were tried.
async fn guess_by_session(apis: &[Api; 2], token: &str, wrong: &str, guesses: usize) -> usize {
    let guesses = (0..guesses).map(|number| {
        let (api, wrong) = (apis[number % 2].with_token(token), wrong.to_owned());
        tokio::spawn(async move { turn_off(&api, &wrong).await })
    });
    let mut tried = 0;
    for guess in guesses.collect::<Vec<_>>() {
        let response = guess.await.expect("it was answered");
        if response.status == 400 {
            response.expect_detail(400, INCORRECT);
            tried += 1;
        } else {
            expect_too_many(&response);
        }
    }
    tried
}

/// A wrong code in the form of a recovery code.
const WRONG_RECOVERY_CODE: &str = "aaaaa-aaaaa-aaaaa-aaaaa-aaaaaa";

async fn a_stolen_session_blocks_no_code_of_its_user_at_sign_in(store: Store) {
    let (mut app, _other, apis) = two_replicas(TestSetup::all_in_one(store)).await;
    let ann = app.user("ann").await;
    let factor = ann.turn_on_second_factor(&app.bearer).await;
    let body =
        json!({ "username": "ann", "password": ann.password, "otp": factor.recovery_codes[0] });
    let (stolen, _) = of_creation(&app.bearer.post("/sessions", &body).await);
    let wrong = factor.totp.wrong();
    assert_eq!(guess_by_session(&apis, &stolen, &wrong, 30).await, 10);
    assert_eq!(
        guess_by_session(&apis, &stolen, WRONG_RECOVERY_CODE, 130).await,
        100
    );
    app.database.execute(NO_CODE_WAS_USED).await;
    let codes = &factor.recovery_codes;
    for (api, recovery_code) in apis.iter().zip([&codes[1], &codes[2]]) {
        // The owner signs in with either kind of code, and the stolen session cannot try any more
        // codes.
        ann.log_in_with_code(api, recovery_code).await;
        for code in [&factor.code(), &codes[3]] {
            expect_too_many(&turn_off(&api.with_token(&stolen), code).await);
        }
        ann.log_in_with_code(api, &factor.code()).await;
        app.database.execute(NO_CODE_WAS_USED).await;
    }
    // A restart does not reset the counts.
    app.restart_gateway().await;
    for code in [&factor.code(), &codes[3]] {
        let stolen = app.bearer.with_token(&stolen);
        expect_too_many(&turn_off(&stolen, code).await);
    }
    ann.log_in_with_code(&app.bearer, &factor.code()).await;
}

async fn wrong_recovery_codes_are_limited_over_all_replicas_and_block_nothing_else(store: Store) {
    let (app, _other, apis) = two_replicas(TestSetup::all_in_one(store)).await;
    let ann = app.user("ann").await;
    let factor = ann.turn_on_second_factor(&app.bearer).await;
    let codes = &factor.recovery_codes;
    let own = ann.log_in_with_code(&app.bearer, &codes[0]).await;
    expect_no_entry(&ann.try_code(&apis[0], WRONG_RECOVERY_CODE).await, INVALID);
    app.database
        .execute("UPDATE second_factor SET wrong_recovery_codes = 97 + wrong_recovery_codes")
        .await;
    for api in &apis {
        expect_no_entry(&ann.try_code(api, WRONG_RECOVERY_CODE).await, INVALID);
    }
    for api in &apis {
        for code in [&codes[1], WRONG_RECOVERY_CODE] {
            expect_too_many(&ann.try_code(api, code).await);
        }
        app.database.execute(NO_CODE_WAS_USED).await;
        ann.log_in_with_code(api, &factor.code()).await;
    }
    let own = app.bearer.with_token(&own.token);
    turn_off(&own, &codes[1]).await.expect_message(OFF);
}

async fn wrong_codes_count_wherever_they_are_sent(setup: TestSetup) {
    let app = setup.start().await;
    let ann = app.user("ann").await;
    let own = app.bearer.with_token(&ann.token);
    let factor = ann.begin_second_factor(&app.bearer).await;
    let wrong = factor.totp.wrong();
    for _ in 0..3 {
        confirm(&own, &wrong).await.expect_detail(400, INCORRECT);
    }
    // Beginning again does not reset the count.
    let factor = ann.begin_second_factor(&app.bearer).await;
    let wrong = factor.totp.wrong();
    confirm(&own, &factor.code()).await.expect_message(ON);
    let login_code = factor.next_code();
    let ann = ann.log_in_with_code(&app.bearer, &login_code).await;
    let own = app.bearer.with_token(&ann.token);
    // Right codes do not reduce the count.
    for _ in 0..3 {
        turn_off(&own, &wrong).await.expect_detail(400, INCORRECT);
    }
    for bad in ["nonsense", "-", "12345", "1234567"] {
        turn_off(&own, bad).await.expect_detail(400, INCORRECT);
    }
    for bad in [&*wrong, "nonsense", "-"].repeat(3) {
        expect_no_entry(&ann.try_code(&app.bearer, bad).await, INVALID);
    }
    // A code that was already used counts as a wrong one.
    expect_no_entry(&ann.try_code(&app.bearer, &login_code).await, INVALID);
    expect_too_many(&ann.try_code(&app.bearer, &wrong).await);
    expect_too_many(&turn_off(&own, &wrong).await);
    let used = &factor.recovery_codes[0];
    ann.log_in_with_code(&app.bearer, used).await;
    expect_no_entry(&ann.try_code(&app.bearer, used).await, INVALID);
    turn_off(&own, &factor.recovery_codes[1])
        .await
        .expect_message(OFF);
}

async fn wrong_codes_of_one_user_lock_out_no_other(setup: TestSetup) {
    let app = setup.start().await;
    let (ann, bob, eve) = (
        app.user("ann").await,
        app.user("bob").await,
        app.user("eve").await,
    );
    let factor = ann.turn_on_second_factor(&app.bearer).await;
    let of_bob = bob.turn_on_second_factor(&app.bearer).await;
    for _ in 0..10 {
        expect_no_entry(
            &ann.try_code(&app.bearer, &factor.totp.wrong()).await,
            INVALID,
        );
    }
    expect_too_many(&ann.try_code(&app.bearer, &factor.next_code()).await);
    bob.log_in_with_code(&app.bearer, &of_bob.next_code()).await;
    app.try_log_in("eve", &eve.password).await.expect(200);
    // A user who cannot wait asks an admin, because the count disappears with the second factor.
    let admin = app.admin().await;
    let path = format!("/users/{}/second-factor", ann.id);
    let removed = app.bearer.with_token(&admin.token).delete(&path).await;
    removed.expect_message(OFF);
    let ann = TestUser::log_in(&app.bearer, "ann", &ann.password).await;
    let factor = ann.turn_on_second_factor(&app.bearer).await;
    ann.log_in_with_code(&app.bearer, &factor.next_code()).await;
}
