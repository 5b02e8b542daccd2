//! Pending sign-ins, whose password was right and whose code is still missing: what they are good
//! for, at which host, and until when.

use super::{
    ENDED as TOKEN_ENDED, INVALID, OFF, confirm,
    sign_in_page::{
        ENDED, begin, expect_page, expect_refused, pending_of, send_code, send_password,
    },
    turn_off, two_replicas,
};
use crate::sign_in::{HTTPS, OWN_PAGE, cookie_of, get};
use e2e::{
    Api, SecondFactor, Store, TestApp, TestSetup, TestUser, for_both_stores, for_one_deployment,
    for_two_deployments,
};
use reqwest::Method;
use serde_json::json;

for_both_stores!(
    a_half_sign_in_goes_on_at_another_replica_and_is_used_up_at_all,
    of_two_right_codes_for_a_half_sign_in_at_the_same_moment_one_counts,
    wrong_codes_for_half_sign_ins_at_two_replicas_at_once_have_one_count,
    a_half_sign_in_ends_after_five_minutes_by_the_clock_of_the_database,
);
for_two_deployments!(
    what_ends_tokens_or_the_second_factor_ends_a_half_sign_in,
    a_half_sign_in_is_no_credential,
    a_copy_of_the_database_has_no_half_sign_in,
);
for_one_deployment!(
    a_half_sign_in_is_good_at_its_own_host_only_and_for_no_more_than_that,
    a_half_sign_in_takes_only_codes_of_its_user,
    somebody_who_is_signed_in_stays_so_until_another_has_signed_in,
);

const ROUNDS: usize = 5;

/// Returns how many sessions there are, for applications and for the API.
async fn count_sessions(app: &TestApp) -> usize {
    let sessions = "SELECT 1 FROM api_key WHERE session_user_id IS NOT NULL";
    app.database.count_rows(sessions).await
}

async fn a_half_sign_in_goes_on_at_another_replica_and_is_used_up_at_all(store: Store) {
    let (app, _other, [here, there]) = two_replicas(TestSetup::all_in_one(store)).await;
    let ann = app.user("ann").await;
    let factor = ann.turn_on_second_factor(&here).await;
    for (number, (first, second)) in [(&here, &there), (&there, &here)].into_iter().enumerate() {
        // Both replicas are behind one proxy, so the page has the same address at each.
        let host = &HTTPS[..];
        let page = send_password(first, "ann", &ann.password, host).await;
        let pending = pending_of(&page);
        let wrong = send_code(second, &pending, &factor.totp.wrong(), host).await;
        expect_refused(&wrong, "OTP_INVALID", INVALID);
        cookie_of(&send_code(second, &pending, &factor.recovery_codes[number], host).await);
        for api in [first, second] {
            let again = send_code(api, &pending, &factor.recovery_codes[9], host).await;
            expect_refused(&again, "TOKEN_INVALID", ENDED);
        }
    }
}

async fn of_two_right_codes_for_a_half_sign_in_at_the_same_moment_one_counts(store: Store) {
    let (app, _other, [here, there]) = two_replicas(TestSetup::all_in_one(store)).await;
    let ann = app.user("ann").await;
    let factor = ann.turn_on_second_factor(&here).await;
    for (round, codes) in factor.recovery_codes.chunks(2).take(ROUNDS).enumerate() {
        let before = count_sessions(&app).await;
        let page = send_password(&here, "ann", &ann.password, &HTTPS).await;
        let pending = pending_of(&page);
        let (one, other) = tokio::join!(
            send_code(&here, &pending, &codes[0], &HTTPS),
            send_code(&there, &pending, &codes[1], &HTTPS)
        );
        let (good, refused) = if one.status == 303 {
            (one, other)
        } else {
            (other, one)
        };
        cookie_of(&good);
        expect_refused(&refused, "TOKEN_INVALID", ENDED);
        // One sign-in creates two sessions.
        assert_eq!(count_sessions(&app).await, before + 2, "round {round}");
    }
}

