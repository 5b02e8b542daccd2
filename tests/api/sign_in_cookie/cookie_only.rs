//! Proxies in front of applications whose `Authorization` is not for Rolegate: only the cookie counts.

use super::{
    PAGE,
    browser::{Browser, sign_out},
    start,
};
use crate::api_keys::create_key;
use base64::{Engine as _, engine::general_purpose::STANDARD};
use e2e::{TestSetup, ext_authz, for_all_deployments, for_one_deployment};
use serde_json::json;

for_all_deployments!(where_only_the_cookie_counts_authorization_says_nothing);
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
