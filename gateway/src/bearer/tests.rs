use super::router;
use crate::{
    answer::{Answer, authorized, bare, json},
    fake_auth::{Calls, fake_auth},
    settings::Settings,
};
use axum::{Router, body::Body, extract::ConnectInfo};
use http::{Request, header::AUTHORIZATION};
use serde_json::json;
use std::net::SocketAddr;

const FLOOD: &str = "Too many attempts, try again later.";

fn gateway() -> (Router, Calls) {
    let (auth, calls) = fake_auth();
    let settings = Settings::of(&["--trusted-proxies", "10.0.0.0/8"]).expect("networks").public;
    (router(auth, None, &settings), calls)
}

async fn ask(request: Request<Body>) -> Answer {
    Answer::to(&gateway().0, request).await
}

fn with_token(mut request: Request<Body>, token: &str) -> Request<Body> {
    let value = format!("Bearer {token}").parse().expect("a header value");
    request.headers_mut().insert(AUTHORIZATION, value);
    request
}

#[tokio::test]
async fn every_endpoint_lets_exactly_those_pass_who_may() {
    let credentials = r#"{"username": "somebody", "password": "right"}"#;
    let role = r#"{"role": "author"}"#;
    let password = r#"{"password": "new"}"#;
    let own_password = r#"{"current_password": "right", "new_password": "new"}"#;
    // Callers: nobody, a bad token, the token of a deleted user, user, author, admin.
    for (method, path, body, statuses) in [
        ("GET", "/", "", [200, 200, 200, 200, 200, 200]),
        ("GET", "/public", "", [200, 200, 200, 200, 200, 200]),
        ("POST", "/register", credentials, [200, 200, 200, 200, 200, 200]),
        ("POST", "/login", credentials, [200, 200, 200, 200, 200, 200]),
        ("GET", "/profile", "", [401, 401, 401, 200, 200, 200]),
        ("GET", "/author", "", [401, 401, 401, 403, 200, 200]),
        ("GET", "/admin", "", [401, 401, 401, 403, 403, 200]),
        ("GET", "/users", "", [401, 401, 401, 403, 403, 200]),
        ("GET", "/protected", "", [401, 401, 401, 200, 200, 200]),
        ("PUT", "/profile/password", own_password, [401, 401, 401, 200, 200, 200]),
        ("GET", "/users/1", "", [401, 401, 401, 403, 403, 200]),
        ("DELETE", "/users/1", "", [401, 401, 401, 403, 403, 200]),
        ("PUT", "/users/1/role", role, [401, 401, 401, 403, 403, 200]),
        ("PUT", "/users/1/password", password, [401, 401, 401, 403, 403, 200]),
    ] {
        for (token, status) in ["", "bad", "gone", "user", "author", "admin"].iter().zip(statuses) {
            let request = json(method, path, body);
            let request = if token.is_empty() { request } else { with_token(request, token) };
            let answer = ask(request).await;
            assert_eq!(answer.status.as_u16(), status, "{method} {path} {token}: {answer:?}");
        }
    }
}