/// Sends more wrong codes than may be tried, all at once at two replicas. Returns how many were
/// tried.
async fn guess(apis: &[Api; 2], pending: &[String; 2], factor: &SecondFactor) -> usize {
    let guesses = (0..30).map(|number| {
        let (api, otp) = (apis[number % 2].clone(), factor.totp.wrong());
        let pending = pending[number / 2 % 2].clone();
        tokio::spawn(async move { send_code(&api, &pending, &otp, &HTTPS).await })
    });
    let mut tried = 0;
    for guess in guesses.collect::<Vec<_>>() {
        let response = guess.await.expect("it was answered");
        if response.status == 401 {
            expect_refused(&response, "OTP_INVALID", INVALID);
            tried += 1;
        } else {
            response.expect(429);
            let wait = "Too many attempts, try again later. You can try again in 60 min.";
            expect_page(&response, wait, true);
        }
    }
    tried
}

async fn wrong_codes_for_half_sign_ins_at_two_replicas_at_once_have_one_count(store: Store) {
    let (app, _other, apis) = two_replicas(TestSetup::all_in_one(store)).await;
    let ann = app.user("ann").await;
    let factor = ann.turn_on_second_factor(&app.bearer).await;
    let begin = async |api| pending_of(&send_password(api, "ann", &ann.password, &HTTPS).await);
    let pending = [begin(&apis[0]).await, begin(&apis[1]).await];
    assert_eq!(guess(&apis, &pending, &factor).await, 10);
    // All other sign-ins of the user share this count.
    let full = ann.try_code(&app.bearer, &factor.next_code()).await;
    full.expect_detail(429, "Too many attempts, try again later.");
    let full = send_code(&apis[0], &pending[0], &factor.next_code(), &HTTPS).await;
    full.expect(429);
    cookie_of(&send_code(&apis[1], &pending[0], &factor.recovery_codes[0], &HTTPS).await);
}

async fn a_half_sign_in_ends_after_five_minutes_by_the_clock_of_the_database(store: Store) {
    let app = TestSetup::all_in_one(store).start().await;
    let ann = app.user("ann").await;
    let factor = ann.turn_on_second_factor(&app.bearer).await;
    let [first, second] = [
        begin(&app.bearer, &ann).await,
        begin(&app.bearer, &ann).await,
    ];
    // After this statement, four minutes have passed.
    let wait = "UPDATE pending_sign_in SET expires_at = expires_at - 240";
    app.database.execute(wait).await;
    cookie_of(&send_code(&app.bearer, &first, &factor.recovery_codes[0], &[]).await);
    let wait = "UPDATE pending_sign_in SET expires_at = expires_at - 60";
    app.database.execute(wait).await;
    let late = send_code(&app.bearer, &second, &factor.recovery_codes[1], &[]).await;
    expect_refused(&late, "TOKEN_INVALID", ENDED);
    ann.log_in_with_code(&app.bearer, &factor.recovery_codes[1])
        .await;
}

