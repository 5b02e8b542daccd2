//! Sessions for applications. They are in the cookie of a host, whose application can read it, so
//! they are accepted only from cookies.

use super::browser::{Browser, Proxies, new_session};
use crate::{
    second_factor::two_replicas,
    sessions::create_session,
    sign_in::{OWN_PAGE, decide, form_of, get, hashes, submit},
};
use e2e::{
    Api, Store, TestApp, TestResponse, TestSetup, TestUser, for_both_stores, for_two_deployments,
    until_served,
};
use reqwest::Method;
use serde_json::json;

for_both_stores!(
    an_application_cookie_is_no_token_of_the_api_at_any_replica,
    a_session_from_before_is_restricted_at_all_replicas_when_a_cookie_first_presents_it,
);
for_two_deployments!(a_sign_in_to_the_console_makes_two_sessions_that_people_see_as_one);

const ENDED: &str = "Invalid or expired token.";

/// Returns the names and sessions of the cookies that a sign-in set, in their order.
fn sessions_of(response: &TestResponse) -> Vec<(String, String)> {
    let set = response.expect(303).headers.get_all("set-cookie").iter();
    let pair = |it: &reqwest::header::HeaderValue| {
        let line = it.to_str().expect("visible ASCII");
        let (name, value) = line.split(';').next()?.split_once('=')?;
        Some((name.to_owned(), value.to_owned()))
    };
    set.map(|it| pair(it).expect("a cookie")).collect()
}

async fn sign_in(api: &Api, user: &TestUser, back: &str) -> Vec<(String, String)> {
    let form = form_of(&user.username, &user.password, back);
    sessions_of(&submit(api, "/sign-in", &form, &[OWN_PAGE]).await)
}

/// Asserts that no endpoint accepts the session as a token, whatever its user may do.
async fn expect_no_token(api: &Api, session: &str, id: i64) {
    let bearer = api.with_token(session);
    for path in [
        "/me",
        "/profile",
        "/users",
        "/audit",
        "/profile/keys",
        "/profile/sessions",
    ] {
        bearer.get(path).await.expect_detail(401, ENDED);
    }
    for (method, path) in [
        (Method::POST, "/logout".to_owned()),
        (Method::POST, "/profile/keys".to_owned()),
        (Method::PUT, "/profile/password".to_owned()),
        (Method::POST, "/profile/second-factor".to_owned()),
        (Method::DELETE, "/profile/sessions".to_owned()),
        (Method::PUT, format!("/users/{id}/role")),
        (Method::POST, "/posts".to_owned()),
    ] {
        let request = bearer.request(method, &path).json(&json!({}));
        api.send(request).await.expect_detail(401, ENDED);
    }
    for name in ["rolegate", "rolegate-console"] {
        let cookie = format!("{name}={session}");
        let response = get(api, "/me", &[OWN_PAGE, ("cookie", &cookie)]).await;
        response.expect(401);
    }
}

async fn an_application_cookie_is_no_token_of_the_api_at_any_replica(store: Store) {
    let (mut app, _other, [here, there]) = two_replicas(TestSetup::all_in_one(store)).await;
    let ann = app.user_with_role("ann", "admin").await;
    let (_, session) = sign_in(&here, &ann, "/a").await.remove(0);
    for _ in 0..2 {
        for api in [&here, &there] {
            expect_no_token(api, &session, ann.id).await;
        }
        decide(&app, &session).await.expect("good in a cookie");
    }
    let forward = Api::at(&app.gateway().address("forward"));
    let form = forward
        .with_token(&ann.token)
        .request(Method::POST, "/introspect");
    let form = form
        .header("content-type", "application/x-www-form-urlencoded")
        .body(format!("token={session}"));
    forward
        .send(form)
        .await
        .expect_json(200, &json!({ "active": false }));
    app.kill_auth().await;
    app.start_auth(None).await;
    until_served(async || app.bearer.get("/public").await)
        .await
        .expect(200);
    expect_no_token(&app.bearer, &session, ann.id).await;
    decide(&app, &session).await.expect("good in a cookie");
}

async fn a_session_from_before_is_restricted_at_all_replicas_when_a_cookie_first_presents_it(
    store: Store,
) {
    let (mut app, _other, [here, there]) = two_replicas(TestSetup::all_in_one(store)).await;
    let ann = app.user("ann").await;
    let session = new_session(&app, &ann, false).await;
    let (of_program, _) = create_session(&here, "ann", &ann.password).await;
    // Programs of the previous version do not write this column.
    app.database
        .execute("UPDATE api_key SET cookie_only = (1 = 0), pair_id = NULL")
        .await;
    for api in [&here, &there] {
        for token in [&session, &of_program] {
            api.with_token(token).get("/me").await.expect(200);
        }
    }
    let proxies = Proxies::of(&app).await;
    // Neither a refused cookie nor a cookie of the console restricts the session.
    let change = Browser {
        method: "POST",
        ..Browser::get().cookie(&session)
    };
    proxies.ask(&change).await.expect_refused(403, "CROSS_SITE");
    let console = format!("rolegate-console={session}");
    get(&there, "/me", &[OWN_PAGE, ("cookie", &console)])
        .await
        .expect(200);
    let cookie = Browser::get().cookie(&session);
    proxies.ask(&cookie).await.expect_passed("user");
    for api in [&here, &there] {
        expect_no_token(api, &session, ann.id).await;
        api.with_token(&of_program).get("/me").await.expect(200);
    }
    proxies.ask(&cookie).await.expect_passed("user");
    app.kill_auth().await;
    app.start_auth(None).await;
    until_served(async || app.bearer.get("/public").await)
        .await
        .expect(200);
    expect_no_token(&app.bearer, &session, ann.id).await;
    Proxies::of(&app)
        .await
        .ask(&cookie)
        .await
        .expect_passed("user");
}

