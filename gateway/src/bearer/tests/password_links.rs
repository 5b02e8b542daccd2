//! Tests links by which users choose their passwords, and users who are created with one.

use super::{gateway, router, send_one, with_token};
use crate::{
    logo::default_logo,
    memory::MemoryBudgets,
    settings::Settings,
    state::GatewayState,
    test_support::{Calls, auth_service, auth_service_with, bare, json, send, time},
};
use auth_fixture::credential;
use axum::Router;
use rolegate_auth_client::auth_v1::{
    CreatePasswordLinkRequest, CreatePasswordLinkResponse, CreateUserResponse,
    GetPasswordLinkResponse, PasswordLink,
};
use serde_json::json;

const FORBIDDEN: &str = "Insufficient privileges.";
const NOT_INTEGER: &str = "Path parameter \"user_id\" must be an integer.";

/// Returns a gateway to an auth-service with these flags.
fn gateway_with(flags: &[&str]) -> Router {
    let (auth, _) = auth_service_with(flags);
    super::gateway_to(auth)
}

/// Replaces the token and the end of each new link.
fn answer_fixed_links(calls: &Calls) {
    let fixed = || PasswordLink {
        token: "rgl_good".to_owned(),
        expires_at: time(1),
    };
    calls.edit("CreateUser", move |created: &mut CreateUserResponse| {
        created.password_link = created.password_link.take().map(|_| fixed());
    });
    calls.edit(
        "CreatePasswordLink",
        move |created: &mut CreatePasswordLinkResponse| {
            created.link = created.link.take().map(|_| fixed());
        },
    );
}

