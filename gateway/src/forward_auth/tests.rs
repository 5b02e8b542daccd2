mod cookies;

use super::router;
use crate::{
    memory::MemoryBudgets,
    settings::Settings,
    state::GatewayState,
    test_support::{TestResponse, auth_service_with, authorized, bare, send, shared_auth_service},
};
use auth_fixture::credential;
use axum::{
    Router,
    body::{Body, Bytes},
};
use base64::{Engine as _, engine::general_purpose::STANDARD};
use http::Request;
use rolegate_auth_client::AuthClient;
use serde_json::{Value, json};
use std::{convert::Infallible, sync::mpsc, time::Duration};
use tokio::{task::spawn_blocking, time::Instant};
use tokio_stream::pending;

/// The identity headers that every admitted request gets.
const IDENTITY: [&str; 3] = ["rolegate-user-id", "rolegate-username", "rolegate-role"];

fn gateway(auth: AuthClient) -> Router {
    let arguments = ["--cors-allowed-origins", "*"];
    let settings = Settings::from_args(&arguments).expect("valid").public;
    let state = GatewayState::for_tests(auth, None);
    router(state, &settings, &MemoryBudgets::new(&settings))
}

async fn send_one(request: Request<Body>) -> TestResponse {
    send(&gateway(shared_auth_service()), request).await
}

async fn ask(path: &str, authorization: &str) -> TestResponse {
    send_one(authorized("GET", path, authorization)).await
}

fn basic(user_pass: &str) -> String {
    format!("Basic {}", STANDARD.encode(user_pass))
}

fn identity(response: &TestResponse) -> [&str; 3] {
    IDENTITY.map(|name| response.header(name))
}

fn assert_denied(response: &TestResponse, status: u16, detail: &str) {
    assert_denied_with(response, status, detail, if status == 401 { 2 } else { 0 });
}

fn assert_denied_with(response: &TestResponse, status: u16, detail: &str, challenges: usize) {
    response.assert_error(status, detail);
    assert_eq!(identity(response), ["", "", ""]);
    let values: Vec<_> = response
        .headers
        .get_all("www-authenticate")
        .iter()
        .collect();
    assert_eq!(values.len(), challenges, "{values:?}");
}

#[tokio::test]
async fn every_method_gets_the_identity_and_no_body() {
    for method in [
        "GET", "HEAD", "POST", "PUT", "PATCH", "DELETE", "OPTIONS", "BREW",
    ] {
        let mut request = authorized(method, "/authorize?roles=author,admin", "Bearer author");
        // A CORS preflight must get a decision, too.
        let headers = request.headers_mut();
        headers.insert("origin", "https://app.example".parse().expect("a value"));
        headers.insert(
            "access-control-request-method",
            "GET".parse().expect("a value"),
        );
        let response = send_one(request).await;
        assert_eq!(
            (response.status.as_u16(), &response.body),
            (200, &Value::Null),
            "{method}"
        );
        assert_eq!(identity(&response), ["3", "author", "author"], "{method}");
        assert_eq!(response.header("cache-control"), "no-store");
    }
    let preflight = send_one(bare("OPTIONS", "/authorize")).await;
    assert_denied(&preflight, 401, "Not authenticated.");
}

#[tokio::test]
async fn basic_users_pass_by_their_stored_role() {
    let credentials = basic("j\u{f6}rg:right");
    for path in [
        "/authorize",
        "/authorize?roles=user",
        "/authorize?roles=admin%2Cuser",
    ] {
        let response = ask(path, &credentials).await;
        assert_eq!(response.status, 200, "{path}");
        assert_eq!(identity(&response), ["7", "j%C3%B6rg", "user"], "{path}");
    }
    let denied = ask("/authorize?roles=author,admin", &credentials).await;
    assert_denied(&denied, 403, "Insufficient privileges.");
}

