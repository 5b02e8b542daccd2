use super::router;
use crate::{
    settings::Settings,
    state::GatewayState,
    test_support::{TestResponse, authorized, bare, json, send, shared_auth_service},
};
use axum::body::Body;
use base64::{Engine, engine::general_purpose::STANDARD};
use http::Request;
use serde_json::json;

async fn send_one(request: Request<Body>) -> TestResponse {
    let settings = Settings::from_args(&[]).expect("defaults").public;
    send(
        &router(
            GatewayState::for_tests(shared_auth_service(), None),
            &settings,
            &crate::memory::MemoryBudgets::new(&settings),
        ),
        request,
    )
    .await
}

fn protected(user_pass: &[u8]) -> Request<Body> {
    authorized(
        "GET",
        "/protected",
        &format!("Basic {}", STANDARD.encode(user_pass)),
    )
}

#[tokio::test]
async fn success_bodies_are_those_of_the_contract() {
    for (request, body) in [
        (bare("GET", "/"), json!({"message": "Authentication API"})),
        (
            bare("GET", "/public"),
            json!({"message": "This is a public endpoint."}),
        ),
        (
            json(
                "POST",
                "/register",
                r#"{"username": "a", "password": "b", "role": "admin"}"#,
            ),
            json!({"message": "User registered successfully."}),
        ),
        (protected(b"ann:right"), json!({"message": "Welcome ann!"})),
        (
            protected("müller:ri:ght:".as_bytes()),
            json!({"message": "Welcome müller!"}),
        ),
    ] {
        send_one(request).await.assert_ok(&body);
    }
}

#[tokio::test]
async fn wrong_credentials_get_one_error_and_the_exact_challenge() {
    for user_pass in [
        &b"ann:wrong"[..],
        b"ann:",
        b":right",
        b":",
        b"\xff:right",
        b"a:\xff",
    ] {
        let response = send_one(protected(user_pass)).await;
        response.assert_error(401, "Invalid username or password.");
        assert_eq!(response.header("www-authenticate"), "Basic");
    }
}

#[tokio::test]
async fn basic_has_no_second_step() {
    let response = send_one(protected(b"enrolled:right")).await;
    response.assert_error(401, "One-time code required.");
    response.assert_reason("OTP_REQUIRED");
    assert_eq!(response.header("www-authenticate"), "Basic");
    let wrong = send_one(protected(b"enrolled:wrong")).await;
    wrong.assert_error(401, "Invalid username or password.");
}

#[tokio::test]
async fn malformed_authorization_is_not_authenticated() {
    let no_colon = format!("Basic {}", STANDARD.encode("somebody"));
    for value in [
        "",
        "Basic",
        "Basic ",
        "Basic !!!!",
        "Bearer user",
        "somebody:right",
        &no_colon,
    ] {
        let response = send_one(authorized("GET", "/protected", value)).await;
        response.assert_error(401, "Not authenticated.");
        assert_eq!(response.header("www-authenticate"), "Basic", "{value:?}");
    }
    send_one(bare("GET", "/protected"))
        .await
        .assert_error(401, "Not authenticated.");
}

#[tokio::test]
async fn public_routes_ignore_bad_credentials() {
    for path in ["/", "/public"] {
        assert_eq!(
            send_one(authorized("GET", path, "Basic !!!!")).await.status,
            200
        );
    }
}

#[tokio::test]
async fn bearer_routes_do_not_exist() {
    for (method, path) in [("POST", "/login"), ("GET", "/profile"), ("GET", "/users")] {
        send_one(bare(method, path))
            .await
            .assert_error(404, "Not Found");
    }
    let response = send_one(bare("DELETE", "/protected")).await;
    response.assert_error(405, "Method Not Allowed");
    assert_eq!(response.header("allow"), "GET,HEAD");
}

#[tokio::test]
async fn responses_are_not_cached_or_sniffed() {
    for response in [
        send_one(protected(b"ann:right")).await,
        send_one(protected(b"ann:x")).await,
    ] {
        assert_eq!(response.header("cache-control"), "no-store");
        assert_eq!(response.header("x-content-type-options"), "nosniff");
    }
}
