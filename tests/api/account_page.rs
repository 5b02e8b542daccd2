//! The account page at `/account`, and where `/` and `/console/` lead people and programs.

use crate::sign_in::{HTTPS, OWN_PAGE, cookie_of, form_of, get, submit};
use e2e::{TestSetup, for_two_deployments};
use reqwest::Method;
use serde_json::json;

for_two_deployments!(
    a_person_looks_after_the_account_with_the_cookie_of_this_host,
    a_person_at_the_root_is_led_to_the_account_and_a_program_is_not,
    the_account_page_is_there_without_a_console_and_never_without_the_sign_in,
);

const NAVIGATION: [(&str, &str); 2] = [
    ("sec-fetch-mode", "navigate"),
    ("sec-fetch-dest", "document"),
];

async fn a_person_looks_after_the_account_with_the_cookie_of_this_host(setup: TestSetup) {
    let app = setup.start().await;
    let ann = app.user("ann").await;
    let page = get(&app.bearer, "/account", &HTTPS).await;
    page.expect(200)
        .expect_header("content-type", Some("text/html; charset=utf-8"))
        .expect_header("cache-control", Some("no-cache"))
        .expect_header("cross-origin-opener-policy", Some("same-origin"));
    let form = form_of("ann", &ann.password, "/account");
    let own_page = [&HTTPS[..], &[OWN_PAGE]].concat();
    let signed_in = submit(&app.bearer, "/sign-in", &form, &own_page).await;
    signed_in.expect_header("location", Some("/account"));
    let cookie = cookie_of(&signed_in);
    assert!(
        cookie.starts_with("__Host-rolegate-console=rgs_"),
        "{cookie}"
    );
    let with_cookie = [&own_page[..], &[("cookie", &cookie)]].concat();
    for path in [
        "/me",
        "/profile/second-factor",
        "/profile/sessions",
        "/profile/keys",
        "/profile/audit",
    ] {
        get(&app.bearer, path, &with_cookie).await.expect(200);
        // Only scripts of the page may use the cookie. A link that leads here must not.
        let by_link = [&with_cookie[..], &NAVIGATION].concat();
        get(&app.bearer, path, &by_link)
            .await
            .expect_detail(401, "Not authenticated.");
    }
    let send = async |method: Method, path: &str, body: &str| {
        let request = app.bearer.request(method, path).body(body.to_owned());
        let request = request.header("content-type", "application/json");
        let with = |request: reqwest::RequestBuilder, (name, value): &(&str, &str)| {
            request.header(*name, *value)
        };
        let request = with_cookie.iter().fold(request, with);
        app.bearer.send(request).await
    };
    let key = send(Method::POST, "/profile/keys", r#"{"name":"deploy"}"#).await;
    key.expect(201);
    let picture = send(Method::POST, "/account/picture", "otpauth://totp/a").await;
    assert!(picture.expect(200).json()["path"].is_string(), "{picture}");
    let passwords = json!({ "current_password": ann.password, "new_password": "another one" });
    send(Method::PUT, "/profile/password", &passwords.to_string())
        .await
        .expect_message("Password updated successfully.");
    // The cookie of a user who is no admin must not open the endpoints of admins.
    for path in ["/users", "/audit", "/roles"] {
        get(&app.bearer, path, &with_cookie)
            .await
            .expect_detail(403, "Insufficient privileges.");
    }
    submit(&app.bearer, "/sign-out", "", &with_cookie)
        .await
        .expect(303);
    get(&app.bearer, "/me", &with_cookie).await.expect(401);
}

async fn a_person_at_the_root_is_led_to_the_account_and_a_program_is_not(setup: TestSetup) {
    let app = setup.start().await;
    let ann = app.user("ann").await;
    let session = ann.session(&app.bearer).await.token;
    let cookie = format!("rolegate-console={session}");
    let documented = app.bearer.get("/").await;
    documented
        .expect_message("Role-Based Authorization API")
        .expect_header("vary", Some("Sec-Fetch-Mode, Sec-Fetch-Dest"));
    let [mode, dest] = NAVIGATION;
    for others in [&[][..], &[OWN_PAGE, ("cookie", &cookie)]] {
        let headers = [&NAVIGATION[..], others].concat();
        for method in [Method::GET, Method::HEAD] {
            let request = app.bearer.request(method, "/");
            let request = headers.iter().fold(request, |request, (name, value)| {
                request.header(*name, *value)
            });
            let led = app.bearer.send(request).await;
            led.expect(303)
                .expect_header("location", Some("/account"))
                .expect_header("vary", Some("Sec-Fetch-Mode, Sec-Fetch-Dest"))
                .expect_header("cache-control", Some("no-store"));
        }
    }
    let token = format!("Bearer {session}");
    for headers in [
        &[mode][..],
        &[dest],
        &[mode, ("sec-fetch-dest", "iframe")],
        &[("sec-fetch-mode", "cors"), dest],
        &[mode, mode, dest],
        &[("accept", "text/html")],
        &[mode, dest, ("authorization", &token)],
        &[mode, dest, ("authorization", "nonsense")],
    ] {
        let answer = get(&app.bearer, "/", headers).await;
        assert_eq!(answer.comparable(), documented.comparable(), "{headers:?}");
    }
    let basic = get(&app.basic, "/", &NAVIGATION).await;
    basic
        .expect_message("Authentication API")
        .expect_header("vary", None);
}

async fn the_account_page_is_there_without_a_console_and_never_without_the_sign_in(
    setup: TestSetup,
) {
    for (setting, status) in [("CONSOLE", 200), ("SIGN_IN", 404)] {
        let app = setup.clone().with(setting, "off").start().await;
        for path in ["/account", "/account/account_page.js"] {
            app.bearer.get(path).await.expect(status);
        }
        app.bearer
            .get("/console/")
            .await
            .expect_detail(404, "Not Found");
        let root = get(&app.bearer, "/", &NAVIGATION).await;
        root.expect(if status == 200 { 303 } else { 200 });
        if status == 404 {
            root.expect_message("Role-Based Authorization API")
                .expect_header("vary", None);
            continue;
        }
        let ann = app.user("ann").await;
        let form = form_of("ann", &ann.password, "/account");
        let cookie = cookie_of(&submit(&app.bearer, "/sign-in", &form, &[OWN_PAGE]).await);
        let headers = [OWN_PAGE, ("cookie", cookie.as_str())];
        get(&app.bearer, "/me", &headers).await.expect(200);
    }
}
