//! The cookie of the sign-in page, at `/authorize` and in Envoy's `Check`, which must answer alike.
//!
//! Each request is a `Browser`, which `browser` sends to both kinds of proxies. `application` and
//! `domain` have the kinds of sessions, `several` has several cookies at once, and `cookie_only`
//! has applications that use `Authorization` themselves. `changes` has cross-site requests, and
//! `walks` takes random walks of people through the page.

mod application;
pub(crate) mod browser;
mod changes;
mod cookie_only;
mod domain;
mod several;
mod walks;

use crate::{api_keys::create_key, audit::audit, sessions::create_session};
use browser::{Browser, Proxies, new_session, sign_out};
use e2e::{
    TestApp, TestResponse, TestSetup, TestUser, eventually, for_all_deployments,
    for_one_deployment, for_split_deployments, for_two_deployments,
};
use reqwest::Method;
use serde_json::json;

for_all_deployments!(a_session_in_a_cookie_is_read_live);
for_two_deployments!(
    a_cookie_holds_one_session_and_nothing_else,
    denials_name_the_session_or_the_user_in_the_audit_log,
    a_change_that_another_page_may_have_caused_is_in_the_audit_log,
);
for_one_deployment!(
    a_person_is_led_to_the_page_and_a_program_is_not,
    a_refused_person_gets_a_page_from_both_and_nobody_else_does,
    credentials_beside_a_cookie_count_as_without_it,
    without_the_page_cookies_and_navigations_are_nothing,
);
for_split_deployments!(an_outage_leads_nobody_to_the_page);

const PAGE: &str = "/sign-in?return=%2Freports%3Fmonth%3D5";
const DOMAIN_PAGE: &str =
    "https://auth.example.org/sign-in?return=https%3A%2F%2Fapp.example.org%2Freports%3Fmonth%3D5";

fn for_domain(setup: TestSetup) -> TestSetup {
    let setup = setup.with("COOKIE_DOMAIN", "example.org");
    let setup = setup.with("RETURN_ORIGINS", "https://other.example.org");
    setup.with("SIGN_IN_URL", "https://auth.example.org/sign-in")
}

/// Starts a deployment, creates the user ann, and creates a session for her cookie.
async fn start(setup: TestSetup) -> (TestApp, Proxies, TestUser, String) {
    let app = setup.start().await;
    let ann = app.user("ann").await;
    let session = new_session(&app, &ann, false).await;
    let proxies = Proxies::of(&app).await;
    (app, proxies, ann, session)
}

async fn a_session_in_a_cookie_is_read_live(setup: TestSetup) {
    let app = for_domain(setup).start().await;
    let (admin, ann) = (app.admin().await, app.user("ann").await);
    let as_admin = app.bearer.with_token(&admin.token);
    let proxies = Proxies::of(&app).await;
    let session = new_session(&app, &ann, true).await;
    for role in ["author", "admin", "user"] {
        app.set_role(&admin, &ann, role).await.expect(200);
        let browser = Browser::navigation().cookie(&session);
        for roles in ["*", role, "user,author,admin"] {
            proxies.ask_for(roles, &browser).await.expect_passed(role);
        }
        let others: Vec<_> = ["user", "author", "admin"]
            .into_iter()
            .filter(|it| *it != role)
            .collect();
        let denied = proxies.ask_for(&others.join(","), &browser).await;
        denied.expect_refused(403, "ROLE_INSUFFICIENT");
    }
    let ended = async |session: &str| {
        let program = proxies.ask(&Browser::get().cookie(session)).await;
        program.expect_refused(401, "TOKEN_INVALID");
        proxies
            .ask(&Browser::navigation().cookie(session))
            .await
            .expect_led(DOMAIN_PAGE);
    };
    sign_out(&app, &session).await;
    ended(&session).await;
    let good = async || {
        let session = new_session(&app, &ann, true).await;
        proxies
            .ask(&Browser::get().cookie(&session))
            .await
            .expect_passed("user");
        session
    };
    // A logout of all tokens, an admin, and the user's other sessions end the session, too.
    let session = good().await;
    app.bearer.with_token(&ann.token).log_out().await;
    ended(&session).await;
    let session = good().await;
    as_admin
        .delete(&format!("/users/{}/sessions", ann.id))
        .await
        .expect(200);
    ended(&session).await;
    let session = good().await;
    let (page, made) = create_session(&app.bearer, "ann", &ann.password).await;
    let own = app.bearer.with_token(&page);
    let listed = own.get("/profile/sessions").await.expect(200).json()["sessions"].clone();
    assert_eq!(
        (listed[0]["current"].clone(), &listed[1]["id"]),
        (json!(false), &made["id"])
    );
    own.delete(&format!("/profile/sessions/{}", listed[0]["id"]))
        .await
        .expect(200);
    ended(&session).await;
    for disabled in [true, false] {
        let session = if disabled {
            good().await
        } else {
            session.clone()
        };
        let body = json!({ "disabled": disabled });
        let update = as_admin
            .request(Method::PATCH, &format!("/users/{}", ann.id))
            .json(&body);
        app.bearer.send(update).await.expect(200);
        ended(&session).await;
    }
    let session = good().await;
    as_admin
        .delete(&format!("/users/{}", ann.id))
        .await
        .expect(200);
    ended(&session).await;
}

