mod api_keys;
mod audit;
mod calls;
mod errors;
mod password_links;
mod second_factor;
mod sessions;

use super::router;
use crate::{
    settings::Settings,
    state::GatewayState,
    test_support::{
        Calls, TestResponse, auth_service, authorized, bare, json, send, shared_auth_service,
    },
};
use auth_fixture::{credential, one_time_code, recovery_code};
use axum::{Router, body::Body};
use http::{Request, header::AUTHORIZATION};
use rolegate_auth_client::{AuthClient, auth_v1::LoginResponse};
use serde_json::json;

fn gateway() -> (Router, Calls) {
    let (auth, calls) = auth_service();
    (gateway_to(auth), calls)
}

fn gateway_to(auth: AuthClient) -> Router {
    let settings = Settings::from_args(&["--trusted-proxies", "10.0.0.0/8"])
        .expect("networks")
        .public;
    router(
        GatewayState::for_tests(auth, None),
        None,
        &settings,
        &crate::memory::MemoryBudgets::new(&settings),
    )
}

/// Sends a request that changes nothing.
async fn send_one(request: Request<Body>) -> TestResponse {
    send(&gateway_to(shared_auth_service()), request).await
}

fn with_token(mut request: Request<Body>, token: &str) -> Request<Body> {
    let value = format!("Bearer {token}").parse().expect("a header value");
    request.headers_mut().insert(AUTHORIZATION, value);
    request
}

