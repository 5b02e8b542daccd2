//! Where links lead. A client must not be able to choose the host, because it would get the tokens
//! of other users.

use super::token_in;
use e2e::{TestSetup, for_one_deployment, for_two_deployments};
use reqwest::Method;
use serde_json::json;

for_two_deployments!(a_link_leads_to_the_origin_of_sign_in_url_whatever_the_request_says);
for_one_deployment!(the_page_of_links_is_that_of_people_who_sign_in);

async fn a_link_leads_to_the_origin_of_sign_in_url_whatever_the_request_says(setup: TestSetup) {
    for (sign_in_url, origin) in [
        (None, ""),
        (Some("/accounts/sign-in"), ""),
        (
            Some("https://auth.example.org/sign-in"),
            "https://auth.example.org",
        ),
        (
            Some("https://auth.example.org:8443/a/b"),
            "https://auth.example.org:8443",
        ),
    ] {
        let setup = setup.clone().with("TRUSTED_PROXIES", "127.0.0.0/8");
        let setup = match sign_in_url {
            Some(url) => setup.with("SIGN_IN_URL", url),
            None => setup,
        };
        let app = setup.start().await;
        let (admin, ann) = (app.admin().await, app.user("ann").await);
        let as_admin = app.bearer.with_token(&admin.token);
        let path = format!("/users/{}/password-link", ann.id);
        for (name, value) in [
            ("host", "evil.example"),
            ("x-forwarded-host", "evil.example"),
            ("forwarded", "host=evil.example;proto=https"),
            ("origin", "https://evil.example"),
            ("referer", "https://evil.example/set-password"),
        ] {
            let ask = |request: reqwest::RequestBuilder| {
                as_admin.send(
                    request
                        .header(name, value)
                        .header("x-forwarded-proto", "https"),
                )
            };
            let link = ask(as_admin.request(Method::POST, &path)).await;
            token_in(&link.expect(201).json(), origin);
            let body = json!({ "username": format!("created with {name}") });
            let user = ask(as_admin.request(Method::POST, "/users").json(&body)).await;
            token_in(&user.expect(201).json()["password_link"], origin);
        }
    }
}

async fn the_page_of_links_is_that_of_people_who_sign_in(setup: TestSetup) {
    let app = setup.clone().start().await;
    let page = app.bearer.get("/set-password").await;
    page.expect(200)
        .expect_header("content-type", Some("text/html; charset=utf-8"));
    page.expect_header("referrer-policy", Some("no-referrer"));
    let policy = page.header("content-security-policy").expect("a policy");
    assert!(
        policy.starts_with("default-src 'none'; script-src 'self'"),
        "{policy}"
    );
    app.basic.get("/set-password").await.expect_error(404);
    let app = setup.with("SIGN_IN", "off").start().await;
    app.bearer.get("/set-password").await.expect_error(404);
}