async fn what_ends_tokens_or_the_second_factor_ends_a_half_sign_in(setup: TestSetup) {
    let app = setup.start().await;
    let admin = app.admin().await;
    let as_admin = app.bearer.with_token(&admin.token);
    for way in [
        "new password",
        "link",
        "revocation",
        "logout",
        "disabled",
        "disabled and enabled",
        "second factor off",
        "second factor anew",
        "deleted",
    ] {
        let mut ann = app.user(way).await;
        let factor = ann.turn_on_second_factor(&app.bearer).await;
        let own = ann
            .log_in_with_code(&app.bearer, &factor.recovery_codes[0])
            .await;
        let own = app.bearer.with_token(&own.token);
        let pending = begin(&app.bearer, &ann).await;
        let path = format!("/users/{}", ann.id);
        let disable = async |disabled: bool| {
            let request = app.bearer.request(Method::PATCH, &path);
            let request = request.bearer_auth(&admin.token);
            let body = json!({ "disabled": disabled });
            app.bearer.send(request.json(&body)).await.expect(200);
        };
        let mut code = factor.recovery_codes[1].clone();
        match way {
            "new password" => {
                let new = json!({ "password": "a new sesame" });
                let set = as_admin.put(&format!("{path}/password"), &new).await;
                set.expect(200);
            }
            "link" => {
                let link = as_admin
                    .post(&format!("{path}/password-link"), &json!({}))
                    .await;
                let link = link.expect(201).json();
                let token = link["url"].as_str().and_then(|url| url.split('#').nth(1));
                let chosen = json!({ "token": token, "password": "a new sesame" });
                app.bearer.put("/password", &chosen).await.expect(200);
            }
            "revocation" => {
                as_admin.delete(&format!("{path}/tokens")).await.expect(200);
            }
            "logout" => own.log_out().await,
            "disabled" => disable(true).await,
            "disabled and enabled" => {
                disable(true).await;
                disable(false).await;
            }
            "second factor off" => {
                let off = as_admin.delete(&format!("{path}/second-factor")).await;
                off.expect_message(OFF);
            }
            "second factor anew" => {
                turn_off(&own, &code).await.expect_message(OFF);
                ann = TestUser::log_in(&app.bearer, way, &ann.password).await;
                let anew = ann.turn_on_second_factor(&app.bearer).await;
                code.clone_from(&anew.recovery_codes[0]);
            }
            _ => {
                as_admin.delete(&path).await.expect(200);
            }
        }
        let before = count_sessions(&app).await;
        let refused = send_code(&app.bearer, &pending, &code, &[]).await;
        expect_refused(&refused, "TOKEN_INVALID", ENDED);
        assert_eq!(count_sessions(&app).await, before, "{way}");
    }
}

async fn a_half_sign_in_is_no_credential(setup: TestSetup) {
    let app = setup.start().await;
    let ann = app.user("ann").await;
    let factor = ann.turn_on_second_factor(&app.bearer).await;
    let pending = begin(&app.bearer, &ann).await;
    for path in ["/me", "/profile", "/profile/second-factor"] {
        let as_token = app.bearer.with_token(&pending).get(path).await;
        as_token.expect_detail(401, TOKEN_ENDED);
    }
    let otp = factor.recovery_codes[0].clone();
    for path in ["/login", "/sessions"] {
        let body = json!({ "username": "ann", "password": pending, "otp": otp });
        let refused = app.bearer.post(path, &body).await;
        refused.expect_detail(401, "Invalid username or password.");
        let with_field = json!({ "username": "ann", "password": "wrong", "pending_sign_in": pending, "otp": otp });
        app.bearer.post(path, &with_field).await.expect(401);
        let asked = json!({ "username": "ann", "password": ann.password, "place": "here" });
        let asked = app.bearer.post(path, &asked).await;
        asked.expect_detail(401, "One-time code required.");
        assert!(!asked.body.contains("rgp_"), "{asked}");
    }
    for name in ["rolegate", "rolegate-console"] {
        let cookie = format!("{name}={pending}");
        let me = get(&app.bearer, "/me", &[OWN_PAGE, ("cookie", &cookie)]).await;
        me.expect(401);
    }
    let link = json!({ "token": pending, "password": "a new sesame" });
    app.bearer.put("/password", &link).await.expect(400);
    let basic = app.basic.with_basic("ann", &pending);
    basic.get("/protected").await.expect(401);
    for garbage in [
        "",
        "rgp_",
        "x",
        &pending[..46],
        &format!("{pending}A"),
        &pending.replace("rgp_", "rgs_"),
    ] {
        let refused = send_code(&app.bearer, garbage, &otp, &[]).await;
        expect_refused(&refused, "TOKEN_INVALID", ENDED);
    }
    // None of these requests used up the code or the pending sign-in.
    cookie_of(&send_code(&app.bearer, &pending, &otp, &[]).await);
}

async fn a_copy_of_the_database_has_no_half_sign_in(setup: TestSetup) {
    let app = setup.start().await;
    let ann = app.user("ann").await;
    ann.turn_on_second_factor(&app.bearer).await;
    let pending = begin(&app.bearer, &ann).await;
    let copy = app.database.copy_of_users().await;
    let contains = |text: &str| copy.windows(text.len()).any(|it| it == text.as_bytes());
    assert!(contains("ann"));
    assert!(!contains(&pending) && !contains(&pending[4..]));
}

