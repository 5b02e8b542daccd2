//! `POST /sessions`, with the checks and errors of `/login`, the names of sessions, and the limit.

use crate::sessions::{create_session, of_creation};
use e2e::{ADMIN_PASSWORD, TestSetup, for_one_deployment, for_two_deployments};
use reqwest::{Method, header::CONTENT_TYPE};
use serde_json::json;

for_two_deployments!(
    wrong_credentials_get_the_response_of_a_login,
    guesses_count_for_sessions_and_logins_together,
    of_more_than_a_hundred_sessions_the_idlest_makes_room_also_when_many_are_made_at_once,
);
for_one_deployment!(
    bad_bodies_get_the_responses_of_a_login,
    bad_names_are_refused_before_the_password_is_checked,
    the_user_agent_is_kept_in_bounds,
    the_longest_body_beside_a_user_agent_gets_the_response_of_a_login,
);

async fn wrong_credentials_get_the_response_of_a_login(setup: TestSetup) {
    let app = setup.start().await;
    let ann = app.user("ann").await;
    app.user("bob").await;
    app.database
        .execute(r#"UPDATE "user" SET disabled = TRUE WHERE username = 'bob'"#)
        .await;
    let (long_name, long_password) = ("x".repeat(256), "x".repeat(73));
    for (username, password) in [
        ("ann", "wrong"),
        ("ann", ""),
        ("ann\0", &*ann.password),
        ("ann", &*long_password),
        ("Ann", &*ann.password),
        ("stranger", "wrong"),
        ("", "pw"),
        ("a:b", "pw"),
        (&*long_name, "pw"),
        ("bob", "password of bob"),
    ] {
        let body = json!({ "username": username, "password": password });
        let login = app.bearer.post("/login", &body).await;
        login.expect_detail(401, "Invalid username or password.");
        let session = app.bearer.post("/sessions", &body).await;
        assert_eq!(session.comparable(), login.comparable(), "{body}");
    }
    assert_eq!(app.database.count_rows("SELECT 1 FROM api_key").await, 0);
}

async fn bad_bodies_get_the_responses_of_a_login(setup: TestSetup) {
    let app = setup.start().await;
    let good = json!({ "username": "admin", "password": ADMIN_PASSWORD }).to_string();
    let json = "application/json";
    for (content_type, body) in [
        (json, String::new()),
        (json, "null".to_owned()),
        (json, "[]".to_owned()),
        (json, "{}".to_owned()),
        (json, r#"{"username":"admin"}"#.to_owned()),
        (json, r#"{"password":"a"}"#.to_owned()),
        (json, r#"{"username":1,"password":"a"}"#.to_owned()),
        (json, r#"{"username":"admin","password":null}"#.to_owned()),
        (json, r#"{"username":"admin","password":["a"]}"#.to_owned()),
        (json, good[1..].to_owned()),
        (json, format!("{good}x")),
        (json, good.replace(":\"", ":\"\\ud800")),
        (json, "[".repeat(60_000)),
        (
            json,
            good.replacen('{', &format!("{{\"x\":\"{}\",", "x".repeat(100 * 1024)), 1),
        ),
        ("text/plain", good.clone()),
        (
            "application/x-www-form-urlencoded",
            "username=admin&password=a".to_owned(),
        ),
    ] {
        let send = async |path: &str| {
            let request = app
                .bearer
                .request(Method::POST, path)
                .header(CONTENT_TYPE, content_type);
            app.bearer.send(request.body(body.clone())).await
        };
        let (login, session) = (send("/login").await, send("/sessions").await);
        login.expect_error(login.status);
        assert_eq!(
            session.comparable(),
            login.comparable(),
            "{content_type} {body:.100}"
        );
    }
    for path in ["/login", "/sessions"] {
        app.bearer
            .get(path)
            .await
            .expect_detail(405, "Method Not Allowed");
        app.basic
            .post(path, &json!({}))
            .await
            .expect_detail(404, "Not Found");
    }
}

async fn bad_names_are_refused_before_the_password_is_checked(setup: TestSetup) {
    let app = setup.with("LOGIN_FAILURE_LIMIT", "1").start().await;
    for (name, detail) in [
        (json!(null), "Field \"name\" must be a string."),
        (json!(7), "Field \"name\" must be a string."),
        (json!(["a"]), "Field \"name\" must be a string."),
        (json!(""), "Session name must have 1 to 100 characters."),
        (
            json!("é".repeat(101)),
            "Session name must have 1 to 100 characters.",
        ),
        (
            json!("a\u{0}"),
            "Session name must not contain control characters.",
        ),
        (
            json!("a\u{85}b"),
            "Session name must not contain control characters.",
        ),
        (
            json!(" a"),
            "Session name must not begin or end with white space.",
        ),
        (
            json!("a\u{a0}"),
            "Session name must not begin or end with white space.",
        ),
        (
            json!("a\u{202e}"),
            "Session name must not contain invisible or unassigned characters.",
        ),
    ] {
        let body = json!({ "username": "admin", "password": "wrong", "name": name });
        let refused = app.bearer.post("/sessions", &body).await;
        let reason = if name.is_string() {
            "SESSION_INVALID"
        } else {
            "FIELD_INVALID"
        };
        refused
            .expect_detail(400, detail)
            .expect_header("rolegate-reason", Some(reason));
    }
    assert_eq!(app.database.count_rows("SELECT 1 FROM api_key").await, 0);
    // None of these requests counted as a guess of the password.
    for name in ["a:b", &"é".repeat(100), "👩‍👩‍👧 phone"] {
        let body = json!({ "username": "admin", "password": ADMIN_PASSWORD, "name": name });
        let (token, _) = of_creation(&app.bearer.post("/sessions", &body).await);
        let sessions = app.bearer.with_token(&token).get("/profile/sessions").await;
        let sessions = sessions.expect(200).json()["sessions"].as_array().cloned();
        assert_eq!(
            sessions.expect("sessions").last().expect("one")["name"],
            name
        );
    }
}

async fn the_user_agent_is_kept_in_bounds(setup: TestSetup) {
    let app = setup.start().await;
    let body = json!({ "username": "admin", "password": ADMIN_PASSWORD });
    for (sent, kept) in [
        (&b""[..], json!(null)),
        (b"curl/8.0", json!("curl/8.0")),
        (
            b"<script>alert(1)</script>",
            json!("<script>alert(1)</script>"),
        ),
        (b"\tb\t", json!("b")),
        (b"a\tb", json!("ab")),
        (&[b'x'; 300], json!("x".repeat(256))),
        ("é".repeat(200).as_bytes(), json!("é".repeat(128))),
        (
            format!("{}👍👍", "x".repeat(253)).as_bytes(),
            json!("x".repeat(253)),
        ),
        (b"a\xff\xfeb", json!("a\u{fffd}\u{fffd}b")),
    ] {
        let request = app.bearer.request(Method::POST, "/sessions").json(&body);
        let (token, session) =
            of_creation(&app.bearer.send(request.header("user-agent", sent)).await);
        let sessions = app.bearer.with_token(&token).get("/profile/sessions").await;
        let sessions = sessions.expect(200).json()["sessions"].as_array().cloned();
        let listed = sessions
            .expect("sessions")
            .into_iter()
            .find(|it| it["id"] == session["id"]);
        assert_eq!(
            listed.expect("it is listed")["user_agent"],
            kept,
            "{sent:?}"
        );
    }
}

async fn the_longest_body_beside_a_user_agent_gets_the_response_of_a_login(setup: TestSetup) {
    let app = setup.start().await;
    let body = json!({ "username": "x".repeat(65_450), "password": "wrong" });
    for agent in [
        &b"Mozilla/5.0 (X11; Linux x86_64; rv:140.0) Gecko/20100101"[..],
        &[0xff; 4_000],
    ] {
        let mut responses = Vec::new();
        for path in ["/login", "/sessions"] {
            let request = app.bearer.request(Method::POST, path).json(&body);
            let response = app.bearer.send(request.header("user-agent", agent)).await;
            response.expect_detail(401, "Invalid username or password.");
            responses.push(response);
        }
        assert_eq!(responses[0].comparable(), responses[1].comparable());
    }
}

async fn guesses_count_for_sessions_and_logins_together(setup: TestSetup) {
    let app = setup.with("LOGIN_FAILURE_LIMIT", "2").start().await;
    let wrong = json!({ "username": "admin", "password": "wrong" });
    app.bearer.post("/login", &wrong).await.expect(401);
    app.bearer.post("/sessions", &wrong).await.expect(401);
    let right = json!({ "username": "admin", "password": ADMIN_PASSWORD });
    for path in ["/sessions", "/login"] {
        let refused = app.bearer.post(path, &right).await;
        refused
            .expect_detail(429, "Too many attempts, try again later.")
            .expect_retry_after();
    }
}

async fn of_more_than_a_hundred_sessions_the_idlest_makes_room_also_when_many_are_made_at_once(
    setup: TestSetup,
) {
    let app = setup.start().await;
    let ann = app.user("ann").await;
    let (first, _) = create_session(&app.bearer, "ann", &ann.password).await;
    app.database
        .execute("UPDATE api_key SET created_at = created_at - 60")
        .await;
    let lanes = (0..8).map(|_| {
        let (bearer, password) = (app.bearer.clone(), ann.password.clone());
        tokio::spawn(async move {
            let mut made = Vec::new();
            for _ in 0..13 {
                made.push(create_session(&bearer, "ann", &password).await.0);
            }
            made
        })
    });
    let mut made = Vec::new();
    for lane in lanes.collect::<Vec<_>>() {
        made.extend(lane.await.expect("it ended"));
    }
    let mut good = 0;
    for token in &made {
        let response = app.bearer.with_token(token).get("/profile").await;
        good += usize::from(response.status == 200);
    }
    assert_eq!((made.len(), good), (104, 100));
    app.bearer
        .with_token(&first)
        .get("/profile")
        .await
        .expect(401);
    assert_eq!(app.database.count_rows("SELECT 1 FROM api_key").await, 100);
}