#[tokio::test]
#[expect(clippy::too_many_lines, reason = "a table of cases")]
async fn every_endpoint_admits_exactly_the_documented_callers() {
    let new_user = r#"{"username": "somebody", "password": "right"}"#;
    let credentials = r#"{"username": "ann", "password": "right"}"#;
    let role = r#"{"role": "author"}"#;
    let password = r#"{"password": "new"}"#;
    let key = r#"{"name": "a", "role": "author"}"#;
    let own_password = r#"{"current_password": "right", "new_password": "new"}"#;
    let link = json!({"token": credential("rgl_good"), "password": "new"}).to_string();
    let current = r#"{"current_password": "right"}"#;
    let shown_code = json!({"otp": one_time_code("user")}).to_string();
    let recovery_code = json!({"otp": recovery_code("author", 1)}).to_string();
    // The callers are, in this order: no token, an invalid token, the token of a deleted user, a user, an author, an
    // admin.
    for (method, path, body, statuses) in [
        ("GET", "/", "", [200, 200, 200, 200, 200, 200]),
        ("GET", "/public", "", [200, 200, 200, 200, 200, 200]),
        (
            "POST",
            "/register",
            new_user,
            [200, 200, 200, 200, 200, 200],
        ),
        (
            "POST",
            "/login",
            credentials,
            [200, 200, 200, 200, 200, 200],
        ),
        ("GET", "/profile", "", [401, 401, 401, 200, 200, 200]),
        ("GET", "/author", "", [401, 401, 401, 403, 200, 200]),
        ("GET", "/admin", "", [401, 401, 401, 403, 403, 200]),
        ("GET", "/users", "", [401, 401, 401, 403, 403, 200]),
        ("GET", "/protected", "", [401, 401, 401, 200, 200, 200]),
        (
            "PUT",
            "/profile/password",
            own_password,
            [401, 401, 401, 200, 200, 200],
        ),
        ("GET", "/users/2", "", [401, 401, 401, 403, 403, 200]),
        ("DELETE", "/users/2", "", [401, 401, 401, 403, 403, 200]),
        ("POST", "/users", new_user, [401, 401, 401, 403, 403, 201]),
        (
            "PATCH",
            "/users/2",
            r#"{"disabled": true}"#,
            [401, 401, 401, 403, 403, 200],
        ),
        (
            "PATCH",
            "/users/2",
            r#"{"username": "new"}"#,
            [401, 401, 401, 403, 403, 200],
        ),
        ("PATCH", "/users/2", "{}", [401, 401, 401, 403, 403, 400]),
        ("PUT", "/users/2/role", role, [401, 401, 401, 403, 403, 200]),
        (
            "PUT",
            "/users/2/password",
            password,
            [401, 401, 401, 403, 403, 200],
        ),
        (
            "POST",
            "/users",
            r#"{"username": "somebody"}"#,
            [401, 401, 401, 403, 403, 201],
        ),
        (
            "POST",
            "/users/2/password-link",
            "",
            [401, 401, 401, 403, 403, 201],
        ),
        ("PUT", "/password", &link, [200, 200, 200, 200, 200, 200]),
        (
            "POST",
            "/password-link",
            &link,
            [200, 200, 200, 200, 200, 200],
        ),
        (
            "GET",
            "/password-policy",
            "",
            [200, 200, 200, 200, 200, 200],
        ),
        (
            "POST",
            "/profile/second-factor",
            current,
            [401, 401, 401, 201, 400, 201],
        ),
        (
            "PUT",
            "/profile/second-factor",
            &shown_code,
            [401, 401, 401, 200, 400, 400],
        ),
        (
            "DELETE",
            "/profile/second-factor",
            &recovery_code,
            [401, 401, 401, 400, 200, 400],
        ),
        (
            "GET",
            "/profile/second-factor",
            "",
            [401, 401, 401, 200, 200, 200],
        ),
        (
            "DELETE",
            "/users/3/second-factor",
            "",
            [401, 401, 401, 403, 403, 200],
        ),
        ("POST", "/logout", "", [401, 401, 401, 200, 200, 200]),
        (
            "DELETE",
            "/users/2/tokens",
            "",
            [401, 401, 401, 403, 403, 200],
        ),
        (
            "POST",
            "/profile/keys",
            r#"{"name": "a"}"#,
            [401, 401, 401, 201, 201, 201],
        ),
        ("GET", "/profile/keys", "", [401, 401, 401, 200, 200, 200]),
        ("GET", "/profile/keys/1", "", [401, 401, 401, 200, 404, 404]),
        (
            "DELETE",
            "/profile/keys/1",
            "",
            [401, 401, 401, 200, 404, 404],
        ),
        (
            "DELETE",
            "/profile/keys",
            "",
            [401, 401, 401, 200, 200, 200],
        ),
        ("GET", "/users/2/keys", "", [401, 401, 401, 403, 403, 200]),
        ("POST", "/users/2/keys", key, [401, 401, 401, 403, 403, 201]),
        ("GET", "/users/2/keys/1", "", [401, 401, 401, 403, 403, 200]),
        (
            "DELETE",
            "/users/2/keys/1",
            "",
            [401, 401, 401, 403, 403, 200],
        ),
        (
            "DELETE",
            "/users/2/keys",
            "",
            [401, 401, 401, 403, 403, 200],
        ),
        (
            "POST",
            "/sessions",
            credentials,
            [201, 201, 201, 201, 201, 201],
        ),
        (
            "GET",
            "/profile/sessions",
            "",
            [401, 401, 401, 200, 200, 200],
        ),
        (
            "DELETE",
            "/profile/sessions",
            "",
            [401, 401, 401, 200, 200, 200],
        ),
        (
            "DELETE",
            "/profile/sessions/2",
            "",
            [401, 401, 401, 200, 404, 404],
        ),
        (
            "GET",
            "/users/2/sessions",
            "",
            [401, 401, 401, 403, 403, 200],
        ),
        (
            "DELETE",
            "/users/2/sessions",
            "",
            [401, 401, 401, 403, 403, 200],
        ),
        (
            "DELETE",
            "/users/2/sessions/2",
            "",
            [401, 401, 401, 403, 403, 200],
        ),
        ("GET", "/me", "", [401, 401, 401, 200, 200, 200]),
        ("GET", "/roles", "", [401, 401, 401, 403, 403, 200]),
        ("GET", "/audit", "", [401, 401, 401, 403, 403, 200]),
        ("GET", "/profile/audit", "", [401, 401, 401, 200, 200, 200]),
        (
            "GET",
            "/profile/audit?user_id=1",
            "",
            [401, 401, 401, 400, 400, 400],
        ),
    ] {
        let mut gateway = gateway().0;
        for (token, status) in ["", "bad", "deleted", "user", "author", "admin"]
            .iter()
            .zip(statuses)
        {
            let request = json(method, path, body);
            let request = if token.is_empty() {
                request
            } else {
                with_token(request, token)
            };
            let response = send(&gateway, request).await;
            assert_eq!(
                response.status.as_u16(),
                status,
                "{method} {path} {token}: {response:?}"
            );
            // A name can be registered once, and a link can be used once.
            if ["/register", "/password"].contains(&path) {
                gateway = self::gateway().0;
            }
        }
    }
}