async fn a_cookie_holds_one_session_and_nothing_else(setup: TestSetup) {
    let (app, proxies, ann, session) = start(setup).await;
    let key = create_key(
        &app.bearer.with_token(&ann.token),
        &json!({ "name": "export" }),
    )
    .await
    .0;
    let domain = new_session(&app, &ann, true).await;
    let own = format!("__Host-rolegate={session}");
    for cookie in ["", "a=b; ", "a=\"x; ", ";; ", "__Host-rolegatex=a; "] {
        for after in ["", "; c=d", ";"] {
            let browser = Browser::get().with("cookie", &format!("{cookie}{own}{after}"));
            proxies.ask(&browser).await.expect_passed("user");
        }
    }
    let several = Browser::get()
        .with("cookie", "a=b")
        .cookie(&session)
        .with("cookie", "c=d");
    proxies.ask(&several).await.expect_passed("user");
    let long = format!("{session}{}", "A".repeat(8_000));
    for (value, reason) in [
        (&ann.token, "NOT_AUTHENTICATED"),
        (&key, "NOT_AUTHENTICATED"),
        (&domain, "NOT_AUTHENTICATED"),
        (&long, "NOT_AUTHENTICATED"),
        (&format!("\"{session}\""), "NOT_AUTHENTICATED"),
        (&session.to_uppercase(), "NOT_AUTHENTICATED"),
        (&String::new(), "NOT_AUTHENTICATED"),
        (&format!("{session}="), "TOKEN_INVALID"),
        (&session[..46].to_owned(), "TOKEN_INVALID"),
        (&format!("rgs_{}", "A".repeat(43)), "TOKEN_INVALID"),
        (&session.replacen("rgs_", "rgs_rgs_", 1), "TOKEN_INVALID"),
    ] {
        let cookie = format!("__Host-rolegate={value}");
        let program = proxies.ask(&Browser::get().with("cookie", &cookie)).await;
        program.expect_refused(401, reason);
        proxies
            .ask(&Browser::navigation().with("cookie", &cookie))
            .await
            .expect_led(PAGE);
    }
    for name in [
        "__host-rolegate",
        "rolegate",
        "__Secure-rolegate",
        "x__Host-rolegate",
        "__Host-rolegate-console",
    ] {
        let cookie = format!("{name}={session}");
        let other = proxies.ask(&Browser::get().with("cookie", &cookie)).await;
        other.expect_refused(401, "NOT_AUTHENTICATED");
    }
}

