//! Tests which calls auth-service receives.

use super::{gateway, with_token};
use crate::test_support::{authorized, json, send};
use axum::extract::ConnectInfo;
use serde_json::json;
use std::net::SocketAddr;

#[tokio::test]
async fn query_of_users_is_sent_to_auth_service() {
    let (gateway, calls) = gateway();
    let users = json!([
        {"id": 1, "username": "user", "role": "user", "disabled": false},
        {"id": 2, "username": "author", "role": "author", "disabled": false},
    ]);
    let all = send(&gateway, authorized("GET", "/users", "Bearer admin")).await;
    all.assert_ok(&json!({"users": users, "next": null}));
    let path = "/users?limit=2&after=1&username=a%25_&role=author";
    let some = send(&gateway, authorized("GET", path, "Bearer admin")).await;
    some.assert_ok(&json!({"users": users, "next": 2}));
    let calls = calls.lock().expect("no panic").clone();
    assert_eq!(calls[1], "list_users 0 0 \"\" None from unknown");
    assert_eq!(
        calls[3],
        "list_users 2 1 \"a%_\" Some(\"author\") from unknown"
    );
}

#[tokio::test]
async fn times_of_users_are_answered_only_if_they_are_asked_for() {
    let (gateway, calls) = gateway();
    let untimed = json!([
        {"id": 1, "username": "user", "role": "user", "disabled": false},
        {"id": 2, "username": "author", "role": "author", "disabled": false},
    ]);
    let get = async |path| send(&gateway, authorized("GET", path, "Bearer admin")).await;
    let found = get("/users?search=%C3%84%25&disabled=true").await;
    found.assert_ok(&json!({"users": untimed, "next": null}));
    let timed = json!([
        {"id": 1, "username": "user", "role": "user", "disabled": false,
            "created_at": "1970-01-01T00:00:01.000Z", "last_sign_in_at": "2026-01-31T00:00:00.000Z"},
        {"id": 2, "username": "author", "role": "author", "disabled": false,
            "created_at": null, "last_sign_in_at": null},
    ]);
    get("/users?include=times")
        .await
        .assert_ok(&json!({"users": timed, "next": null}));
    let calls = calls.lock().expect("no panic").clone();
    assert_eq!(
        calls[1],
        "list_users 0 0 \"\" None \"Ä%\" Some(true) from unknown"
    );
    assert_eq!(calls[3], "list_users 0 0 \"\" None \"\" None from unknown");
}

#[tokio::test]
async fn an_auth_service_that_cannot_search_is_not_believed() {
    let (gateway, _) = gateway();
    let all = send(
        &gateway,
        authorized("GET", "/users?search=old", "Bearer admin"),
    )
    .await;
    assert_eq!(all.status, 500);
}

#[tokio::test]
async fn client_address_is_sent_with_every_call_but_batched_decisions() {
    let (gateway, calls) = gateway();
    for mut request in [
        authorized("GET", "/profile", "Bearer user"),
        json(
            "POST",
            "/login",
            r#"{"username": "a", "password": "right"}"#,
        ),
        json(
            "POST",
            "/register",
            r#"{"username": "a", "password": "right"}"#,
        ),
        with_token(json("PUT", "/users/2/role", r#"{"role": "user"}"#), "admin"),
    ] {
        let peer: SocketAddr = "10.0.0.1:4242".parse().expect("an address");
        request.extensions_mut().insert(ConnectInfo(peer));
        let forwarded = "203.0.113.9, 198.51.100.7:80"
            .parse()
            .expect("a header value");
        request.headers_mut().insert("x-forwarded-for", forwarded);
        assert_eq!(send(&gateway, request).await.status, 200);
    }
    let calls = calls.lock().expect("no panic").clone();
    let expected = [
        "authorize from unknown",
        "login from 198.51.100.7",
        "register from 198.51.100.7",
        "authorize from unknown",
        "set_user_role 2 user from 198.51.100.7",
    ];
    assert_eq!(calls, expected);
}
