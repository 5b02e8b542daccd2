//! Sessions: where they are accepted, how they are listed, and how they end.

use crate::api_keys::create_key;
use e2e::{
    Api, TestApp, TestResponse, TestSetup, TestUser, ext_authz, for_all_deployments,
    for_two_deployments, grpc, token,
};
use reqwest::Method;
use rolegate_proto::auth_v1::{
    AnyAuthenticated, AuthorizeRequest, BatchAuthorizeRequest, authorize_outcome::Outcome,
    authorize_request::Requirement,
};
use serde_json::{Value, json};

for_all_deployments!(
    a_session_is_accepted_wherever_a_token_is,
    a_session_has_the_stored_role_and_ends_from_the_next_request_on,
);
for_two_deployments!(sessions_are_listed_and_ended_by_their_user_and_by_admins);

const ENDED: &str = "Invalid or expired token.";

/// Creates a session of the user with this name. Returns its token, and the rest of the response.
pub(crate) async fn create_session(api: &Api, username: &str, password: &str) -> (String, Value) {
    let body = json!({ "username": username, "password": password });
    of_creation(&api.post("/sessions", &body).await)
}

/// Returns the token and the rest of a response that created a session.
pub(crate) fn of_creation(response: &TestResponse) -> (String, Value) {
    let mut session = response.expect(201).json();
    let location = format!("/profile/sessions/{}", session["id"]);
    response.expect_header("location", Some(&location));
    let token = session
        .as_object_mut()
        .and_then(|it| it.remove("token"))
        .expect("a token");
    let token = token.as_str().expect("a string").to_owned();
    assert!(token.starts_with("rgs_") && token.len() == 47, "{token}");
    (token, session)
}

pub(crate) async fn sign_in(app: &TestApp, user: &TestUser) -> (Api, i64) {
    let (token, session) = create_session(&app.bearer, &user.username, &user.password).await;
    (
        app.bearer.with_token(&token),
        session["id"].as_i64().expect("an id"),
    )
}

pub(crate) async fn delete(api: &Api, path: &str) -> TestResponse {
    api.send(api.request(Method::DELETE, path)).await
}

pub(crate) async fn log_out(api: &Api) -> TestResponse {
    api.send(api.request(Method::POST, "/logout")).await
}

/// Returns the ids of the caller's own sessions.
pub(crate) async fn listed(api: &Api) -> Vec<i64> {
    let body = api.get("/profile/sessions").await.expect(200).json();
    let sessions = body["sessions"].as_array().expect("sessions");
    sessions
        .iter()
        .map(|session| session["id"].as_i64().expect("an id"))
        .collect()
}

