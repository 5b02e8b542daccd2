use super::router;
use crate::{
    settings::Settings,
    test_support::fake_auth,
    test_support::{TestResponse, authorized, bare, json, send},
};
use axum::body::Body;
use base64::{Engine, engine::general_purpose::STANDARD};
use http::Request;
use serde_json::json;

async fn ask(request: Request<Body>) -> TestResponse {
    let settings = Settings::from_args(&[]).expect("defaults").public;
    send(&router(fake_auth().0, &settings), request).await
}

fn protected(user_pass: &[u8]) -> Request<Body> {
    authorized("GET", "/protected", &format!("Basic {}", STANDARD.encode(user_pass)))
}

#[tokio::test]
async fn success_bodies_are_exactly_those_of_the_contract() {
    for (request, body) in [
        (bare("GET", "/"), json!({"message": "Authentication API"})),
        (bare("GET", "/public"), json!({"message": "This is a public endpoint."})),
        (
            json("POST", "/register", r#"{"username": "a", "password": "b", "role": "admin"}"#),
            json!({"message": "User registered successfully."}),
        ),
        (protected(b"somebody:right"), json!({"message": "Welcome somebody!"})),
        (protected("jörg:ri:ght:".as_bytes()), json!({"message": "Welcome jörg!"})),
    ] {
        ask(request).await.assert_ok(&body);
    }
}

#[tokio::test]
async fn wrong_credentials_get_one_answer_and_the_exact_challenge() {
    for user_pass in
        [&b"somebody:wrong"[..], b"somebody:", b":right", b":", b"\xff:right", b"a:\xff"]
    {
        let answer = ask(protected(user_pass)).await;
        answer.assert_error(401, "Invalid username or password.");
        assert_eq!(answer.header("www-authenticate"), "Basic");
    }
}

#[tokio::test]
async fn every_malformed_authorization_is_not_authenticated() {
    let no_colon = format!("Basic {}", STANDARD.encode("somebody"));
    for value in ["", "Basic", "Basic ", "Basic !!!!", "Bearer user", "somebody:right", &no_colon] {
        let answer = ask(authorized("GET", "/protected", value)).await;
        answer.assert_error(401, "Not authenticated.");
        assert_eq!(answer.header("www-authenticate"), "Basic", "{value:?}");
    }
    ask(bare("GET", "/protected")).await.assert_error(401, "Not authenticated.");
}

#[tokio::test]
async fn public_routes_ignore_bad_credentials() {
    for path in ["/", "/public"] {
        assert_eq!(ask(authorized("GET", path, "Basic !!!!")).await.status, 200);
    }
}

#[tokio::test]
async fn the_bearer_variant_is_not_here() {
    for (method, path) in [("POST", "/login"), ("GET", "/profile"), ("GET", "/users")] {
        ask(bare(method, path)).await.assert_error(404, "Not Found");
    }
    let answer = ask(bare("DELETE", "/protected")).await;
    answer.assert_error(405, "Method Not Allowed");
    assert_eq!(answer.header("allow"), "GET,HEAD");
}

#[tokio::test]
async fn greetings_are_not_stored_and_nothing_is_sniffed() {
    for answer in [ask(protected(b"somebody:right")).await, ask(protected(b"somebody:x")).await] {
        assert_eq!(answer.header("cache-control"), "no-store");
        assert_eq!(answer.header("x-content-type-options"), "nosniff");
    }
}