#[tokio::test]
async fn names_are_answered_as_applications_read_them() {
    for (name, as_sent, email) in [
        ("ann", "ann", ""),
        ("bea@corp.example", "bea@corp.example", "bea@corp.example"),
        ("a+b@corp, 1", "a%2Bb@corp%2C 1", "a%2Bb@corp%2C 1"),
        ("a@b@c", "a@b@c", ""),
    ] {
        let response = ask("/authorize", &basic(&format!("{name}:right"))).await;
        assert_eq!(identity(&response)[1], as_sent);
        assert_eq!(response.header("remote-user"), as_sent);
        assert_eq!(response.header("remote-email"), email);
    }
    let refused = ask("/authorize", &basic("bea@corp.example:wrong")).await;
    assert_denied(&refused, 401, "Invalid username or password.");
    assert_eq!(refused.header("remote-user"), "");
    assert_eq!(refused.header("remote-email"), "");
}

#[tokio::test]
async fn basic_users_learn_that_they_need_a_second_factor() {
    let (auth, _) = auth_service_with(&["--second-factor=admins"]);
    let gateway = gateway(auth);
    let ask = async |path, authorization: &str| {
        send(&gateway, authorized("GET", path, authorization)).await
    };
    let admin = basic("second-admin:right");
    for (path, detail) in [
        ("/authorize?roles=author,admin", "Second factor required."),
        ("/authorize?roles=author", "Insufficient privileges."),
    ] {
        assert_denied(&ask(path, &admin).await, 403, detail);
    }
    assert_eq!(
        identity(&ask("/authorize?roles=user", &admin).await)[2],
        "user"
    );
    let enrolled = ask("/authorize", &basic("enrolled:right")).await;
    assert_denied(&enrolled, 401, "One-time code required.");
}

#[tokio::test]
async fn refused_credentials_get_both_challenges() {
    let invalid = "Bearer error=\"invalid_token\"";
    for (authorization, challenge, detail) in [
        (String::new(), "Bearer", "Not authenticated."),
        ("Digest x".to_owned(), "Bearer", "Not authenticated."),
        (
            "Bearer nonsense".to_owned(),
            invalid,
            "Invalid or expired token.",
        ),
        ("Bearer deleted".to_owned(), invalid, "User not found."),
        (
            basic("ann:wrong"),
            "Bearer",
            "Invalid username or password.",
        ),
    ] {
        let response = ask("/authorize", &authorization).await;
        assert_denied(&response, 401, detail);
        let challenges = response.headers.get_all("www-authenticate").iter();
        assert_eq!(
            challenges.collect::<Vec<_>>(),
            ["Basic realm=\"Rolegate\"", challenge],
            "{authorization}"
        );
    }
    let mut twice = authorized("GET", "/authorize", "Bearer admin");
    twice
        .headers_mut()
        .append("authorization", "Bearer admin".parse().expect("a value"));
    assert_denied(&send_one(twice).await, 401, "Not authenticated.");
}

#[tokio::test]
async fn limits_and_outages_are_no_decisions() {
    let limited = ask("/authorize", &basic("flood:right")).await;
    assert_denied(&limited, 429, "Too many attempts, try again later.");
    assert_eq!(limited.header("retry-after"), "7");
    let down = ask("/authorize", &basic("down:right")).await;
    assert_denied(&down, 503, "Service temporarily unavailable.");
    assert_eq!(down.header("retry-after"), "1");
}

#[tokio::test]
async fn a_url_that_names_no_known_requirement_is_refused_for_everybody() {
    for query in [
        "roles=%FF",
        "roles=admin&roles=user",
        "role=admin",
        "roles=admin&x=1",
        "Roles=admin",
        "x",
    ] {
        for authorization in ["Bearer admin", ""] {
            let response = ask(&format!("/authorize?{query}"), authorization).await;
            assert_eq!(response.status, 400, "{query}");
            assert_eq!(identity(&response), ["", "", ""], "{query}");
        }
    }
}