#[expect(
    clippy::too_many_lines,
    reason = "one story, whose later steps depend on the earlier ones"
)]
async fn a_session_is_accepted_wherever_a_token_is(setup: TestSetup) {
    let app = setup.start().await;
    let ann = app.user_with_role("ann", "author").await;
    let before = token::now();
    let (session, made) = create_session(&app.bearer, "ann", &ann.password).await;
    let after = token::now();
    assert_eq!(
        made.as_object().map(serde_json::Map::len),
        Some(3),
        "{made}"
    );
    for (end, seconds) in [("expires_at", 30 * 86_400), ("idle_expires_at", 12 * 3600)] {
        let at = unix_seconds(&made[end]);
        assert!(
            (before + seconds..=after + seconds).contains(&at),
            "{end}: {made}"
        );
    }
    let api = app.bearer.with_token(&session);
    let profile = json!({ "message": "Welcome ann!", "role": "author" });
    api.get("/profile").await.expect_json(200, &profile);
    api.get("/author").await.expect_message("Welcome Author!");
    api.get("/admin")
        .await
        .expect_detail(403, "Insufficient privileges.");
    let post = json!({ "title": "by a page", "content": "some content" });
    let made = api.post("/posts", &post).await.expect(201).json();
    assert_eq!(
        (&made["author_id"], &made["author"]),
        (&json!(ann.id), &json!("ann"))
    );
    let path = format!("/posts/{}", made["id"]);
    api.put(&path, &post).await.expect(200);
    delete(&api, &path).await.expect(200);
    // Unlike an API key, a session may do everything that its user may.
    create_key(&api, &json!({ "name": "export" })).await;
    delete(&api, "/profile/keys")
        .await
        .expect_message("API keys deleted.");
    // A session is not accepted as a password.
    app.basic
        .with_basic("ann", &session)
        .get("/protected")
        .await
        .expect(401);
    app.basic
        .with_token(&session)
        .get("/protected")
        .await
        .expect(401);

    let proxy = Api::at(&app.gateway().address("forward")).with_token(&session);
    let passed = proxy.get("/authorize?roles=author").await;
    passed
        .expect(200)
        .expect_header("rolegate-user-id", Some(&ann.id.to_string()));
    passed.expect_header("rolegate-role", Some("author"));
    proxy
        .get("/authorize?roles=admin")
        .await
        .expect_detail(403, "Insufficient privileges.");
    let form = format!("token={session}");
    let form = proxy.request(Method::POST, "/introspect").body(form);
    let form = form.header("content-type", "application/x-www-form-urlencoded");
    let active = json!({
        "active": true,
        "sub": ann.id.to_string(),
        "username": "ann",
        "role": "author",
        "groups": [],
        "token_type": "bearer",
    });
    proxy.send(form).await.expect_json(200, &active);

    let grpc_address = app.auth().address("grpc");
    let envoy = ext_authz::client(&grpc_address).await;
    let check = ext_authz::check(Some("author"), Some(&format!("Bearer {session}")));
    ext_authz::decide(&envoy, check)
        .await
        .expect_passed(ann.id, "ann", "author");
    let item = |credential: &str| AuthorizeRequest {
        access_token: credential.to_owned(),
        requirement: Some(Requirement::AnyAuthenticated(AnyAuthenticated {})),
        client_address: None,
        from_cookie: false,
    };
    let mut client = grpc::client(&grpc_address).await;
    let user = client
        .authorize(item(&session))
        .await
        .expect("good")
        .into_inner()
        .user;
    assert_eq!(
        user.as_ref().map(|user| (user.id, &*user.role_name)),
        Some((ann.id, "author"))
    );
    let unknown = format!("rgs_{}", "A".repeat(43));
    let items = vec![
        item(&ann.token),
        item(&session),
        item(&unknown),
        item(&session),
    ];
    let batch = client
        .batch_authorize(BatchAuthorizeRequest { items })
        .await
        .expect("decided");
    let outcomes = batch
        .into_inner()
        .outcomes
        .into_iter()
        .map(|outcome| outcome.outcome);
    let good = user.map(Outcome::User);
    let refused = Some(Outcome::RefusalReason("TOKEN_INVALID".to_owned()));
    assert_eq!(
        outcomes.collect::<Vec<_>>(),
        [good.clone(), good.clone(), refused, good]
    );
}

fn unix_seconds(time: &Value) -> u64 {
    let time = time.as_str().expect("a time");
    assert!(time.len() == 24 && time.contains(".000Z"), "{time}");
    let time = humantime::parse_rfc3339(time).expect("RFC 3339");
    time.duration_since(std::time::UNIX_EPOCH)
        .expect("after 1970")
        .as_secs()
}

async fn a_session_has_the_stored_role_and_ends_from_the_next_request_on(setup: TestSetup) {
    let app = setup.start().await;
    let (admin, ann) = (app.admin().await, app.user("ann").await);
    let ((one, _), (two, _)) = (sign_in(&app, &ann).await, sign_in(&app, &ann).await);
    for (role, status) in [("admin", 200), ("author", 403), ("user", 403)] {
        app.set_role(&admin, &ann, role).await.expect(200);
        for api in [&one, &two] {
            api.get("/users").await.expect(status);
            assert_eq!(api.get("/me").await.expect(200).json()["role"], role);
        }
    }
    let (key, _) = create_key(&one, &json!({ "name": "export" })).await;
    // A logout with a session ends only that session. A logout with an access token ends all
    // sessions and all access tokens of the user.
    log_out(&one).await.expect_message("Logged out.");
    one.get("/profile").await.expect_detail(401, ENDED);
    log_out(&one).await.expect_detail(401, ENDED);
    two.get("/profile").await.expect(200);
    let by_token = app.bearer.with_token(&ann.token);
    assert_eq!(listed(&by_token).await.len(), 1);
    log_out(&by_token).await.expect_message("Logged out.");
    for ended in [&one, &two, &by_token] {
        ended.get("/profile").await.expect_detail(401, ENDED);
    }
    let (three, id) = sign_in(&app, &ann).await;
    assert_eq!(listed(&three).await, [id], "the next one is good at once");
    delete(
        &app.bearer.with_token(&admin.token),
        &format!("/users/{}/tokens", ann.id),
    )
    .await
    .expect_message("Tokens revoked.");
    three.get("/profile").await.expect_detail(401, ENDED);
    app.bearer
        .with_token(&key)
        .get("/profile")
        .await
        .expect(200);
}

