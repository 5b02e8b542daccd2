//! Tests errors, and the order of the checks.

use super::{gateway, send_one, with_token};
use crate::test_support::{authorized, bare, json, send};
use axum::body::Body;
use http::{
    Request,
    header::{AUTHORIZATION, CONTENT_TYPE},
};

const FLOOD: &str = "Too many attempts, try again later.";

#[tokio::test]
async fn invalid_query_is_rejected_after_the_role_check() {
    send_one(bare("GET", "/users?limit=0"))
        .await
        .assert_error(401, "Not authenticated.");
    let user = authorized("GET", "/users?limit=0", "Bearer user");
    send_one(user)
        .await
        .assert_error(403, "Insufficient privileges.");
    let admin = authorized("GET", "/users?limit=0", "Bearer admin");
    let detail = "Query parameter \"limit\" must be a whole number from 1 to 200.";
    send_one(admin).await.assert_error(400, detail);
    let admin = authorized("GET", "/users?role=root", "Bearer admin");
    send_one(admin).await.assert_error(400, "Invalid role.");
}

#[tokio::test]
async fn every_error_names_its_reason() {
    let admin = |request| with_token(request, "admin");
    let text = |mut request: Request<Body>| {
        request
            .headers_mut()
            .insert(CONTENT_TYPE, "text/plain".parse().expect("a header value"));
        request
    };
    let user = |name: &str| {
        json(
            "POST",
            "/register",
            &format!(r#"{{"username": "{name}", "password": "x"}}"#),
        )
    };
    let large = " ".repeat(64 * 1024 + 1);
    for (request, reason) in [
        (bare("GET", "/profile"), "NOT_AUTHENTICATED"),
        (authorized("GET", "/profile", "Bearer bad"), "TOKEN_INVALID"),
        (
            authorized("GET", "/profile", "Bearer deleted"),
            "TOKEN_USER_NOT_FOUND",
        ),
        (
            authorized("GET", "/admin", "Bearer user"),
            "ROLE_INSUFFICIENT",
        ),
        (admin(bare("GET", "/users/99")), "USER_NOT_FOUND"),
        (admin(bare("GET", "/users/x")), "PATH_INVALID"),
        (admin(bare("GET", "/users?limit=0")), "QUERY_INVALID"),
        (admin(bare("GET", "/users?page=0")), "QUERY_INVALID"),
        (admin(bare("GET", "/users?role=root")), "ROLE_INVALID"),
        (bare("GET", "/nowhere"), "ROUTE_NOT_FOUND"),
        (bare("GET", "/docs/nowhere"), "ROUTE_NOT_FOUND"),
        (bare("GET", "/console/nowhere"), "ROUTE_NOT_FOUND"),
        (bare("GET", "/login"), "METHOD_NOT_ALLOWED"),
        (json("POST", "/login", &large), "BODY_TOO_LARGE"),
        (text(json("POST", "/login", "{}")), "MEDIA_TYPE_UNSUPPORTED"),
        (json("POST", "/login", "{"), "BODY_INVALID"),
        (
            json("POST", "/login", r#"{"username": "\ud800"}"#),
            "BODY_INVALID",
        ),
        (json("POST", "/login", "{}"), "FIELD_INVALID"),
        (
            admin(json("PATCH", "/users/2", r#"{"x": 1}"#)),
            "FIELD_UNKNOWN",
        ),
        (user("ann"), "USERNAME_TAKEN"),
        (user("a:b"), "USERNAME_INVALID"),
        (
            json("POST", "/login", r#"{"username": "a", "password": "x"}"#),
            "CREDENTIALS_INVALID",
        ),
        (
            json(
                "POST",
                "/login",
                r#"{"username": "flood", "password": "x"}"#,
            ),
            "TOO_MANY_ATTEMPTS",
        ),
        (
            json("POST", "/login", r#"{"username": "down", "password": "x"}"#),
            "UPSTREAM_UNAVAILABLE",
        ),
    ] {
        send_one(request).await.assert_reason(reason);
    }
}

#[tokio::test]
async fn update_names_the_first_field_that_it_does_not_know_before_any_other_field() {
    let long = format!(r#"{{"{}": 1}}"#, "x".repeat(10_000));
    let shown = format!("Field \"{}\" is not known.", "x".repeat(64));
    let not_json = "Request body is not valid JSON.";
    let not_integer = "Path parameter \"user_id\" must be an integer.";
    let required = "Field \"username\", \"disabled\" or \"until\" is required.";
    for (path, body, status, detail) in [
        (
            "/users/2",
            r#"{"b": 1, "a": 2, "disabled": 1}"#,
            400,
            "Field \"b\" is not known.",
        ),
        (
            "/users/99",
            r#"{"disabled": true, "a": {}}"#,
            400,
            "Field \"a\" is not known.",
        ),
        (
            "/users/2",
            r#"{"a\"\n\u202e": 1}"#,
            400,
            r#"Field "a\"\n\u{202e}" is not known."#,
        ),
        ("/users/2", r#"{"": 1}"#, 400, "Field \"\" is not known."),
        (
            "/users/2",
            r#"{"Disabled": true}"#,
            400,
            "Field \"Disabled\" is not known.",
        ),
        ("/users/2", &long, 400, &shown),
        ("/users/2", r#"{"a": 1"#, 400, not_json),
        ("/users/2", r#"{"a": nul}"#, 400, not_json),
        ("/users/x", r#"{"a": 1}"#, 400, not_integer),
        ("/users/2", "{}", 400, required),
        (
            "/users/2",
            r#"{"disabled": true, "disabled": true}"#,
            400,
            "Field \"disabled\" is given more than once.",
        ),
    ] {
        send_one(with_token(json("PATCH", path, body), "admin"))
            .await
            .assert_error(status, detail);
    }
}

#[tokio::test]
async fn role_change_is_checked_in_the_documented_order() {
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
        (
            "bad",
            "/users/x/role",
            bad_json,
            401,
            "Invalid or expired token.",
        ),
        ("deleted", "/users/x/role", bad_json, 401, "User not found."),
        (
            "user",
            "/users/x/role",
            bad_json,
            403,
            "Insufficient privileges.",
        ),
        (
            "user",
            "/users/x/role",
            &too_large,
            403,
            "Insufficient privileges.",
        ),
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
        (
            "admin",
            "/users/999999999999999999999999999999/role",
            no_role,
            404,
            not_found,
        ),
        ("admin", "/users/2/role", no_role, 400, "Invalid role."),
        (
            "admin",
            "/users/2/role",
            r#"{"role": "Admin"}"#,
            400,
            "Invalid role.",
        ),
    ] {
        let request = json("PUT", path, body);
        let request = if token.is_empty() {
            request
        } else {
            with_token(request, token)
        };
        send_one(request).await.assert_error(status, detail);
    }
}

#[tokio::test]
#[expect(clippy::too_many_lines, reason = "a table of cases")]
async fn passwords_and_deletions_are_checked_in_the_documented_order() {
    let (not_json, not_found) = ("Request body is not valid JSON.", "User not found.");
    let not_integer = "Path parameter \"user_id\" must be an integer.";
    let field = |name| format!("Field \"{name}\" is required and must be a string.");
    let too_large = " ".repeat(64 * 1024 + 1);
    let (large, rule) = (
        "Request body too large.",
        "Password must have at least 1 byte.",
    );
    let (forbidden, undeletable) = ("Insufficient privileges.", "This user cannot be deleted.");
    let (put, of_99, own) = ("PUT", "/users/99/password", "/profile/password");
    let wrong = r#"{"current_password": "wrong", "new_password": "new"}"#;
    for (method, token, path, body, status, detail) in [
        (put, "", "/users/x/password", "{", 401, "Not authenticated."),
        (
            put,
            "user",
            "/users/x/password",
            &*too_large,
            403,
            forbidden,
        ),
        (put, "admin", "/users/x/password", &too_large, 413, large),
        (put, "admin", "/users/x/password", "{", 400, not_json),
        (put, "admin", "/users/x/password", "{}", 400, not_integer),
        (put, "admin", of_99, "{}", 400, &field("password")),
        (
            put,
            "admin",
            of_99,
            r#"{"password": 1}"#,
            400,
            &field("password"),
        ),
        (put, "admin", of_99, r#"{"password": ""}"#, 404, not_found),
        (
            put,
            "admin",
            "/users/2/password",
            r#"{"password": ""}"#,
            400,
            rule,
        ),
        ("DELETE", "", "/users/x", "", 401, "Not authenticated."),
        ("DELETE", "author", "/users/x", "", 403, forbidden),
        ("DELETE", "admin", "/users/x", "", 400, not_integer),
        (
            "DELETE",
            "admin",
            "/users/99999999999999999999",
            "",
            404,
            not_found,
        ),
        ("DELETE", "admin", "/users/1", "", 400, undeletable),
        ("GET", "author", "/users/x", "", 403, forbidden),
        ("GET", "admin", "/users/x", "", 400, not_integer),
        ("GET", "admin", "/users/-1", "", 404, not_found),
        (put, "", own, &too_large, 401, "Not authenticated."),
        (
            put,
            "bad",
            own,
            &too_large,
            401,
            "Invalid or expired token.",
        ),
        (put, "deleted", own, "{", 401, not_found),
        (put, "user", own, &too_large, 413, large),
        (put, "user", own, "{", 400, not_json),
        (put, "user", own, "{}", 400, &field("current_password")),
        (
            put,
            "user",
            own,
            r#"{"current_password": "a"}"#,
            400,
            &field("new_password"),
        ),
        (
            put,
            "user",
            own,
            r#"{"current_password": "a", "new_password": ""}"#,
            400,
            rule,
        ),
        (
            put,
            "user",
            own,
            wrong,
            400,
            "Current password is incorrect.",
        ),
        (
            put,
            "user",
            own,
            &wrong.replace("wrong", "flood"),
            429,
            FLOOD,
        ),
    ] {
        let request = json(method, path, body);
        let request = if token.is_empty() {
            request
        } else {
            with_token(request, token)
        };
        send_one(request).await.assert_error(status, detail);
    }
}

#[tokio::test]
async fn malformed_authorization_is_not_authenticated() {
    for value in [
        "",
        "Bearer",
        "Bearer ",
        "Bearer a b",
        "Basic dXNlcjpyaWdodA==",
        "user",
        "Bearer\tuser",
    ] {
        let response = send_one(authorized("GET", "/profile", value)).await;
        response.assert_error(401, "Not authenticated.");
        assert_eq!(response.header("www-authenticate"), "Bearer", "{value:?}");
    }
    let mut twice = authorized("GET", "/profile", "Bearer user");
    twice.headers_mut().append(
        AUTHORIZATION,
        "Bearer user".parse().expect("a header value"),
    );
    send_one(twice)
        .await
        .assert_error(401, "Not authenticated.");
    let bad = send_one(authorized("GET", "/profile", "Bearer bad")).await;
    assert_eq!(
        bad.header("www-authenticate"),
        "Bearer error=\"invalid_token\""
    );
}

#[tokio::test]
async fn errors_of_auth_service_map_to_their_statuses() {
    let register = |username| format!(r#"{{"username": "{username}", "password": "x"}}"#);
    let taken = send_one(json("POST", "/register", &register("ann"))).await;
    taken.assert_error(400, "Username already exists.");
    let rule = send_one(json("POST", "/register", &register("a:b"))).await;
    rule.assert_error(400, "Username must not contain a colon.");
    let wrong = send_one(json("POST", "/login", &register("somebody"))).await;
    wrong.assert_error(401, "Invalid username or password.");
    assert_eq!(wrong.header("www-authenticate"), "Bearer");
    let flood = send_one(json("POST", "/login", &register("flood"))).await;
    flood.assert_error(429, "Too many attempts, try again later.");
    assert_eq!(flood.header("retry-after"), "7");
    let down = send_one(json("POST", "/login", &register("down"))).await;
    down.assert_error(503, "Service temporarily unavailable.");
    assert_eq!(down.header("retry-after"), "1");
}

#[tokio::test]
async fn body_without_its_fields_is_rejected_before_any_call() {
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
            send(&gateway, json("POST", path, body))
                .await
                .assert_error(400, &detail);
        }
    }
    assert!(calls.all().is_empty());
}