#[tokio::test]
async fn names_of_no_role_are_refused_after_the_credentials() {
    let detail = "Query parameter \"roles\" must be names of roles, separated by commas.";
    for names in [
        "",
        "=",
        "=,",
        "=author,",
        "=Admin",
        "=*",
        "=author;admin",
        "=author%20",
        &format!("={}", "x".repeat(33)),
        "=author,x,Admin",
        "=root",
        "=admin,user,root",
        &format!(
            "=admin,{}",
            (0..35)
                .map(|it| format!("r{it}"))
                .collect::<Vec<_>>()
                .join(",")
        ),
    ] {
        let path = format!("/authorize?roles{names}");
        for credentials in ["Bearer admin", "Bearer rgs_user", &*basic("ann:right")] {
            let response = ask(&path, credentials).await;
            assert_denied(&response, 400, detail);
            response.assert_reason("QUERY_INVALID");
        }
        for (credentials, status, detail) in [
            ("", 401, "Not authenticated."),
            ("Bearer bad", 401, "Invalid or expired token."),
            (&*basic("ann:wrong"), 401, "Invalid username or password."),
            (
                &basic("flood:right"),
                429,
                "Too many attempts, try again later.",
            ),
            (
                &basic("down:right"),
                503,
                "Service temporarily unavailable.",
            ),
        ] {
            assert_denied(&ask(&path, credentials).await, status, detail);
        }
    }
}

#[tokio::test]
async fn added_roles_can_be_required() {
    for credentials in ["Bearer admin", &*basic("ann:right")] {
        let denied = ask("/authorize?roles=editor", credentials).await;
        assert_denied(&denied, 403, "Insufficient privileges.");
    }
    assert_eq!(
        ask("/authorize?roles=editor,admin", "Bearer rgs_admin")
            .await
            .status,
        200
    );
    assert_eq!(
        ask("/authorize?roles=editor,user", &basic("ann:right"))
            .await
            .status,
        200
    );
    let repeated = format!(
        "/authorize?roles={}",
        ["admin", "editor"].repeat(50).join(",")
    );
    assert_eq!(ask(&repeated, "Bearer admin").await.status, 200);
}

#[tokio::test(start_paused = true)]
async fn decision_does_not_wait_for_a_body_that_never_comes() {
    // auth-service runs in a thread of its own. A paused clock stands still while a blocking task runs, so no deadline
    // passes while the gateway waits for an answer. If it waits for something else, the task ends after a while.
    let (_running, stopped) = mpsc::channel::<()>();
    spawn_blocking(move || stopped.recv_timeout(Duration::from_secs(20)));
    for (path, authorization, status) in [
        ("/authorize", "Bearer user", 200),
        ("/authorize?roles=admin", "Bearer user", 403),
        ("/authorize", "", 401),
        ("/authorize?x", "Bearer user", 400),
        ("/authorize?%ff", "Bearer user", 400),
    ] {
        let mut request = authorized("POST", path, authorization);
        *request.body_mut() = Body::from_stream(pending::<Result<Bytes, Infallible>>());
        let began = Instant::now();
        let response = send_one(request).await;
        assert_eq!(
            (response.status.as_u16(), began.elapsed()),
            (status, Duration::ZERO),
            "{path}"
        );
        // The rest of the body must not be taken for the next request.
        assert_eq!(response.header("connection"), "close", "{path}");
    }
    let response = ask("/authorize", "Bearer user").await;
    assert_eq!(
        (response.status.as_u16(), response.header("connection")),
        (200, "")
    );
}

#[tokio::test]
async fn forwarded_paths_and_methods_are_ignored() {
    let mut request = authorized("GET", "/authorize?roles=admin", "Bearer user");
    for (name, value) in [
        ("x-forwarded-method", "OPTIONS"),
        ("x-forwarded-uri", "/authorize?roles=user"),
        ("x-original-url", "/authorize?roles=user"),
        ("x-forwarded-host", "public.example"),
    ] {
        request
            .headers_mut()
            .insert(name, value.parse().expect("a value"));
    }
    assert_denied(&send_one(request).await, 403, "Insufficient privileges.");
}

