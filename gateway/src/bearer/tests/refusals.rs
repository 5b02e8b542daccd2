//! What is wrong, in the order of the checks.

use super::{ask, gateway, with_token};
use crate::test_support::{authorized, bare, json, send};
use http::header::AUTHORIZATION;

const FLOOD: &str = "Too many attempts, try again later.";

#[tokio::test]
async fn a_bad_query_is_refused_after_the_role() {
    ask(bare("GET", "/users?limit=0")).await.assert_error(401, "Not authenticated.");
    let user = authorized("GET", "/users?limit=0", "Bearer user");
    ask(user).await.assert_error(403, "Insufficient privileges.");
    let admin = authorized("GET", "/users?limit=0", "Bearer admin");
    let detail = "Query parameter \"limit\" must be a whole number from 1 to 200.";
    ask(admin).await.assert_error(400, detail);
    let admin = authorized("GET", "/users?role=root", "Bearer admin");
    ask(admin).await.assert_error(400, "Invalid role.");
}

#[tokio::test]
async fn a_role_change_is_checked_in_the_order_of_the_contract() {
    let bad_json = "{";
    let mistyped = r#"{"role": 1}"#;
    let no_role = r#"{"role": "root"}"#;
    let not_json = "Request body is not valid JSON.";
    let not_text = "Field \"role\" is required and must be a string.";
    let not_integer = "Path parameter \"user_id\" must be an integer.";
    let not_found = "User not found.";
    let too_large = " ".repeat(64 * 1024 + 1);
    let large = "Request body too large.";
    for (token, path, body, status, detail) in [
        ("", "/users/x/role", bad_json, 401, "Not authenticated."),
        ("", "/users/x/role", &too_large, 401, "Not authenticated."),
        ("bad", "/users/x/role", bad_json, 401, "Invalid or expired token."),
        ("gone", "/users/x/role", bad_json, 401, "User not found."),
        ("user", "/users/x/role", bad_json, 403, "Insufficient privileges."),
        ("user", "/users/x/role", &too_large, 403, "Insufficient privileges."),
        ("admin", "/users/x/role", &too_large, 413, large),
        ("admin", "/users/99/role", bad_json, 400, not_json),
        ("admin", "/users/99/role", mistyped, 400, not_text),
        ("admin", "/users/x/role", no_role, 400, not_integer),
        ("admin", "/users/%FF/role", no_role, 400, not_integer),
        ("admin", "/users//role", no_role, 400, not_integer),
        ("admin", "/users/1.5/role", no_role, 400, not_integer),
        ("admin", "/users/99/role", no_role, 404, not_found),
        ("admin", "/users/0/role", no_role, 404, not_found),
        ("admin", "/users/-1/role", no_role, 404, not_found),
        ("admin", "/users/999999999999999999999999999999/role", no_role, 404, not_found),
        ("admin", "/users/1/role", no_role, 400, "Invalid role."),
        ("admin", "/users/1/role", r#"{"role": "Admin"}"#, 400, "Invalid role."),
    ] {
        let request = json("PUT", path, body);
        let request = if token.is_empty() { request } else { with_token(request, token) };
        ask(request).await.assert_error(status, detail);
    }
}

#[tokio::test]
async fn passwords_and_deletions_are_checked_in_the_order_of_the_contract() {
    let (not_json, not_found) = ("Request body is not valid JSON.", "User not found.");
    let not_integer = "Path parameter \"user_id\" must be an integer.";
    let field = |name| format!("Field \"{name}\" is required and must be a string.");
    let too_large = " ".repeat(64 * 1024 + 1);
    let (large, rule) = ("Request body too large.", "Password must be longer.");
    let (forbidden, undeletable) = ("Insufficient privileges.", "This user cannot be deleted.");
    let (put, of_99, own) = ("PUT", "/users/99/password", "/profile/password");
    let wrong = r#"{"current_password": "wrong", "new_password": "new"}"#;
    for (method, token, path, body, status, detail) in [
        (put, "", "/users/x/password", "{", 401, "Not authenticated."),
        (put, "user", "/users/x/password", &*too_large, 403, forbidden),
        (put, "admin", "/users/x/password", &too_large, 413, large),
        (put, "admin", "/users/x/password", "{", 400, not_json),
        (put, "admin", "/users/x/password", "{}", 400, not_integer),
        (put, "admin", of_99, "{}", 400, &field("password")),
        (put, "admin", of_99, r#"{"password": 1}"#, 400, &field("password")),
        (put, "admin", of_99, r#"{"password": ""}"#, 404, not_found),
        (put, "admin", "/users/1/password", r#"{"password": ""}"#, 400, rule),
        ("DELETE", "", "/users/x", "", 401, "Not authenticated."),
        ("DELETE", "author", "/users/x", "", 403, forbidden),
        ("DELETE", "admin", "/users/x", "", 400, not_integer),
        ("DELETE", "admin", "/users/99999999999999999999", "", 404, not_found),
        ("DELETE", "admin", "/users/3", "", 400, undeletable),
        ("GET", "author", "/users/x", "", 403, forbidden),
        ("GET", "admin", "/users/x", "", 400, not_integer),
        ("GET", "admin", "/users/-1", "", 404, not_found),
        (put, "", own, &too_large, 401, "Not authenticated."),
        (put, "bad", own, &too_large, 401, "Invalid or expired token."),
        (put, "gone", own, "{", 401, not_found),
        (put, "user", own, &too_large, 413, large),
        (put, "user", own, "{", 400, not_json),
        (put, "user", own, "{}", 400, &field("current_password")),
        (put, "user", own, r#"{"current_password": "a"}"#, 400, &field("new_password")),
        (put, "user", own, r#"{"current_password": "a", "new_password": ""}"#, 400, rule),
        (put, "user", own, wrong, 400, "Current password is incorrect."),
        (put, "user", own, &wrong.replace("wrong", "flood"), 429, FLOOD),
    ] {
        let request = json(method, path, body);
        let request = if token.is_empty() { request } else { with_token(request, token) };
        ask(request).await.assert_error(status, detail);
    }
}

#[tokio::test]
async fn every_malformed_authorization_is_not_authenticated() {
    for value in
        ["", "Bearer", "Bearer ", "Bearer a b", "Basic dXNlcjpyaWdodA==", "user", "Bearer\tuser"]
    {
        let answer = ask(authorized("GET", "/profile", value)).await;
        answer.assert_error(401, "Not authenticated.");
        assert_eq!(answer.header("www-authenticate"), "Bearer", "{value:?}");
    }
    let mut twice = authorized("GET", "/profile", "Bearer user");
    twice.headers_mut().append(AUTHORIZATION, "Bearer user".parse().expect("a header value"));
    ask(twice).await.assert_error(401, "Not authenticated.");
    let bad = ask(authorized("GET", "/profile", "Bearer bad")).await;
    assert_eq!(bad.header("www-authenticate"), "Bearer error=\"invalid_token\"");
}

#[tokio::test]
async fn refusals_of_auth_service_keep_their_meaning() {
    let register = |username| format!(r#"{{"username": "{username}", "password": "x"}}"#);
    let taken = ask(json("POST", "/register", &register("taken"))).await;
    taken.assert_error(400, "Username already exists.");
    let rule = ask(json("POST", "/register", &register("a:b"))).await;
    rule.assert_error(400, "Username must not contain ':'.");
    let wrong = ask(json("POST", "/login", &register("somebody"))).await;
    wrong.assert_error(401, "Invalid username or password.");
    assert_eq!(wrong.header("www-authenticate"), "Bearer");
    let flood = ask(json("POST", "/login", &register("flood"))).await;
    flood.assert_error(429, "Too many attempts, try again later.");
    assert_eq!(flood.header("retry-after"), "7");
    let down = ask(json("POST", "/login", &register("down"))).await;
    down.assert_error(503, "Service temporarily unavailable.");
    assert_eq!(down.header("retry-after"), "1");
}

#[tokio::test]
async fn a_body_without_its_fields_is_refused_before_auth_service_is_asked() {
    let (gateway, calls) = gateway();
    for path in ["/register", "/login"] {
        let nothing = send(&gateway, json("POST", path, "")).await;
        nothing.assert_error(400, "Request body is not valid JSON.");
        for (body, field) in [
            ("{}", "username"),
            (r#"{"username": 1, "password": "x"}"#, "username"),
            (r#"{"username": "a"}"#, "password"),
            (r#"{"username": "a", "password": null}"#, "password"),
            (r#"{"username": "a", "password": ["x"]}"#, "password"),
        ] {
            let detail = format!("Field \"{field}\" is required and must be a string.");
            send(&gateway, json("POST", path, body)).await.assert_error(400, &detail);
        }
    }
    assert!(calls.lock().expect("no panic").is_empty());
}