async fn a_person_is_led_to_the_page_and_a_program_is_not(setup: TestSetup) {
    let (_app, proxies, ..) = start(setup).await;
    for browser in [
        Browser::navigation(),
        Browser::navigation().with("accept", "application/json"),
        Browser::get().with("accept", "text/html,application/xhtml+xml"),
        Browser::navigation().with("referer", "https://app.example.org/edit"),
    ] {
        proxies.ask(&browser).await.expect_led(PAGE);
        proxies.ask_for("admin", &browser).await.expect_led(PAGE);
    }
    for browser in [
        Browser::get(),
        Browser::get().with("accept", "*/*"),
        Browser::get().with("accept", "application/json"),
        Browser::get()
            .with("sec-fetch-mode", "cors")
            .with("accept", "text/html"),
        Browser::get().with("sec-fetch-mode", "same-origin"),
        Browser::navigation().with("sec-fetch-mode", "navigate"),
        // This is the sign-in page itself, which the proxy should have passed without asking.
        Browser {
            path: "/sign-in",
            ..Browser::navigation()
        },
        Browser {
            path: "/sign-in?return=%2F",
            ..Browser::navigation()
        },
    ] {
        let answer = proxies.ask(&browser).await;
        answer.expect_refused(401, "NOT_AUTHENTICATED");
        let modes = browser
            .headers
            .iter()
            .filter(|(name, _)| *name == "sec-fetch-mode");
        let is_of_page = modes.count() > 0;
        // A browser must not open its password dialog in the middle of a page, nor for a person who
        // has a page to sign in at.
        let expected = if is_of_page {
            &["Bearer"][..]
        } else {
            &["Basic realm=\"Rolegate\"", "Bearer"]
        };
        assert_eq!(answer.challenges, expected, "{browser:?}");
    }
    let hostile = Browser {
        path: "//evil.example/?a=b&return=c",
        ..Browser::navigation()
    };
    let page = "/sign-in?return=%2F%2Fevil.example%2F%3Fa%3Db%26return%3Dc";
    proxies.ask(&hostile).await.expect_led(page);
}

