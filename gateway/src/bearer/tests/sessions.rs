//! Tests sessions, the list of roles, and the user of a credential.

use super::{gateway, send_one, with_token};
use crate::test_support::{Calls, authorized, bare, json, send, time};
use axum::Router;
use http::header::USER_AGENT;
use rolegate_auth_client::auth_v1::{
    CreateSessionRequest, CreateSessionResponse, GetCurrentUserResponse, ListSessionsResponse,
    Session,
};
use serde_json::json;

/// Sets the times of a session.
fn set_times(session: &mut Session) {
    session.created_at = time(1);
    session.idle_expires_at = time(2);
    session.expires_at = time(3);
    session.last_used_at = None;
}

/// Returns a gateway to an auth-service that answers fixed times.
fn gateway_with_times() -> (Router, Calls) {
    let (gateway, calls) = gateway();
    calls.edit("ListSessions", |page: &mut ListSessionsResponse| {
        page.sessions.iter_mut().for_each(set_times);
    });
    calls.edit("CreateSession", |created: &mut CreateSessionResponse| {
        created.session.iter_mut().for_each(set_times);
    });
    calls.edit("GetCurrentUser", |current: &mut GetCurrentUserResponse| {
        let credential = current.credential.as_mut().expect("a credential");
        credential.expires_at = credential.expires_at.and(time(3));
    });
    (gateway, calls)
}

#[tokio::test]
async fn success_bodies_are_those_of_the_documents() {
    let session = |id: i64, current: bool| {
        json!({
            "id": id, "name": null, "created_at": "1970-01-01T00:00:01.000Z", "last_used_at": null,
            "client_address": "203.0.113.9", "user_agent": null,
            "expires_at": "1970-01-01T00:00:03.000Z", "current": current,
        })
    };
    let me = |id: i64, name: &str, kind: &str, expires_at: Option<&str>| {
        let credential = json!({"kind": kind, "expires_at": expires_at});
        json!({"id": id, "username": name, "role": name, "groups": [], "credential": credential})
    };
    let (second, third) = ("1970-01-01T00:00:02.000Z", "1970-01-01T00:00:03.000Z");
    let ended = json!({"message": "Session ended."});
    let all_ended = json!({"message": "Sessions ended."});
    for (method, path, token, body) in [
        (
            "GET",
            "/profile/sessions",
            "rgs_user",
            json!({"sessions": [session(2, true), session(4, false)]}),
        ),
        (
            "GET",
            "/profile/sessions",
            "rgk_user",
            json!({"sessions": [session(2, false), session(4, false)]}),
        ),
        (
            "GET",
            "/profile/sessions",
            "author",
            json!({"sessions": []}),
        ),
        (
            "GET",
            "/users/2/sessions",
            "rgs_admin",
            json!({"sessions": [session(2, false), session(4, false)]}),
        ),
        ("DELETE", "/profile/sessions/2", "rgs_user", ended.clone()),
        ("DELETE", "/users/2/sessions/2", "rgk_admin", ended),
        ("DELETE", "/profile/sessions", "user", all_ended.clone()),
        ("DELETE", "/users/2/sessions", "admin", all_ended),
        (
            "GET",
            "/me",
            "author",
            me(3, "author", "access_token", Some(third)),
        ),
        (
            "GET",
            "/me",
            "rgs_user",
            me(2, "user", "session", Some(third)),
        ),
        ("GET", "/me", "rgk_user", me(2, "user", "api_key", None)),
        (
            "GET",
            "/roles",
            "admin",
            json!({"roles": ["user", "author", "admin", "editor"]}),
        ),
        (
            "POST",
            "/logout",
            "rgs_user",
            json!({"message": "Logged out."}),
        ),
        (
            "GET",
            "/protected",
            "rgs_user",
            json!({"message": "Welcome user!"}),
        ),
    ] {
        let (gateway, _) = gateway_with_times();
        let response = send(
            &gateway,
            authorized(method, path, &format!("Bearer {token}")),
        )
        .await;
        response.assert_ok(&body);
        assert_eq!(
            response.header("cache-control"),
            "no-store",
            "{method} {path}"
        );
    }
    let credentials = r#"{"username": "ann", "password": "right", "x": 1}"#;
    let (gateway, calls) = gateway_with_times();
    let created = send(&gateway, json("POST", "/sessions", credentials)).await;
    let issued: CreateSessionResponse = calls.last_response("CreateSession");
    let id = issued.session.expect("a session").id;
    let expected = json!({
        "id": id, "token": issued.token, "expires_at": third, "idle_expires_at": second,
    });
    assert_eq!((created.status.as_u16(), &created.body), (201, &expected));
    assert_eq!(
        created.header("location"),
        format!("/profile/sessions/{id}")
    );
    assert_eq!(created.header("cache-control"), "no-store");
}