async fn listed(app: &TestApp, token: &str) -> Vec<serde_json::Value> {
    let listed = app.bearer.with_token(token).get("/profile/sessions").await;
    let listed = listed.expect(200).json();
    listed["sessions"].as_array().expect("sessions").clone()
}

#[expect(
    clippy::too_many_lines,
    reason = "one person after another at one browser"
)]
async fn a_sign_in_to_the_console_makes_two_sessions_that_people_see_as_one(setup: TestSetup) {
    let app = setup.start().await;
    let ann = app.user("ann").await;
    let before = hashes(&app).await;
    let made = sign_in(&app.bearer, &ann, "/console/").await;
    assert!((hashes(&app).await - before - 1.0).abs() < 0.1, "one hash");
    let [(console, of_console), (application, of_application)] = &made[..] else {
        panic!("two cookies: {made:?}");
    };
    assert_eq!(
        (&**console, &**application),
        ("rolegate-console", "rolegate")
    );
    assert_ne!(of_console, of_application);
    app.bearer
        .with_token(of_console)
        .get("/me")
        .await
        .expect(200);
    expect_no_token(&app.bearer, of_application, ann.id).await;
    decide(&app, of_application)
        .await
        .expect("good in a cookie");
    assert_eq!(app.database.count_rows("SELECT 1 FROM api_key").await, 2);
    let [only] = &listed(&app, of_console).await[..] else {
        panic!("one sign-in");
    };
    assert_eq!(only["current"], true);

    // This browser stays signed in when the console sets a new password and ends all other
    // sessions.
    let own = app.bearer.with_token(of_console);
    let passwords = json!({ "current_password": ann.password, "new_password": "another" });
    own.put("/profile/password", &passwords).await.expect(200);
    own.delete("/profile/sessions").await.expect(200);
    own.get("/me").await.expect(200);
    decide(&app, of_application)
        .await
        .expect("it follows its user");

    // The single entry in the list ends both sessions, and so do a logout and a sign-out.
    for end in ["entry", "logout", "sign-out"] {
        let ann = TestUser {
            password: "another".to_owned(),
            ..ann.clone()
        };
        let made = sign_in(&app.bearer, &ann, "/console/").await;
        let [(_, of_console), (_, of_application)] = &made[..] else {
            panic!("two cookies: {made:?}");
        };
        let own = app.bearer.with_token(of_console);
        match end {
            "entry" => {
                let id = listed(&app, of_console).await.pop().expect("an entry")["id"].clone();
                let (elsewhere, _) = create_session(&app.bearer, "ann", "another").await;
                let elsewhere = app.bearer.with_token(&elsewhere);
                let path = format!("/profile/sessions/{id}");
                elsewhere.delete(&path).await.expect(200);
            }
            "logout" => {
                own.post("/logout", &json!({})).await.expect(200);
            }
            _ => {
                let cookies = format!("rolegate-console={of_console}; rolegate={of_application}");
                let headers = [OWN_PAGE, ("cookie", cookies.as_str())];
                submit(&app.bearer, "/sign-out", "", &headers)
                    .await
                    .expect(303);
            }
        }
        own.get("/me").await.expect_detail(401, ENDED);
        assert!(decide(&app, of_application).await.is_err(), "{end}");
    }
    // Each of the two sessions ends both. A second person who signs in to the console replaces the
    // first one everywhere.
    let bob = app.user("bob").await;
    for presented in ["rolegate-console", "rolegate"] {
        let made = sign_in(&app.bearer, &bob, "/console/").await;
        let (_, half) = made
            .iter()
            .find(|(name, _)| name == presented)
            .expect("set");
        let cookie = format!("{presented}={half}");
        let headers = [OWN_PAGE, ("cookie", cookie.as_str())];
        submit(&app.bearer, "/sign-out", "", &headers)
            .await
            .expect(303);
        assert!(decide(&app, &made[1].1).await.is_err(), "{presented}");
        let console = app.bearer.with_token(&made[0].1);
        console.get("/me").await.expect_detail(401, ENDED);
    }
    let made = sign_in(&app.bearer, &bob, "/console/").await;
    let cookies = format!("rolegate-console={}; rolegate={}", made[0].1, made[1].1);
    let headers = [OWN_PAGE, ("cookie", cookies.as_str())];
    let form = form_of("ann", "another", "/console/");
    let second = sessions_of(&submit(&app.bearer, "/sign-in", &form, &headers).await);
    assert_eq!(second.len(), 2, "{second:?}");
    assert!(decide(&app, &made[1].1).await.is_err(), "bob has left");
    let decision = decide(&app, &second[1].1).await.expect("good in a cookie");
    assert_eq!(decision.into_inner().user.expect("a user").username, "ann");
    // The sign-in to the console leaves the session for applications alone, which belongs to the
    // person who is signed in at the same host.
    let taken = format!("rolegate={of_application}");
    let form = form_of("ann", "another", "/console/");
    let headers = [OWN_PAGE, ("cookie", taken.as_str())];
    let made = sessions_of(&submit(&app.bearer, "/sign-in", &form, &headers).await);
    assert_eq!(made.len(), 1, "{made:?}");
    decide(&app, of_application).await.expect("it goes on");
    // The console's session is still valid, although the unneeded session for applications was
    // ended.
    let console = app.bearer.with_token(&made[0].1);
    console.get("/me").await.expect(200);
}