#[tokio::test]
async fn success_bodies_are_exactly_those_of_the_contract() {
    let credentials = r#"{"username": "somebody", "password": "right"}"#;
    for (request, body) in [
        (bare("GET", "/"), json!({"message": "Role-Based Authorization API"})),
        (bare("GET", "/public"), json!({"message": "This is a public endpoint."})),
        (
            json("POST", "/register", credentials),
            json!({"message": "User registered successfully."}),
        ),
        (
            json("POST", "/login", credentials),
            json!({"access_token": "a.b.c", "token_type": "bearer"}),
        ),
        (
            authorized("GET", "/profile", "Bearer author"),
            json!({"message": "Welcome author!", "role": "author"}),
        ),
        (authorized("GET", "/author", "bearer author"), json!({"message": "Welcome Author!"})),
        (authorized("GET", "/admin", "BEARER admin"), json!({"message": "Welcome Admin!"})),
        (
            with_token(json("PUT", "/users/1/role", r#"{"role":"admin"}"#), "admin"),
            json!({"message": "User role updated successfully."}),
        ),
        (authorized("GET", "/protected", "Bearer user"), json!({"message": "Welcome user!"})),
        (
            authorized("GET", "/users/2", "Bearer admin"),
            json!({"id": 2, "username": "author", "role": "author"}),
        ),
        (
            authorized("DELETE", "/users/2", "Bearer admin"),
            json!({"message": "User deleted successfully."}),
        ),
        (
            with_token(json("PUT", "/users/2/password", r#"{"password":"new"}"#), "admin"),
            json!({"message": "Password updated successfully."}),
        ),
        (
            with_token(
                json(
                    "PUT",
                    "/profile/password",
                    r#"{"current_password":"right","new_password":"right"}"#,
                ),
                "user",
            ),
            json!({"message": "Password updated successfully."}),
        ),
    ] {
        ask(request).await.is_ok(&body);
    }
}

#[tokio::test]
async fn users_are_listed_as_the_query_asks() {
    let (gateway, calls) = gateway();
    let users = json!([
        {"id": 1, "username": "user", "role": "user"},
        {"id": 2, "username": "author", "role": "author"},
    ]);
    let all = Answer::to(&gateway, authorized("GET", "/users", "Bearer admin")).await;
    all.is_ok(&json!({"users": users, "next": null}));
    let path = "/users?limit=2&after=1&username=a%25_&role=author";
    let some = Answer::to(&gateway, authorized("GET", path, "Bearer admin")).await;
    some.is_ok(&json!({"users": users, "next": 2}));
    let calls = calls.lock().expect("no panic").clone();
    assert_eq!(calls[1], "list_users 0 0 \"\" None for nobody");
    assert_eq!(calls[3], "list_users 2 1 \"a%_\" Some(2) for nobody");
}

#[tokio::test]
async fn a_bad_query_is_refused_after_the_role() {
    ask(bare("GET", "/users?limit=0")).await.is_problem(401, "Not authenticated.");
    let user = authorized("GET", "/users?limit=0", "Bearer user");
    ask(user).await.is_problem(403, "Insufficient privileges.");
    let admin = authorized("GET", "/users?limit=0", "Bearer admin");
    let detail = "Query parameter \"limit\" must be a whole number from 1 to 200.";
    ask(admin).await.is_problem(400, detail);
    let admin = authorized("GET", "/users?role=root", "Bearer admin");
    ask(admin).await.is_problem(400, "Invalid role.");
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
        ask(request).await.is_problem(status, detail);
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
        ask(request).await.is_problem(status, detail);
    }
}

#[tokio::test]
async fn every_malformed_authorization_is_not_authenticated() {
    for value in
        ["", "Bearer", "Bearer ", "Bearer a b", "Basic dXNlcjpyaWdodA==", "user", "Bearer\tuser"]
    {
        let answer = ask(authorized("GET", "/profile", value)).await;
        answer.is_problem(401, "Not authenticated.");
        assert_eq!(answer.header("www-authenticate"), "Bearer", "{value:?}");
    }
    let mut twice = authorized("GET", "/profile", "Bearer user");
    twice.headers_mut().append(AUTHORIZATION, "Bearer user".parse().expect("a header value"));
    ask(twice).await.is_problem(401, "Not authenticated.");
    let bad = ask(authorized("GET", "/profile", "Bearer bad")).await;
    assert_eq!(bad.header("www-authenticate"), "Bearer error=\"invalid_token\"");
}

#[tokio::test]
async fn refusals_of_auth_service_keep_their_meaning() {
    let register = |username| format!(r#"{{"username": "{username}", "password": "x"}}"#);
    let taken = ask(json("POST", "/register", &register("taken"))).await;
    taken.is_problem(400, "Username already exists.");
    let rule = ask(json("POST", "/register", &register("a:b"))).await;
    rule.is_problem(400, "Username must not contain ':'.");
    let wrong = ask(json("POST", "/login", &register("somebody"))).await;
    wrong.is_problem(401, "Invalid username or password.");
    assert_eq!(wrong.header("www-authenticate"), "Bearer");
    let flood = ask(json("POST", "/login", &register("flood"))).await;
    flood.is_problem(429, "Too many attempts, try again later.");
    assert_eq!(flood.header("retry-after"), "7");
    let down = ask(json("POST", "/login", &register("down"))).await;
    down.is_problem(503, "Service temporarily unavailable.");
    assert_eq!(down.header("retry-after"), "1");
}

#[tokio::test]
async fn a_body_without_its_fields_is_refused_before_auth_service_is_asked() {
    let (gateway, calls) = gateway();
    for path in ["/register", "/login"] {
        let nothing = Answer::to(&gateway, json("POST", path, "")).await;
        nothing.is_problem(400, "Request body is not valid JSON.");
        for (body, field) in [
            ("{}", "username"),
            (r#"{"username": 1, "password": "x"}"#, "username"),
            (r#"{"username": "a"}"#, "password"),
            (r#"{"username": "a", "password": null}"#, "password"),
            (r#"{"username": "a", "password": ["x"]}"#, "password"),
        ] {
            let detail = format!("Field \"{field}\" is required and must be a string.");
            Answer::to(&gateway, json("POST", path, body)).await.is_problem(400, &detail);
        }
    }
    assert!(calls.lock().expect("no panic").is_empty());
}

#[tokio::test]
async fn unknown_paths_and_methods_are_problems_too() {
    for path in ["/nowhere", "/login/", "//", "/users/", "/users/1/", "/users/1/name"] {
        ask(bare("GET", path)).await.is_problem(404, "Not Found");
    }
    for (method, path, allow) in [
        ("POST", "/", "GET,HEAD"),
        ("DELETE", "/register", "POST"),
        ("GET", "/login", "POST"),
        ("PUT", "/profile", "GET,HEAD"),
        ("GET", "/profile/password", "PUT"),
        ("PUT", "/users/1", "GET,HEAD,DELETE"),
        ("POST", "/users/1/password", "PUT"),
        ("POST", "/admin", "GET,HEAD"),
        ("POST", "/users", "GET,HEAD"),
        ("GET", "/users/1/role", "PUT"),
        ("OPTIONS", "/users/1/role", "PUT"),
        ("BREW", "/public", "GET,HEAD"),
    ] {
        let answer = ask(bare(method, path)).await;
        answer.is_problem(405, "Method Not Allowed");
        assert_eq!(answer.header("allow"), allow, "{method} {path}");
    }
}

#[tokio::test]
async fn head_is_get_without_the_body() {
    for (path, token, status) in
        [("/public", "bad", 200), ("/profile", "user", 200), ("/admin", "user", 403)]
    {
        let answer = ask(authorized("HEAD", path, &format!("Bearer {token}"))).await;
        assert_eq!((answer.status.as_u16(), answer.body), (status, json!(null)), "{path}");
    }
}

#[tokio::test]
async fn tokens_and_profiles_are_not_stored_and_nothing_is_sniffed() {
    let login = ask(json("POST", "/login", r#"{"username": "a", "password": "right"}"#)).await;
    let profile = ask(authorized("GET", "/profile", "Bearer user")).await;
    let user = ask(authorized("GET", "/users/1", "Bearer admin")).await;
    for answer in [&login, &profile, &user] {
        assert_eq!(answer.header("cache-control"), "no-store", "{answer:?}");
    }
    let missing = ask(bare("GET", "/nowhere")).await;
    let wrong_method = ask(bare("PUT", "/login")).await;
    for answer in [login, profile, missing, wrong_method, ask(bare("GET", "/")).await] {
        assert_eq!(answer.header("x-content-type-options"), "nosniff", "{answer:?}");
    }
}

#[tokio::test]
async fn the_client_s_address_goes_with_every_call_but_decisions_which_share_theirs() {
    let (gateway, calls) = gateway();
    for mut request in [
        authorized("GET", "/profile", "Bearer user"),
        json("POST", "/login", r#"{"username": "a", "password": "right"}"#),
        json("POST", "/register", r#"{"username": "a", "password": "right"}"#),
        with_token(json("PUT", "/users/2/role", r#"{"role": "user"}"#), "admin"),
    ] {
        let peer: SocketAddr = "10.0.0.1:4242".parse().expect("an address");
        request.extensions_mut().insert(ConnectInfo(peer));
        let forwarded = "203.0.113.9, 198.51.100.7:80".parse().expect("a header value");
        request.headers_mut().insert("x-forwarded-for", forwarded);
        assert_eq!(Answer::to(&gateway, request).await.status, 200);
    }
    let calls = calls.lock().expect("no panic").clone();
    let expected = [
        "authorize for nobody",
        "login for 198.51.100.7",
        "register for 198.51.100.7",
        "authorize for nobody",
        "set_user_role 2 1 for 198.51.100.7",
    ];
    assert_eq!(calls, expected);
}