#[expect(
    clippy::too_many_lines,
    reason = "one story, whose later steps depend on the earlier ones"
)]
async fn sessions_are_listed_and_ended_by_their_user_and_by_admins(setup: TestSetup) {
    let app = setup.start().await;
    let (admin, ann, bob) = (
        app.admin().await,
        app.user("ann").await,
        app.user("bob").await,
    );
    let body = json!({ "username": "ann", "password": ann.password, "name": "läptop 1" });
    let request = app.bearer.request(Method::POST, "/sessions").json(&body);
    let agent = "Mozilla/5.0 (X11; Linux x86_64)";
    let made = of_creation(&app.bearer.send(request.header("user-agent", agent)).await);
    let (one, first) = (app.bearer.with_token(&made.0), made.1);
    let (two, second) = sign_in(&app, &ann).await;
    let as_bob = sign_in(&app, &bob).await.0;
    let by_token = app.bearer.with_token(&ann.token);
    let sessions = by_token.get("/profile/sessions").await.expect(200).json()["sessions"].clone();
    let created_at = sessions[0]["created_at"].clone();
    unix_seconds(&created_at);
    let expected = json!({
        "id": first["id"],
        "name": "läptop 1",
        "created_at": created_at,
        "last_used_at": null,
        "client_address": "127.0.0.1",
        "user_agent": agent,
        "expires_at": first["expires_at"],
        "current": false,
    });
    assert_eq!(sessions[0], expected);
    let rest = json!([second, null, null, false]);
    let names = ["id", "name", "user_agent", "current"];
    assert_eq!(json!(names.map(|name| &sessions[1][name])), rest);
    assert_eq!(sessions.as_array().map(Vec::len), Some(2));
    let as_admin = app.bearer.with_token(&admin.token);
    let of_ann = format!("/users/{}/sessions", ann.id);
    as_admin
        .get(&of_ann)
        .await
        .expect_json(200, &json!({ "sessions": sessions }));
    let mine = two.get("/profile/sessions").await.expect(200).json();
    let current = [0, 1].map(|index| mine["sessions"][index]["current"].clone());
    assert_eq!(current, [json!(false), json!(true)]);
    unix_seconds(&mine["sessions"][1]["last_used_at"]);

    for refused in [as_bob.get(&of_ann).await, delete(&as_bob, &of_ann).await] {
        refused.expect_detail(403, "Insufficient privileges.");
    }
    as_admin
        .get("/users/999999/sessions")
        .await
        .expect_detail(404, "User not found.");
    delete(&as_admin, "/users/999999/sessions")
        .await
        .expect_detail(404, "User not found.");
    let path = format!("/profile/sessions/{}", first["id"]);
    for stranger in [&as_bob, &as_admin] {
        let refused = delete(stranger, &path).await;
        refused.expect_detail(404, "Session not found.");
        refused.expect_header("rolegate-reason", Some("SESSION_NOT_FOUND"));
    }
    let not_a_number = "Path parameter \"session_id\" must be an integer.";
    delete(&one, "/profile/sessions/x")
        .await
        .expect_detail(400, not_a_number);
    delete(&app.bearer, "/profile/sessions/x")
        .await
        .expect_detail(401, "Not authenticated.");
    // An API key may list the sessions and cannot end any.
    let (key, stored) = create_key(&one, &json!({ "name": "export" })).await;
    let as_key = app.bearer.with_token(&key);
    assert_eq!(listed(&as_key).await.len(), 2);
    for refused in [
        delete(&as_key, &path).await,
        delete(&as_key, "/profile/sessions").await,
    ] {
        refused.expect_detail(403, "Insufficient privileges.");
    }
    // The id of a key does not find a session, nor does the id of a session find a key.
    let of_key = format!("/profile/sessions/{}", stored["id"]);
    delete(&one, &of_key)
        .await
        .expect_detail(404, "Session not found.");
    let of_session = format!("/profile/keys/{}", first["id"]);
    delete(&one, &of_session)
        .await
        .expect_detail(404, "API key not found.");

    delete(&two, &path).await.expect_message("Session ended.");
    delete(&two, &path)
        .await
        .expect_detail(404, "Session not found.");
    one.get("/profile").await.expect_detail(401, ENDED);
    let third = sign_in(&app, &ann).await;
    delete(&two, "/profile/sessions")
        .await
        .expect_message("Sessions ended.");
    third.0.get("/profile").await.expect_detail(401, ENDED);
    assert_eq!(listed(&two).await, [second], "the current one stays");
    delete(&as_admin, &format!("{of_ann}/{second}"))
        .await
        .expect_message("Session ended.");
    two.get("/profile").await.expect_detail(401, ENDED);
    let fourth = sign_in(&app, &ann).await;
    delete(&by_token, "/profile/sessions")
        .await
        .expect_message("Sessions ended.");
    let fifth = sign_in(&app, &ann).await;
    delete(&as_admin, &of_ann)
        .await
        .expect_message("Sessions ended.");
    for (ended, _) in [fourth, fifth] {
        ended.get("/profile").await.expect_detail(401, ENDED);
    }
    as_key.get("/profile").await.expect(200);
    as_bob.get("/profile").await.expect(200);
}
