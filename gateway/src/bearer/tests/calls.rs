//! Tests which calls auth-service receives.

use super::{gateway, with_token};
use crate::test_support::{authorized, json, send, time};
use axum::extract::ConnectInfo;
use rolegate_auth_client::auth_v1::{
    ListUsersRequest, ListUsersResponse, SetUserRoleRequest, UserTimes,
};
use serde_json::{Value, json};
use std::net::SocketAddr;

/// Returns two users as they are shown, without their times.
fn users() -> Value {
    json!([
        {"id": 2, "username": "user", "role": "user", "disabled": false},
        {"id": 3, "username": "author", "role": "author", "disabled": false},
    ])
}

#[tokio::test]
async fn query_of_users_is_sent_to_auth_service() {
    let (gateway, calls) = gateway();
    let get = async |path| send(&gateway, authorized("GET", path, "Bearer admin")).await;
    let all = get("/users").await;
    assert_eq!(all.status, 200);
    assert_eq!(all.body["users"].as_array().map(Vec::len), Some(11));
    assert_eq!(all.body["next"], Value::Null);
    get("/users?limit=2&after=1")
        .await
        .assert_ok(&json!({"users": users(), "next": 3}));
    get("/users?limit=2&after=1&username=a%25_&role=author")
        .await
        .assert_ok(&json!({"users": [], "next": null}));
    let requests: Vec<ListUsersRequest> = calls.requests("ListUsers");
    assert_eq!(requests[0], ListUsersRequest::default());
    let narrow = ListUsersRequest {
        page_size: 2,
        after: 1,
        username_prefix: "a%_".to_owned(),
        role_name: Some("author".to_owned()),
        role: requests[2].role,
        ..ListUsersRequest::default()
    };
    assert_eq!(requests[2], narrow);
}

#[tokio::test]
async fn times_of_users_are_answered_only_if_they_are_asked_for() {
    let (gateway, calls) = gateway();
    let get = async |path| send(&gateway, authorized("GET", path, "Bearer admin")).await;
    let found = get("/users?search=%C3%84%25&disabled=true").await;
    found.assert_ok(&json!({"users": [], "next": null}));
    let found = get("/users?search=U&disabled=false&limit=2").await;
    assert_eq!(found.body["users"], users());
    calls.edit("ListUsers", |page: &mut ListUsersResponse| {
        page.times[0].created_at = time(1);
        page.times[0].last_login_at = time(1_769_817_600);
        page.times[1] = UserTimes::default();
    });
    let mut timed = users();
    timed[0]["created_at"] = json!("1970-01-01T00:00:01.000Z");
    timed[0]["last_sign_in_at"] = json!("2026-01-31T00:00:00.000Z");
    timed[1]["created_at"] = Value::Null;
    timed[1]["last_sign_in_at"] = Value::Null;
    get("/users?include=times&limit=2&after=1")
        .await
        .assert_ok(&json!({"users": timed, "next": 3}));
    let requests: Vec<ListUsersRequest> = calls.requests("ListUsers");
    let searches: Vec<_> = requests
        .iter()
        .map(|it| (it.search.as_str(), it.disabled, it.with_times))
        .collect();
    let expected = [
        ("\u{c4}%", Some(true), true),
        ("U", Some(false), true),
        ("", None, true),
    ];
    assert_eq!(searches, expected);
}

#[tokio::test]
async fn an_auth_service_that_cannot_search_is_not_believed() {
    let (gateway, calls) = gateway();
    calls.edit("ListUsers", |page: &mut ListUsersResponse| {
        page.times.clear();
    });
    let all = send(
        &gateway,
        authorized("GET", "/users?search=a", "Bearer admin"),
    )
    .await;
    assert_eq!(all.status, 500);
}

#[tokio::test]
async fn an_auth_service_that_ignores_orders_and_filters_is_not_believed() {
    let (gateway, calls) = gateway();
    calls.edit("ListUsers", |page: &mut ListUsersResponse| {
        page.follows_request = false;
    });
    for (query, status) in [
        (
            "limit=2&after=1&username=u&role=user&disabled=false&search=u",
            200,
        ),
        ("include=times,groups&sort=id", 200),
        ("sort=-id", 500),
        ("sort=username", 500),
        ("total=true", 500),
        ("second_factor=false", 500),
        ("has_password=true", 500),
        ("not_since=2030-01-01", 500),
        ("ends_before=2030-01-01", 500),
        ("include=sign_in", 500),
    ] {
        let path = format!("/users?{query}");
        let response = send(&gateway, authorized("GET", &path, "Bearer admin")).await;
        assert_eq!(response.status, status, "{query}");
    }
}

#[tokio::test]
async fn client_address_is_sent_with_every_call_but_batched_decisions() {
    let (gateway, calls) = gateway();
    for mut request in [
        authorized("GET", "/profile", "Bearer user"),
        json(
            "POST",
            "/login",
            r#"{"username": "ann", "password": "right"}"#,
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
    let calls_with_addresses: Vec<_> = calls
        .all()
        .into_iter()
        .map(|call| (call.method, call.client_address))
        .collect();
    let client = Some("198.51.100.7");
    let expected = [
        ("Authorize", None),
        ("Login", client),
        ("Register", client),
        ("Authorize", None),
        ("SetUserRole", client),
    ]
    .map(|(method, address)| (method.to_owned(), address.map(str::to_owned)));
    assert_eq!(calls_with_addresses, expected);
    let requests: Vec<SetUserRoleRequest> = calls.requests("SetUserRole");
    assert_eq!((requests[0].user_id, &*requests[0].role_name), (2, "user"));
}
