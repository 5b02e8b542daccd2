//! Tests of the control address: the clock and the failures.

use super::{get, login, server, status};
use reqwest::{Client, Method, StatusCode};
use rolegate_auth_client::testing::{Control, TestServer};
use serde_json::{Value, json};
use std::time::{Duration, Instant};

fn advance(server: &TestServer, advance_seconds: u32) {
    server.control(&Control::Clock { advance_seconds });
}

/// Signs ada in at the bearer address, and returns the session.
async fn session(server: &TestServer) -> String {
    let body = json!({ "username": "ada", "password": "a password" });
    let request = Client::new()
        .post(format!("{}/sessions", server.addresses["bearer"]))
        .json(&body);
    let answer: Value = request
        .send()
        .await
        .expect("an answer")
        .json()
        .await
        .expect("JSON");
    answer["token"].as_str().expect("a session").to_owned()
}

#[tokio::test]
async fn token_expires_when_the_clock_has_moved_by_half_an_hour() {
    let server = server();
    let token = login(&server, "ada", "a password").await;
    advance(&server, 1700);
    assert_eq!(status(&server, "/profile", &token).await, 200);
    advance(&server, 101);
    let answer = get(&server, "/profile", &token).await;
    assert_eq!(answer.status(), 401);
    assert_eq!(
        answer.text().await.expect("text"),
        r#"{"detail":"Invalid or expired token."}"#
    );
    let anew = login(&server, "ada", "a password").await;
    assert_eq!(status(&server, "/profile", &anew).await, 200);
}

#[tokio::test]
async fn session_ends_when_it_is_not_used() {
    let server = server();
    let session = session(&server).await;
    for _ in 0..3 {
        advance(&server, 11 * 3600);
        assert_eq!(status(&server, "/profile", &session).await, 200);
    }
    advance(&server, 13 * 3600);
    assert_eq!(status(&server, "/profile", &session).await, 401);
}

#[tokio::test]
async fn outage_lasts_until_it_is_reset() {
    let server = server();
    let token = login(&server, "ada", "a password").await;
    server.control(&Control::Outage {});
    for _ in 0..2 {
        let answer = get(&server, "/author", &token).await;
        assert_eq!(answer.status(), 503);
        assert_eq!(answer.headers()["rolegate-reason"], "UPSTREAM_UNAVAILABLE");
    }
    server.control(&Control::Reset {});
    assert_eq!(status(&server, "/author", &token).await, 200);
}

#[tokio::test]
async fn slow_answer_comes_late_and_beyond_the_deadline_not_at_all() {
    let server = server();
    let token = login(&server, "ada", "a password").await;
    server.control(&Control::Slow { milliseconds: 200 });
    let started = Instant::now();
    assert_eq!(status(&server, "/author", &token).await, 200);
    assert!(started.elapsed() >= Duration::from_millis(200));
    server.control(&Control::Slow {
        milliseconds: u32::MAX,
    });
    assert_eq!(status(&server, "/author", &token).await, 504);
    server.control(&Control::Reset {});
    assert_eq!(status(&server, "/author", &token).await, 200);
}

#[tokio::test]
async fn revoked_user_has_to_log_in_again() {
    let server = server();
    let (token, session) = (
        login(&server, "ada", "a password").await,
        session(&server).await,
    );
    let of_bob = login(&server, "bob", "another one").await;
    server.control(&Control::Revoked {
        username: "ada".to_owned(),
    });
    for ended in [&token, &session] {
        assert_eq!(status(&server, "/author", ended).await, 401);
    }
    let anew = login(&server, "ada", "a password").await;
    assert_eq!(status(&server, "/author", &anew).await, 200);
    assert_eq!(status(&server, "/profile", &of_bob).await, 200);
}

async fn command(server: &TestServer, body: &'static str) -> (StatusCode, String) {
    let answer = Client::new()
        .post(&server.addresses["control"])
        .body(body)
        .send()
        .await;
    let answer = answer.expect("an answer");
    (answer.status(), answer.text().await.expect("text"))
}

#[tokio::test]
async fn malformed_commands_are_refused_with_one_line() {
    let server = server();
    for (body, problem) in [
        ("", "EOF while parsing"),
        ("{", "EOF while parsing"),
        ("[]", "missing field `command`"),
        ("outage", "expected value"),
        ("{}", "missing field `command`"),
        (r#"{"command": "explode"}"#, "unknown variant `explode`"),
        (r#"{"command": "clock"}"#, "missing field `advance_seconds`"),
        (
            r#"{"command": "clock", "advance_seconds": -1}"#,
            "expected u32",
        ),
        (
            r#"{"command": "clock", "advance_seconds": 1.5}"#,
            "expected u32",
        ),
        (
            r#"{"command": "clock", "advance_seconds": "1800"}"#,
            "expected u32",
        ),
        (
            r#"{"command": "clock", "advance_seconds": 4294967296}"#,
            "expected u32",
        ),
        (
            r#"{"command": "clock", "advance_seconds": 1, "to": 2}"#,
            "unknown field `to`",
        ),
        (
            r#"{"command": "slow", "seconds": 1}"#,
            "unknown field `seconds`",
        ),
        (
            r#"{"command": "outage", "milliseconds": 1}"#,
            "unknown field `milliseconds`",
        ),
        (r#"{"command": "revoked"}"#, "missing field `username`"),
        (
            r#"{"command": "revoked", "username": "ad"}"#,
            r#"no --user is \"ad\""#,
        ),
    ] {
        let (status, answer) = command(&server, body).await;
        assert_eq!(status, 400, "{body}");
        assert!(
            answer.starts_with(r#"{"detail":""#) && answer.contains(problem),
            "{answer}"
        );
        assert!(!answer.contains('\n'), "{answer}");
    }
    let token = login(&server, "ada", "a password").await;
    assert_eq!(
        status(&server, "/author", &token).await,
        200,
        "nothing has changed"
    );
}

#[tokio::test]
async fn pages_in_browsers_cannot_command() {
    let server = server();
    let of_page = |method: Method, name: &'static str, value: &'static str| {
        let request = Client::new().request(method, &server.addresses["control"]);
        request
            .header(name, value)
            .body(r#"{"command": "outage"}"#)
            .send()
    };
    for (method, name, value, status) in [
        (Method::POST, "origin", "http://127.0.0.1:3000", 400),
        (Method::POST, "origin", "null", 400),
        (Method::POST, "host", "evil.example", 400),
        (Method::POST, "host", "127.0.0.1", 400),
        (Method::GET, "accept", "text/html", 405),
        (
            Method::OPTIONS,
            "access-control-request-method",
            "POST",
            405,
        ),
    ] {
        let answer = of_page(method, name, value).await.expect("an answer");
        assert_eq!(answer.status(), status, "{name}: {value}");
        assert!(!answer.headers().contains_key("access-control-allow-origin"));
    }
    let token = login(&server, "ada", "a password").await;
    assert_eq!(
        status(&server, "/author", &token).await,
        200,
        "there is no outage"
    );
}