#[tokio::test]
async fn success_bodies_are_those_of_the_contract() {
    let new_user = r#"{"username": "somebody", "password": "right"}"#;
    for (request, body) in [
        (
            bare("GET", "/"),
            json!({"message": "Role-Based Authorization API"}),
        ),
        (
            bare("GET", "/public"),
            json!({"message": "This is a public endpoint."}),
        ),
        (
            json("POST", "/register", new_user),
            json!({"message": "User registered successfully."}),
        ),
        (
            authorized("GET", "/profile", "Bearer author"),
            json!({"message": "Welcome author!", "role": "author"}),
        ),
        (
            authorized("GET", "/author", "bearer author"),
            json!({"message": "Welcome Author!"}),
        ),
        (
            authorized("GET", "/admin", "BEARER admin"),
            json!({"message": "Welcome Admin!"}),
        ),
        (
            with_token(json("PUT", "/users/2/role", r#"{"role":"admin"}"#), "admin"),
            json!({"message": "User role updated successfully."}),
        ),
        (
            authorized("GET", "/protected", "Bearer user"),
            json!({"message": "Welcome user!"}),
        ),
        (
            authorized("GET", "/users/3", "Bearer admin"),
            json!({"id": 3, "username": "author", "role": "author", "disabled": false}),
        ),
        (
            with_token(json("PATCH", "/users/3", r#"{"disabled":true}"#), "admin"),
            json!({"id": 3, "username": "author", "role": "author", "disabled": true}),
        ),
        (
            with_token(json("PATCH", "/users/3", r#"{"disabled":false}"#), "admin"),
            json!({"id": 3, "username": "author", "role": "author", "disabled": false}),
        ),
        (
            with_token(
                json("PATCH", "/users/3", r#"{"username":"new","disabled":true}"#),
                "admin",
            ),
            json!({"id": 3, "username": "new", "role": "author", "disabled": true}),
        ),
        (
            authorized("DELETE", "/users/3", "Bearer admin"),
            json!({"message": "User deleted successfully."}),
        ),
        (
            with_token(
                json("PUT", "/users/3/password", r#"{"password":"new"}"#),
                "admin",
            ),
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
        send(&gateway().0, request).await.assert_ok(&body);
    }
    let (gateway, calls) = gateway();
    let credentials = r#"{"username": "ann", "password": "right"}"#;
    let response = send(&gateway, json("POST", "/login", credentials)).await;
    let issued: LoginResponse = calls.last_response("Login");
    response.assert_ok(&json!({"access_token": issued.access_token, "token_type": "bearer"}));
}

#[tokio::test]
async fn unknown_paths_and_methods_get_error_bodies() {
    for path in [
        "/nowhere",
        "/login/",
        "//",
        "/users/",
        "/users/2/",
        "/users/2/name",
    ] {
        send_one(bare("GET", path))
            .await
            .assert_error(404, "Not Found");
    }
    for (method, path, allow) in [
        ("POST", "/", "GET,HEAD"),
        ("DELETE", "/register", "POST"),
        ("GET", "/login", "POST"),
        ("PUT", "/profile", "GET,HEAD"),
        ("GET", "/profile/password", "PUT"),
        ("PUT", "/users/2", "GET,HEAD,PATCH,DELETE"),
        ("POST", "/users/2/password", "PUT"),
        ("POST", "/admin", "GET,HEAD"),
        ("PUT", "/users", "GET,HEAD,POST"),
        ("GET", "/users/2/role", "PUT"),
        ("OPTIONS", "/users/2/role", "PUT"),
        ("GET", "/sessions", "POST"),
        ("GET", "/password", "PUT"),
        ("GET", "/password-link", "POST"),
        ("POST", "/password-policy", "GET,HEAD"),
        ("GET", "/users/2/password-link", "POST"),
        ("GET", "/users/2/second-factor", "DELETE"),
        (
            "PATCH",
            "/profile/second-factor",
            "POST,PUT,DELETE,GET,HEAD",
        ),
        ("POST", "/profile/sessions", "GET,HEAD,DELETE"),
        ("GET", "/profile/sessions/2", "DELETE"),
        ("PATCH", "/users/2/keys", "POST,GET,HEAD,DELETE"),
        ("BREW", "/public", "GET,HEAD"),
    ] {
        let response = send_one(bare(method, path)).await;
        response.assert_error(405, "Method Not Allowed");
        assert_eq!(response.header("allow"), allow, "{method} {path}");
    }
}

#[tokio::test]
async fn head_is_get_without_the_body() {
    for (path, token, status) in [
        ("/public", "bad", 200),
        ("/profile", "user", 200),
        ("/admin", "user", 403),
    ] {
        let response = send_one(authorized("HEAD", path, &format!("Bearer {token}"))).await;
        assert_eq!(
            (response.status.as_u16(), response.body),
            (status, json!(null)),
            "{path}"
        );
    }
}

#[tokio::test]
async fn responses_are_not_cached_or_sniffed() {
    let login = send_one(json(
        "POST",
        "/login",
        r#"{"username": "ann", "password": "right"}"#,
    ))
    .await;
    let profile = send_one(authorized("GET", "/profile", "Bearer user")).await;
    let user = send_one(authorized("GET", "/users/2", "Bearer admin")).await;
    for response in [&login, &profile, &user] {
        assert_eq!(response.header("cache-control"), "no-store", "{response:?}");
    }
    let missing = send_one(bare("GET", "/nowhere")).await;
    let wrong_method = send_one(bare("PUT", "/login")).await;
    for response in [
        login,
        profile,
        missing,
        wrong_method,
        send_one(bare("GET", "/")).await,
    ] {
        assert_eq!(
            response.header("x-content-type-options"),
            "nosniff",
            "{response:?}"
        );
    }
}