#[tokio::test]
async fn name_and_user_agent_are_sent_to_auth_service() {
    let (gateway, calls) = gateway();
    let mut named = r#"{"username": "ann", "password": "right", "name": "phone"}"#;
    for user_agent in [&b"curl/8"[..], b"caf\xe9 \xc3\xa9", b"a\tb"] {
        let mut request = json("POST", "/sessions", named);
        let value = http::HeaderValue::from_bytes(user_agent).expect("a header value");
        request.headers_mut().insert(USER_AGENT, value);
        assert_eq!(send(&gateway, request).await.status, 201);
        named = r#"{"username": "ann", "password": "right"}"#;
    }
    assert_eq!(
        send(&gateway, json("POST", "/sessions", named))
            .await
            .status,
        201
    );
    let requests: Vec<CreateSessionRequest> = calls.requests("CreateSession");
    let sent: Vec<_> = requests
        .iter()
        .map(|request| (request.name.as_deref(), &*request.user_agent))
        .collect();
    let expected = [
        (Some("phone"), "curl/8"),
        (None, "caf\u{fffd} \u{e9}"),
        (None, "a\tb"),
        (None, ""),
    ];
    assert_eq!(sent, expected);
}

#[tokio::test]
async fn login_is_checked_in_the_documented_order() {
    let too_large = " ".repeat(64 * 1024 + 1);
    let field = |name: &str| format!("Field \"{name}\" is required and must be a string.");
    let body = |username: &str, more: &str| {
        format!(r#"{{"username": "{username}", "password": "right"{more}}}"#)
    };
    let not_text = "Field \"name\" must be a string.";
    for (body, status, detail) in [
        (&*too_large, 413, "Request body too large."),
        ("{", 400, "Request body is not valid JSON."),
        ("[]", 400, "Request body must be a JSON object."),
        ("{}", 400, &*field("username")),
        (r#"{"username": "ann"}"#, 400, &field("password")),
        (
            r#"{"username": "ann", "password": null}"#,
            400,
            &field("password"),
        ),
        (&body("ann", r#", "name": null"#), 400, not_text),
        (&body("ann", r#", "name": 1"#), 400, not_text),
        (&body("ann", r#", "name": ["phone"]"#), 400, not_text),
        (
            &body("ann", r#", "name": "a", "name": "b""#),
            400,
            "Field \"name\" is given more than once.",
        ),
        (
            &body("ann", r#", "name": """#),
            400,
            "Session name must have 1 to 100 characters.",
        ),
        (
            &body("flood", ""),
            429,
            "Too many attempts, try again later.",
        ),
        (&body("", ""), 401, "Invalid username or password."),
        (&body("down", ""), 503, "Service temporarily unavailable."),
    ] {
        send_one(json("POST", "/sessions", body))
            .await
            .assert_error(status, detail);
    }
    let flood = send_one(json("POST", "/sessions", &body("flood", ""))).await;
    assert_eq!(flood.header("retry-after"), "7");
    let wrong = send_one(json("POST", "/sessions", &body("", ""))).await;
    assert_eq!(wrong.header("www-authenticate"), "Bearer");
    let invalid = send_one(json("POST", "/sessions", &body("ann", r#", "name": """#))).await;
    invalid.assert_reason("SESSION_INVALID");
}

#[tokio::test]
async fn requests_are_checked_in_the_documented_order() {
    let not_integer = |name| format!("Path parameter \"{name}\" must be an integer.");
    let (own, invalid) = ("/profile/sessions", "Invalid or expired token.");
    let (forbidden, no_session) = ("Insufficient privileges.", "Session not found.");
    for (method, token, path, status, detail) in [
        ("GET", "rgs_unknown", own, 401, invalid),
        ("DELETE", "bad", "/profile/sessions/x", 401, invalid),
        (
            "DELETE",
            "deleted",
            "/profile/sessions/x",
            401,
            "User not found.",
        ),
        (
            "DELETE",
            "user",
            "/profile/sessions/x",
            400,
            &*not_integer("session_id"),
        ),
        (
            "DELETE",
            "user",
            "/profile/sessions/%FF",
            400,
            &not_integer("session_id"),
        ),
        (
            "DELETE",
            "user",
            "/profile/sessions/1.5",
            400,
            &not_integer("session_id"),
        ),
        ("DELETE", "user", "/profile/sessions/99", 404, no_session),
        ("DELETE", "user", "/profile/sessions/-1", 404, no_session),
        (
            "DELETE",
            "user",
            "/profile/sessions/99999999999999999999",
            404,
            no_session,
        ),
        ("DELETE", "rgk_user", "/profile/sessions/2", 403, forbidden),
        ("DELETE", "rgk_user", own, 403, forbidden),
        ("DELETE", "user", "/users/x/sessions/x", 403, forbidden),
        (
            "DELETE",
            "admin",
            "/users/x/sessions/x",
            400,
            &not_integer("user_id"),
        ),
        (
            "DELETE",
            "admin",
            "/users/2/sessions/x",
            400,
            &not_integer("session_id"),
        ),
        (
            "DELETE",
            "admin",
            "/users/99/sessions/1",
            404,
            "User not found.",
        ),
        ("DELETE", "admin", "/users/3/sessions/2", 404, no_session),
        ("GET", "admin", "/users/99/sessions", 404, "User not found."),
        (
            "DELETE",
            "admin",
            "/users/x/sessions",
            400,
            &not_integer("user_id"),
        ),
        ("GET", "rgs_unknown", "/me", 401, invalid),
        ("GET", "deleted", "/me", 401, "User not found."),
        ("GET", "rgs_user", "/roles", 403, forbidden),
    ] {
        let request = with_token(bare(method, path), token);
        send_one(request).await.assert_error(status, detail);
    }
}