async fn a_refused_person_gets_a_page_from_both_and_nobody_else_does(setup: TestSetup) {
    let app = for_domain(setup).start().await;
    let ann = app.user("ann <i>").await;
    let session = new_session(&app, &ann, true).await;
    let proxies = Proxies::of(&app).await;
    let back = "https%3A%2F%2Fapp.example.org%2Freports%3Fmonth%3D5";
    let denied = proxies
        .ask_for("admin", &Browser::navigation().cookie(&session))
        .await;
    denied.expect_refused(403, "ROLE_INSUFFICIENT");
    for part in [
        "signed in as <strong>ann &lt;i&gt;</strong>, who may not open this page",
        &format!(r#"href="https://auth.example.org/sign-in?return={back}" target="_top""#),
        &format!(r#"href="https://auth.example.org/sign-out?return={back}" target="_top""#),
        r#"href="https://auth.example.org/sign-in/base.css""#,
    ] {
        denied.expect_text(part);
    }
    let token = format!("Bearer {}", ann.token);
    let post = Browser {
        method: "POST",
        ..Browser::navigation()
    };
    for (browser, reason) in [
        (Browser::get().cookie(&session), "ROLE_INSUFFICIENT"),
        (
            Browser::get()
                .cookie(&session)
                .with("sec-fetch-mode", "cors"),
            "ROLE_INSUFFICIENT",
        ),
        (
            Browser::navigation().with("authorization", &token),
            "ROLE_INSUFFICIENT",
        ),
        (
            Browser::navigation()
                .cookie(&session)
                .with("authorization", &token),
            "ROLE_INSUFFICIENT",
        ),
        (post.cookie(&session), "CROSS_SITE"),
    ] {
        let denied = proxies.ask_for("admin", &browser).await;
        denied.expect_refused(403, reason);
        denied.expect_text(r#"{"detail":"#);
    }
}

async fn credentials_beside_a_cookie_count_as_without_it(setup: TestSetup) {
    let (app, proxies, _, session) = start(setup).await;
    let admin = app.admin().await;
    let with = |authorization: &str| {
        let browser = Browser {
            method: "POST",
            ..Browser::navigation()
        };
        browser
            .with("authorization", authorization)
            .cookie(&session)
    };
    proxies
        .ask(&with(&format!("Bearer {}", admin.token)))
        .await
        .expect_passed("admin");
    for (authorization, reason) in [
        ("Bearer bad", "TOKEN_INVALID"),
        ("Basic YW5uOng=", "CREDENTIALS_INVALID"),
        ("Digest x", "NOT_AUTHENTICATED"),
        ("Bearer", "NOT_AUTHENTICATED"),
        ("", "NOT_AUTHENTICATED"),
    ] {
        let answer = proxies.ask(&with(authorization)).await;
        answer.expect_refused(401, reason);
        assert_eq!(answer.challenges.len(), 1, "a navigation: {answer:?}");
        let program = Browser::get().with("authorization", authorization);
        let answer = proxies.ask(&program).await;
        answer.expect_refused(401, reason);
        assert_eq!(answer.challenges.len(), 2, "a program: {answer:?}");
    }
    let twice = with("Bearer bad").with("authorization", &format!("Bearer {}", admin.token));
    proxies
        .ask(&twice)
        .await
        .expect_refused(401, "NOT_AUTHENTICATED");
}

async fn without_the_page_cookies_and_navigations_are_nothing(setup: TestSetup) {
    let (_app, proxies, _, session) = start(setup.with("SIGN_IN", "off")).await;
    let nobody = proxies.ask(&Browser::get()).await;
    nobody.expect_refused(401, "NOT_AUTHENTICATED");
    for browser in [
        Browser::navigation(),
        Browser::navigation().cookie(&session),
        Browser {
            method: "POST",
            ..Browser::navigation().cookie(&session)
        },
        Browser::navigation().cookie(&session).cookie(&session),
    ] {
        assert_eq!(proxies.ask(&browser).await, nobody);
    }
    let bearer = Browser::get().with("authorization", &format!("Bearer {session}"));
    proxies.ask(&bearer).await.expect_passed("user");
}

async fn denials_name_the_session_or_the_user_in_the_audit_log(setup: TestSetup) {
    let setup = for_domain(setup)
        .with("LOG_FORMAT", "json")
        .with("RUST_LOG", "off");
    let app = setup.start().await;
    let ann = app.user("ann").await;
    let session = new_session(&app, &ann, true).await;
    let proxies = Proxies::of(&app).await;
    for _ in 0..3 {
        let denied = proxies
            .ask_for("admin", &Browser::get().cookie(&session))
            .await;
        denied.expect_refused(403, "ROLE_INSUFFICIENT");
    }
    let of_gateway = audit(app.gateway(), "access_denied", 1).await;
    let line = of_gateway
        .iter()
        .find(|line| line["route"] == "/authorize")
        .expect("a line");
    assert_eq!(
        (&line["session"], &line["required_roles"]),
        (&json!(session[..8]), &json!("admin"))
    );
    let line = eventually("the line of auth-service", async || {
        let lines = audit(app.auth(), "access_denied", 1).await;
        lines
            .into_iter()
            .find(|line| line["route"] == "app.example.org/reports")
    });
    let line = line.await;
    assert_eq!(
        (&line["actor_id"], &line["actor"]),
        (&json!(ann.id), &json!("ann"))
    );
    for process in app.processes() {
        assert!(!process.stderr().contains(&session), "{}", process.stderr());
    }
}

async fn a_change_that_another_page_may_have_caused_is_in_the_audit_log(setup: TestSetup) {
    let setup = setup.with("LOG_FORMAT", "json").with("RUST_LOG", "off");
    let (app, proxies, _, session) = start(setup).await;
    let change = Browser {
        method: "POST",
        ..Browser::get().cookie(&session)
    };
    let change = change.with("sec-fetch-site", "cross-site");
    for _ in 0..3 {
        let refused = proxies.ask_for("admin", &change).await;
        refused.expect_refused(403, "CROSS_SITE");
    }
    for (process, route) in [
        (app.gateway(), "/authorize"),
        (app.auth(), "app.example.org/reports"),
    ] {
        let lines = eventually("the line", async || {
            let lines = audit(process, "access_denied", 1).await;
            let of_route: Vec<_> = lines
                .into_iter()
                .filter(|line| line["route"] == route)
                .collect();
            (!of_route.is_empty()).then_some(of_route)
        });
        let lines = lines.await;
        let [line] = &lines[..] else {
            panic!("once a minute: {lines:?}");
        };
        assert_eq!(
            (&line["reason"], &line["required_roles"]),
            (&json!("CROSS_SITE"), &json!("admin"))
        );
        // The session was not looked up, so the line does not name the actor.
        for name in ["actor", "actor_id", "session"] {
            assert_eq!(line.get(name), None, "{line}");
        }
    }
    for process in app.processes() {
        assert!(!process.stderr().contains(&session), "{}", process.stderr());
    }
}

async fn an_outage_leads_nobody_to_the_page(setup: TestSetup) {
    let (mut app, proxies, _, session) = start(setup).await;
    app.kill_auth().await;
    let request = proxies.forward.request(Method::GET, "/authorize");
    let request = request.header("cookie", format!("__Host-rolegate={session}"));
    let request = request
        .header("x-forwarded-method", "GET")
        .header("sec-fetch-mode", "navigate");
    let down: TestResponse = proxies.forward.send(request).await;
    down.expect_detail(503, "Service temporarily unavailable.")
        .expect_retry_after();
    down.expect_header("location", None);
}