#[tokio::test]
async fn nothing_else_is_served() {
    for path in [
        "/",
        "/authorize/",
        "/login",
        "/docs",
        "/openapi.json",
        "/profile",
        "//authorize",
    ] {
        ask(path, "Bearer admin")
            .await
            .assert_error(404, "Not Found");
    }
}

fn introspect(authorization: &str, form: &str) -> Request<Body> {
    let mut request = authorized("POST", "/introspect", authorization);
    let form_type = "application/x-www-form-urlencoded; charset=UTF-8";
    request
        .headers_mut()
        .insert("content-type", form_type.parse().expect("a value"));
    *request.body_mut() = form.to_owned().into();
    request
}

#[tokio::test]
async fn introspection_describes_good_tokens_and_says_nothing_about_others() {
    for caller in ["Bearer user".to_owned(), basic("ann:right")] {
        let author = credential("author").expect("a token");
        let form = format!("token_type_hint=x&token={author}");
        let response = send_one(introspect(&caller, &form)).await;
        let expected = json!({
            "active": true,
            "sub": "3",
            "username": "author",
            "role": "author",
            "groups": [],
            "token_type": "bearer",
            "exp": response.body["exp"],
        });
        assert!(response.body["exp"].is_u64(), "{response:?}");
        response.assert_ok(&expected);
        assert_eq!(response.header("cache-control"), "no-store");
        let long = "x".repeat(60_000);
        let deleted = credential("deleted").expect("a token");
        let with_scheme = format!("Bearer+{author}");
        for token in ["nonsense", deleted, "", &with_scheme, "%00", &long] {
            let response = send_one(introspect(&caller, &format!("token={token}"))).await;
            response.assert_ok(&json!({ "active": false }));
        }
    }
}

#[tokio::test]
async fn introspection_checks_the_caller_before_the_form() {
    for caller in ["", "Bearer nonsense", "Basic !"] {
        let response = send_one(introspect(caller, "nonsense")).await;
        assert_eq!(response.status, 401, "{caller}");
        assert_eq!(
            response.headers.get_all("www-authenticate").iter().count(),
            2
        );
    }
    let once = "Field \"token\" must be given exactly once.";
    let repeated = "Field \"token_type_hint\" is given more than once.";
    for (form, detail) in [
        ("", once),
        ("x=y", once),
        ("token=a&token=b", once),
        ("token=a&%74oken=a", once),
        ("Token=a", once),
        ("token=a&token_type_hint=x&token_type_hint=x", repeated),
        ("token=%ff", "Request body is not valid UTF-8."),
    ] {
        let response = send_one(introspect("Bearer user", form)).await;
        let expected = json!({ "detail": detail, "error": "invalid_request" });
        assert_eq!(
            (response.status.as_u16(), response.body),
            (400, expected),
            "{form}"
        );
    }
    // A token in the URL would get into logs, so it is refused.
    let mut in_url = introspect("Bearer user", "x=y");
    *in_url.uri_mut() = "/introspect?token=author".parse().expect("a URL");
    assert_eq!(send_one(in_url).await.status, 400);
    let response = send_one(introspect("Bearer user", &"x".repeat(70_000))).await;
    response.assert_error(413, "Request body too large.");
    let mut json = introspect("Bearer user", "{}");
    json.headers_mut()
        .insert("content-type", "application/json".parse().expect("a value"));
    let detail = "Content-Type must be application/x-www-form-urlencoded.";
    send_one(json).await.assert_error(415, detail);
    for method in ["GET", "HEAD", "PUT", "OPTIONS"] {
        let request = authorized(method, "/introspect?token=author", "Bearer user");
        let response = send_one(request).await;
        assert_eq!(
            (response.status.as_u16(), response.header("allow")),
            (405, "POST"),
            "{method}"
        );
    }
}