async fn a_half_sign_in_is_good_at_its_own_host_only_and_for_no_more_than_that(setup: TestSetup) {
    let app = setup.start().await;
    let ann = app.user("ann").await;
    let factor = ann.turn_on_second_factor(&app.bearer).await;
    let of_application = ("rolegate-page", "application");
    let other = [("host", "app.example.org"), HTTPS[1]];
    let at_application = [&HTTPS[..], &[of_application]].concat();
    let places = [&HTTPS[..], &other, &at_application, &[]];
    for (number, here) in places.into_iter().enumerate() {
        let page = send_password(&app.bearer, "ann", &ann.password, here).await;
        let pending = pending_of(&page);
        let code = &factor.recovery_codes[number];
        for there in places {
            if there != here {
                let refused = send_code(&app.bearer, &pending, code, there).await;
                expect_refused(&refused, "TOKEN_INVALID", ENDED);
            }
        }
        send_code(&app.bearer, &pending, code, here)
            .await
            .expect(303);
    }
}

async fn a_half_sign_in_takes_only_codes_of_its_user(setup: TestSetup) {
    let app = setup.start().await;
    let (ann, bob) = (app.user("ann").await, app.user("bob").await);
    let of_ann = ann.turn_on_second_factor(&app.bearer).await;
    let of_bob = bob.turn_on_second_factor(&app.bearer).await;
    let pending = begin(&app.bearer, &bob).await;
    // The form names ann, but the pending sign-in belongs to bob.
    for code in [of_ann.next_code(), of_ann.recovery_codes[0].clone()] {
        let refused = send_code(&app.bearer, &pending, &code, &[]).await;
        expect_refused(&refused, "OTP_INVALID", INVALID);
    }
    let cookie = cookie_of(&send_code(&app.bearer, &pending, &of_bob.next_code(), &[]).await);
    let me = get(&app.bearer, "/me", &[OWN_PAGE, ("cookie", &cookie)]).await;
    assert_eq!(me.expect(200).json()["username"], "bob");
    // The codes of ann are not used up.
    ann.log_in_with_code(&app.bearer, &of_ann.recovery_codes[0])
        .await;
}

async fn somebody_who_is_signed_in_stays_so_until_another_has_signed_in(setup: TestSetup) {
    let app = setup.start().await;
    let (ann, bob) = (app.user("ann").await, app.user("bob").await);
    let factor = ann.turn_on_second_factor(&app.bearer).await;
    let of_bob = cookie_of(&send_password(&app.bearer, "bob", &bob.password, &[]).await);
    let with_cookie = [("cookie", of_bob.as_str())];
    let name = async |cookie: &str| {
        let me = get(&app.bearer, "/me", &[OWN_PAGE, ("cookie", cookie)]).await;
        me.json()["username"].as_str().map(str::to_owned)
    };
    let page = send_password(&app.bearer, "ann", &ann.password, &with_cookie).await;
    let pending = pending_of(&page);
    let wrong = send_code(&app.bearer, &pending, &factor.totp.wrong(), &with_cookie).await;
    expect_refused(&wrong, "OTP_INVALID", INVALID);
    assert_eq!(name(&of_bob).await.as_deref(), Some("bob"));
    let done = send_code(&app.bearer, &pending, &factor.next_code(), &with_cookie).await;
    let of_ann = cookie_of(&done);
    assert_eq!(name(&of_ann).await.as_deref(), Some("ann"));
    assert_eq!(name(&of_bob).await, None, "the session before has ended");
    // Without a cookie there was no session to end, and the code cannot be sent again.
    let again = send_code(&app.bearer, &pending, &factor.recovery_codes[0], &[]).await;
    expect_refused(&again, "TOKEN_INVALID", ENDED);
    confirm(&app.bearer.with_token(&pending), "000000")
        .await
        .expect(401);
}
