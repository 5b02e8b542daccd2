//! Proxies in front of applications that use `Authorization` for themselves: only the cookie
//! counts.

use super::{
    PAGE, audit,
    browser::{Browser, sign_out},
    start,
};
use crate::api_keys::create_key;
use base64::{Engine as _, engine::general_purpose::STANDARD};
use e2e::{
    TestSetup, eventually, ext_authz, for_all_deployments, for_one_deployment, for_two_deployments,
};
use serde_json::json;

for_all_deployments!(where_only_the_cookie_counts_authorization_says_nothing);
for_two_deployments!(a_denial_names_the_session_and_nobody_whom_authorization_names);
for_one_deployment!(unknown_credentials_of_a_proxy_admit_nobody_and_are_in_the_log);

async fn where_only_the_cookie_counts_authorization_says_nothing(setup: TestSetup) {
    let (app, proxies, ann, session) = start(setup).await;
    let admin = app.admin().await;
    let body = json!({ "name": "git" });
    let (key, _) = create_key(&app.bearer.with_token(&ann.token), &body).await;
    let basic = |password: &str| format!("Basic {}", STANDARD.encode(format!("ann:{password}")));
    for authorization in [
        format!("Bearer {}", admin.token),
        format!("Bearer {key}"),
        basic(&key),
        basic(&ann.password),
        basic("of the application"),
        "Digest x".to_owned(),
        String::new(),
    ] {
        let program = Browser::get()
            .credentials("cookie")
            .with("authorization", &authorization);
        let signed_in = program.clone().cookie(&session);
        proxies.ask(&signed_in).await.expect_passed("user");
        proxies
            .ask_for("admin", &signed_in)
            .await
            .expect_refused(403, "ROLE_INSUFFICIENT");
        let refused = proxies.ask(&program).await;
        refused.expect_refused(401, "NOT_AUTHENTICATED");
        assert_eq!(refused.challenges, ["Bearer"], "{authorization}");
        let person = Browser::navigation()
            .credentials("cookie")
            .with("authorization", &authorization);
        proxies.ask(&person).await.expect_led(PAGE);
        let change = Browser {
            method: "POST",
            ..signed_in.clone()
        };
        proxies.ask(&change).await.expect_refused(403, "CROSS_SITE");
        let own = change.with("sec-fetch-site", "same-origin");
        proxies.ask(&own).await.expect_passed("user");
    }
    sign_out(&app, &session).await;
    let ended = Browser::get().credentials("cookie").cookie(&session);
    let ended = ended.with("authorization", &format!("Bearer {}", admin.token));
    let refused = proxies.ask(&ended).await;
    refused.expect_refused(401, "TOKEN_INVALID");
    assert_eq!(refused.challenges, ["Bearer error=\"invalid_token\""]);
}

async fn a_denial_names_the_session_and_nobody_whom_authorization_names(setup: TestSetup) {
    let (app, proxies, ann, session) = start(setup.with("LOG_FORMAT", "json")).await;
    let admin = app.admin().await;
    // The token has the claims of the admin, and a signature that is not from Rolegate.
    let claims = admin.token.rsplit_once('.').expect("a signature").0;
    for (tried, authorization) in [
        format!("Bearer {claims}.forged"),
        format!("Bearer rgk_{}", "A".repeat(43)),
        format!("Bearer {}", admin.token),
    ]
    .iter()
    .enumerate()
    {
        let browser = Browser::get().credentials("cookie").cookie(&session);
        let browser = browser.with("authorization", authorization);
        // The log has one line a minute for each route and actor, so each request has other roles.
        let roles = ["admin", "author", "author,admin"][tried];
        let denied = proxies.ask_for(roles, &browser).await;
        denied.expect_refused(403, "ROLE_INSUFFICIENT");
    }
    let lines = audit(app.gateway(), "access_denied", 1).await;
    let of_gateway: Vec<_> = lines
        .iter()
        .filter(|line| line["route"] == "/authorize")
        .collect();
    assert_eq!(of_gateway.len(), 1, "{lines:?}");
    assert_eq!(of_gateway[0]["session"], session[..8]);
    assert!(of_gateway[0]["actor"].is_null() && of_gateway[0]["api_key"].is_null());
    let of_envoy = eventually("the line of Envoy's denial", async || {
        let mut lines = audit(app.auth(), "access_denied", 1).await;
        lines.retain(|line| line["route"] == "app.example.org/reports");
        (!lines.is_empty()).then_some(lines)
    });
    assert!(of_envoy.await.iter().all(|line| line["actor_id"] == ann.id));
}

async fn unknown_credentials_of_a_proxy_admit_nobody_and_are_in_the_log(setup: TestSetup) {
    let (app, proxies, _, session) = start(setup).await;
    let admin = format!("Bearer {}", app.admin().await.token);
    for credentials in ["", "Cookie", "authorization", "cookie+"] {
        for browser in [
            Browser::get().cookie(&session),
            Browser::get().with("authorization", &admin),
            Browser::navigation(),
        ] {
            let check = browser.credentials(credentials).check("*", false);
            let refused = ext_authz::decide(&proxies.envoy, check).await;
            refused.expect_refused(3, 500, "Internal server error.");
        }
        let path = format!("/authorize?credentials={credentials}");
        let refused = proxies.forward.get(&path).await;
        refused.expect_detail(400, "Query parameter \"credentials\" must be cookie.");
    }
    let names_the_route = |line: &str| {
        line.contains("WARN")
            && line.contains("app.example.org")
            && line.contains("/reports")
            && line.contains("credentials")
    };
    app.auth().logs("the route", names_the_route).await;
}