#[tokio::test]
async fn link_is_a_path_or_at_the_origin_of_the_setting_whatever_the_request_says() {
    for (sign_in_url, origin) in [
        ("", ""),
        ("/sign-in", ""),
        (
            "https://auth.example.org:8443/sign-in",
            "https://auth.example.org:8443",
        ),
    ] {
        let mut all = Settings::from_args(&[]).expect("defaults");
        sign_in_url.clone_into(&mut all.sign_in.sign_in_url);
        let settings = all.public;
        let (auth, calls) = auth_service();
        answer_fixed_links(&calls);
        let state = GatewayState::new(auth, None, all.sign_in, default_logo());
        let gateway = router(state, None, &settings, &MemoryBudgets::new(&settings));
        let url = format!("{origin}/set-password#rgl_good");
        let link = json!({"url": url, "expires_at": "1970-01-01T00:00:01.000Z"});
        for (path, body) in [
            ("/users/2/password-link", ""),
            ("/users", r#"{"username": "bob"}"#),
        ] {
            let mut request = with_token(json("POST", path, body), "admin");
            for (name, value) in [
                ("host", "evil.example"),
                ("x-forwarded-host", "evil.example"),
                ("x-forwarded-proto", "https"),
                ("forwarded", "host=evil.example;proto=https"),
                ("origin", "https://evil.example"),
            ] {
                request
                    .headers_mut()
                    .insert(name, value.parse().expect("a header value"));
            }
            let made = send(&gateway, request).await;
            let made_link = if body.is_empty() {
                &made.body
            } else {
                &made.body["password_link"]
            };
            assert_eq!((made.status.as_u16(), made_link), (201, &link), "{made:?}");
            assert_eq!(made.header("cache-control"), "no-store");
        }
    }
}

#[tokio::test]
async fn only_a_user_without_a_password_is_answered_with_a_link() {
    let (gateway, calls) = gateway();
    answer_fixed_links(&calls);
    let user = |id: i64, name: &str| json!({"id": id, "username": name, "role": "author", "disabled": false});
    let body = r#"{"username": "bob", "password": "a password", "role": "author"}"#;
    let made = send(&gateway, with_token(json("POST", "/users", body), "admin")).await;
    assert_eq!((made.status.as_u16(), &made.body), (201, &user(13, "bob")));
    let link = json!({"url": "/set-password#rgl_good", "expires_at": "1970-01-01T00:00:01.000Z"});
    for (id, token) in [(14, "admin"), (15, "rgs_admin"), (16, "rgk_admin")] {
        let name = format!("by {token}");
        let mut with_link = user(id, &name);
        with_link["password_link"] = link.clone();
        let body = json!({"username": name, "role": "author"}).to_string();
        let made = send(&gateway, with_token(json("POST", "/users", &body), token)).await;
        assert_eq!(
            (made.status.as_u16(), &made.body),
            (201, &with_link),
            "{token}"
        );
        assert_eq!(made.header("location"), format!("/users/{id}"));
    }
    calls.clear();
    let detail = "Field \"password\" must be a string.";
    for password in ["null", "1", "true", "[]", "{}"] {
        let body = format!(r#"{{"username": "ann", "password": {password}}}"#);
        let refused = send(&gateway, with_token(json("POST", "/users", &body), "admin")).await;
        refused.assert_error(400, detail);
    }
    let methods = calls.methods();
    assert!(methods.iter().all(|it| it == "Authorize"), "{methods:?}");
}

#[tokio::test]
async fn a_user_whom_nobody_could_sign_in_as_is_an_error() {
    let (gateway, calls) = gateway();
    calls.edit("CreateUser", |created: &mut CreateUserResponse| {
        created.password_link = None;
    });
    let body = r#"{"username": "without link"}"#;
    let made = send(&gateway, with_token(json("POST", "/users", body), "admin")).await;
    made.assert_error(500, "Internal server error.");
}

#[tokio::test]
async fn a_service_whose_users_choose_their_passwords_refuses_others() {
    let gateway = gateway_with(&["--admins-set-passwords=off"]);
    let body = r#"{"username": "bob", "password": "known"}"#;
    let refused = send(&gateway, with_token(json("POST", "/users", body), "admin")).await;
    refused.assert_error(403, "Users choose their passwords by a link.");
    refused.assert_reason("PASSWORD_LINK_REQUIRED");
}

#[tokio::test]
async fn links_are_made_after_the_documented_checks() {
    let of_user = "/users/2/password-link";
    for (token, path, status, detail) in [
        ("", of_user, 401, "Not authenticated."),
        (
            "bad",
            "/users/x/password-link",
            401,
            "Invalid or expired token.",
        ),
        ("deleted", "/users/x/password-link", 401, "User not found."),
        ("author", "/users/x/password-link", 403, FORBIDDEN),
        ("rgk_user", of_user, 403, FORBIDDEN),
        ("rgk_admin", of_user, 403, FORBIDDEN),
        ("rgk_admin", "/users/x/password-link", 403, FORBIDDEN),
        ("admin", "/users/x/password-link", 400, NOT_INTEGER),
        ("admin", "/users//password-link", 400, NOT_INTEGER),
        ("admin", "/users/%FF/password-link", 400, NOT_INTEGER),
        (
            "admin",
            "/users/1/password-link",
            400,
            "Use /profile/password to change your own password.",
        ),
        ("admin", "/users/99/password-link", 404, "User not found."),
        (
            "admin",
            "/users/99999999999999999999/password-link",
            404,
            "User not found.",
        ),
    ] {
        let request = bare("POST", path);
        let request = if token.is_empty() {
            request
        } else {
            with_token(request, token)
        };
        send_one(request).await.assert_error(status, detail);
    }
    let (gateway, calls) = gateway();
    send(&gateway, with_token(bare("POST", of_user), "rgk_admin"))
        .await
        .assert_error(403, FORBIDDEN);
    // The endpoint takes no body, so a malformed one does not matter.
    let request = with_token(json("POST", of_user, "{"), "rgs_admin");
    assert_eq!(send(&gateway, request).await.status, 201);
    let requests: Vec<CreatePasswordLinkRequest> = calls.requests("CreatePasswordLink");
    assert_eq!(requests, [CreatePasswordLinkRequest { user_id: 2 }]);
}

#[tokio::test]
async fn a_link_is_redeemed_after_the_documented_checks() {
    let good_token = credential("rgl_good").expect("a link");
    let redemption =
        |token: &str, password: &str| json!({"token": token, "password": password}).to_string();
    let field = |name| format!("Field \"{name}\" is required and must be a string.");
    let too_large = " ".repeat(64 * 1024 + 1);
    let long = format!(
        r#"{{"token": "rgl_{}", "password": "new"}}"#,
        "a".repeat(60_000)
    );
    let invalid = "Invalid or expired link.";
    for (body, status, detail) in [
        (&*too_large, 413, "Request body too large."),
        ("", 400, "Request body is not valid JSON."),
        ("[]", 400, "Request body must be a JSON object."),
        ("{}", 400, &*field("token")),
        (r#"{"password": "new"}"#, 400, &field("token")),
        (
            r#"{"token": null, "password": "new"}"#,
            400,
            &field("token"),
        ),
        (
            r#"{"token": ["rgl_good"], "password": "new"}"#,
            400,
            &field("token"),
        ),
        (r#"{"token": "rgl_good"}"#, 400, &field("password")),
        (
            r#"{"token": "rgl_good", "password": 1}"#,
            400,
            &field("password"),
        ),
        (r#"{"token": "", "password": "new"}"#, 400, invalid),
        (r#"{"token": "rgl_bad", "password": ""}"#, 400, invalid),
        (&redemption(&format!("#{good_token}"), "new"), 400, invalid),
        (&long, 400, invalid),
        (
            &redemption(good_token, ""),
            400,
            "Password must have at least 1 byte.",
        ),
        (
            r#"{"token": "flood", "password": ""}"#,
            429,
            "Too many attempts, try again later.",
        ),
    ] {
        send_one(json("PUT", "/password", body))
            .await
            .assert_error(status, detail);
    }
    let flood = json(
        "PUT",
        "/password",
        r#"{"token": "flood", "password": "new"}"#,
    );
    assert_eq!(send_one(flood).await.header("retry-after"), "7");
    let bad = json(
        "PUT",
        "/password",
        r#"{"token": "rgl_bad", "password": "new"}"#,
    );
    send_one(bad).await.assert_reason("LINK_INVALID");
    let good = || json("PUT", "/password", &redemption(good_token, "new"));
    let done = json!({"message": "Password updated successfully."});
    // The endpoint ignores credentials, even invalid ones.
    for request in [
        good(),
        with_token(good(), "bad"),
        with_token(good(), "deleted"),
    ] {
        send(&gateway().0, request).await.assert_ok(&done);
    }
    let mut text = good();
    text.headers_mut().insert(
        "content-type",
        "text/plain".parse().expect("a header value"),
    );
    send_one(text)
        .await
        .assert_error(415, "Content-Type must be application/json.");
}

#[tokio::test]
async fn a_link_names_its_user_and_its_end_without_credentials() {
    let required = "Field \"token\" is required and must be a string.";
    let invalid = "Invalid or expired link.";
    let flood = "Too many attempts, try again later.";
    for (body, status, detail) in [
        ("[]", 400, "Request body must be a JSON object."),
        ("{}", 400, required),
        (r#"{"token": null}"#, 400, required),
        (r#"{"token": ["rgl_good"]}"#, 400, required),
        (r#"{"token": ""}"#, 400, invalid),
        (r#"{"token": "rgl_bad"}"#, 400, invalid),
        (r#"{"token": "flood"}"#, 429, flood),
    ] {
        send_one(json("POST", "/password-link", body))
            .await
            .assert_error(status, detail);
    }
    let (gateway, calls) = gateway();
    calls.edit("GetPasswordLink", |link: &mut GetPasswordLinkResponse| {
        link.expires_at = time(1);
    });
    let body = json!({"token": credential("rgl_good")}).to_string();
    let good = || json("POST", "/password-link", &body);
    let owner = json!({"username": "ann", "expires_at": "1970-01-01T00:00:01.000Z"});
    for request in [good(), with_token(good(), "bad")] {
        send(&gateway, request).await.assert_ok(&owner);
    }
}

#[tokio::test]
async fn the_policy_of_passwords_is_public() {
    let gateway = gateway_with(&["--password-min-length=8"]);
    let policy = json!({"min_length": 8, "max_length": 72});
    for request in [
        bare("GET", "/password-policy"),
        with_token(bare("GET", "/password-policy"), "bad"),
    ] {
        send(&gateway, request).await.assert_ok(&policy);
    }
}
