//! The audit log, which does not depend on `RUST_LOG`.

use e2e::{
    ADMIN_PASSWORD, Api, Process, TestDatabase, TestSetup, TestUser, eventually,
    for_all_deployments, for_postgres_deployments, for_two_deployments,
    grpc::{self, authenticated},
};
use rolegate_proto::auth_v1::{
    ChangePasswordRequest, DeleteUserRequest, RegisterRequest, SetPasswordRequest,
    SetUserRoleRequest,
};
use serde_json::{Value, json};

for_all_deployments!(every_audited_event_is_logged);
for_two_deployments!(
    reaching_the_login_rate_limit_is_logged_once_per_window,
    denials_are_audited_once_a_minute_for_each_actor_and_route,
);
for_postgres_deployments!(write_of_a_cancelled_call_is_still_logged);

/// Waits until the audit log has this many lines whose events begin with `kind`. Returns them
/// without the fields that differ from run to run.
pub(crate) async fn audit(process: &Process, kind: &str, count: usize) -> Vec<Value> {
    // Seals belong to the service and not to a request, so they are left out.
    let is_meant = |line: &Value| {
        let event = line["event"]
            .as_str()
            .filter(|event| *event != "audit_sealed");
        event.is_some_and(|event| event.starts_with(kind))
    };
    let what = format!("{count} events {kind:?} in the audit log");
    let mut lines = eventually(&what, async || {
        let log = process.stderr();
        let lines = log
            .lines()
            .filter_map(|line| serde_json::from_str(line).ok());
        let lines: Vec<Value> = lines.filter(is_meant).collect();
        (lines.len() >= count).then_some(lines)
    })
    .await;
    for line in &mut lines {
        assert_eq!(
            (&line["target"], &line["level"]),
            (&json!("audit"), &json!("INFO")),
            "{line}"
        );
        assert_eq!(line["client_address"], "127.0.0.1", "{line}");
        let line = line.as_object_mut().expect("an object");
        for name in ["target", "level", "client_address", "timestamp"] {
            line.remove(name).expect(name);
        }
    }
    lines
}

/// Cancels a call of this method while its statement waits for the table lock, and then unlocks the
/// table.
pub(crate) async fn cancel_while_writing<T: Send + 'static>(
    database: &TestDatabase,
    table: &'static str,
    process: &Process,
    method: &str,
    call: impl Future<Output = T> + Send + 'static,
) {
    let mut locked = database.lock(table).await;
    let call = tokio::spawn(call);
    while !locked.has_waiters().await {
        assert!(!call.is_finished(), "{method} returned before it wrote");
    }
    call.abort();
    let ops = Api::at(&process.address("ops"));
    let cancelled = format!(r#"code="CANCELLED",method="{method}""#);
    eventually("the end of the call", async || {
        ops.get("/metrics")
            .await
            .expect(200)
            .body
            .contains(&cancelled)
            .then_some(())
    })
    .await;
    locked.unlock().await;
}

async fn every_audited_event_is_logged(setup: TestSetup) {
    let setup = setup.with("LOG_FORMAT", "json").with("RUST_LOG", "off");
    // In one process, this log also has the denial, which otherwise the gateway logs.
    let events = if setup.is_all_in_one() { 17 } else { 16 };
    let app = setup.start().await;
    let ann = app.user("ann").await;
    let admin = app.admin().await;
    let set = app.set_role(&admin, &ann, "author").await;
    let refused = app.set_role(&ann, &admin, "user").await;
    refused.expect(403);
    let wrong = app.try_log_in("ann", "not hers").await;
    let unknown = app.try_log_in("a password typed here", "x").await;
    let basic = app.basic.with_basic("admin", ADMIN_PASSWORD);
    for _ in 0..2 {
        basic.get("/protected").await.expect(200);
    }

    let api = app.bearer.with_token(&ann.token);
    let change = json!({ "current_password": ann.password, "new_password": "new" });
    api.put("/profile/password", &change).await.expect(200);
    let api = app.bearer.with_token(&admin.token);
    let path = format!("/users/{}", ann.id);
    api.put(&format!("{path}/password"), &json!({ "password": "newer" }))
        .await
        .expect(200);
    let new = json!({ "username": "bob", "password": "pw", "role": "author" });
    let bob = api.post("/users", &new).await.expect(201).json()["id"].clone();
    for disabled in [true, false] {
        let update = api.request(reqwest::Method::PATCH, &path);
        api.send(update.json(&json!({ "disabled": disabled })))
            .await
            .expect(200);
        app.try_log_in("ann", "newer")
            .await
            .expect(if disabled { 401 } else { 200 });
    }
    api.send(api.request(reqwest::Method::DELETE, &path))
        .await
        .expect(200);

    let mut lines = audit(app.auth(), "", events).await;
    lines.retain(|line| line["event"] != "access_denied");
    let ids: Vec<Value> = lines
        .iter_mut()
        .map(|line| {
            line.as_object_mut()
                .and_then(|line| line.remove("request_id"))
                .expect("an id")
        })
        .collect();
    let id = |response: &e2e::TestResponse| json!(response.header("x-request-id").expect("an id"));
    assert_eq!(ids[3..6], [id(&set), id(&wrong), id(&unknown)]);
    let expected = [
        json!({ "event": "registered", "user_id": ann.id, "username": "ann" }),
        json!({ "event": "login_ok", "user_id": ann.id, "username": "ann", "method": "login" }),
        json!({ "event": "login_ok", "user_id": admin.id, "username": "admin", "method": "login" }),
        json!({
            "event": "role_changed", "user_id": ann.id, "username": "ann", "from": "user",
            "to": "author", "actor_id": admin.id, "actor": "admin",
        }),
        json!({
            "event": "login_failed", "user_id": ann.id, "username": "ann", "method": "login",
            "reason": "wrong_password",
        }),
        json!({ "event": "login_failed", "method": "login", "reason": "unknown_user" }),
        // The second request was answered from the Basic cache, so it is not logged.
        json!({ "event": "login_ok", "user_id": admin.id, "username": "admin", "method": "basic" }),
        json!({
            "event": "login_ok", "user_id": ann.id, "username": "ann", "method": "password_change",
        }),
        json!({ "event": "password_changed", "user_id": ann.id, "username": "ann" }),
        json!({
            "event": "password_set", "user_id": ann.id, "username": "ann",
            "actor_id": admin.id, "actor": "admin",
        }),
        json!({
            "event": "user_created", "user_id": bob, "username": "bob", "role": "author",
            "actor_id": admin.id, "actor": "admin",
        }),
        json!({
            "event": "user_disabled", "user_id": ann.id, "username": "ann", "role": "author",
            "actor_id": admin.id, "actor": "admin",
        }),
        json!({
            "event": "login_failed", "user_id": ann.id, "username": "ann", "method": "login",
            "reason": "disabled",
        }),
        json!({
            "event": "user_enabled", "user_id": ann.id, "username": "ann", "role": "author",
            "actor_id": admin.id, "actor": "admin",
        }),
        json!({ "event": "login_ok", "user_id": ann.id, "username": "ann", "method": "login" }),
        json!({
            "event": "user_deleted", "user_id": ann.id, "username": "ann", "role": "author",
            "actor_id": admin.id, "actor": "admin",
        }),
    ];
    assert_eq!(lines, expected);
}

async fn reaching_the_login_rate_limit_is_logged_once_per_window(setup: TestSetup) {
    let setup = setup.with("LOG_FORMAT", "json").with("RUST_LOG", "off");
    let app = setup.with("LOGIN_FAILURE_LIMIT", "2").start().await;
    let statuses = [
        app.try_log_in("admin", "wrong").await.status,
        app.try_log_in("admin", "wrong").await.status,
        app.try_log_in("admin", "wrong").await.status,
        app.try_log_in("admin", "wrong").await.status,
    ];
    assert_eq!(statuses, [401, 401, 429, 429]);
    // A registration comes last: once it is logged, all earlier events are logged, too.
    app.try_register("ann", "a password").await.expect(200);
    let lines = audit(app.auth(), "", 4).await;
    let reasons: Vec<&str> = lines
        .iter()
        .map(|line| line["reason"].as_str().unwrap_or("none"))
        .collect();
    assert_eq!(
        reasons,
        [
            "wrong_password",
            "wrong_password",
            "too_many_attempts",
            "none"
        ]
    );
}

async fn denials_are_audited_once_a_minute_for_each_actor_and_route(setup: TestSetup) {
    let setup = setup.with("LOG_FORMAT", "json").with("RUST_LOG", "off");
    let app = setup.with("REGISTRATION", "closed").start().await;
    app.try_register("ann", "a password").await.expect(403);
    let admin = app.admin().await;
    let api = app.bearer.with_token(&admin.token);
    api.post("/users", &json!({ "username": "bob", "password": "pw" }))
        .await
        .expect(201);
    let bob = TestUser::log_in(&app.bearer, "bob", "pw").await;
    app.database.set_role("admin", "author").await;
    for _ in 0..3 {
        api.get("/admin").await.expect(403);
        app.bearer
            .with_token(&bob.token)
            .get("/admin")
            .await
            .expect(403);
        api.get("/users/1").await.expect(403);
    }
    app.bearer
        .with_token("not a token")
        .get("/admin")
        .await
        .expect(401);
    app.database.set_role("admin", "user").await;
    api.get("/author").await.expect(403);
    let mut lines = audit(app.gateway(), "access_denied", 5).await;
    for line in &mut lines {
        line.as_object_mut()
            .and_then(|line| line.remove("request_id"))
            .expect("an id");
    }
    let denied = |actor: &TestUser, route: &str, required: &str| {
        json!({
            "event": "access_denied", "actor_id": actor.id, "actor": actor.username,
            "method": "GET", "route": route, "required_roles": required,
            "reason": "ROLE_INSUFFICIENT",
        })
    };
    let expected = [
        json!({
            "event": "access_denied", "method": "POST", "route": "/register",
            "reason": "REGISTRATION_CLOSED",
        }),
        denied(&admin, "/admin", "admin"),
        denied(&bob, "/admin", "admin"),
        denied(&admin, "/users/{user_id}", "admin"),
        denied(&admin, "/author", "author,admin"),
    ];
    assert_eq!(lines, expected);
}

async fn write_of_a_cancelled_call_is_still_logged(setup: TestSetup) {
    let app = setup
        .with("LOG_FORMAT", "json")
        .with("RUST_LOG", "off")
        .start()
        .await;
    let (ann, admin) = (app.user("ann").await, app.admin().await);
    let client = grpc::client(&app.auth().address("grpc")).await;
    let leave = async |method: &str, call: Call| {
        cancel_while_writing(&app.database, "\"user\"", app.auth(), method, call).await;
    };
    let logged = async |event: &str, count| {
        audit(app.auth(), event, count).await.remove(count - 1)["username"].clone()
    };

    let mut bob = client.clone();
    let request = RegisterRequest {
        username: "bob".to_owned(),
        password: "bob's".to_owned(),
    };
    leave(
        "Register",
        box_up(async move { bob.register(request).await }),
    )
    .await;
    assert_eq!(logged("registered", 2).await, "bob");

    let mut changing = client.clone();
    let (current_password, new_password) = (ann.password.clone(), "new".to_owned());
    let request = ChangePasswordRequest {
        current_password,
        new_password,
    };
    let request = authenticated(request, &ann.token);
    leave(
        "ChangePassword",
        box_up(async move { changing.change_password(request).await }),
    )
    .await;
    assert_eq!(logged("password_changed", 1).await, "ann");

    let mut acts = client.clone();
    let request = SetUserRoleRequest {
        user_id: ann.id,
        role_name: "author".to_owned(),
        role: 0,
    };
    let request = authenticated(request, &admin.token);
    leave(
        "SetUserRole",
        box_up(async move { acts.set_user_role(request).await }),
    )
    .await;
    assert_eq!(logged("role_changed", 1).await, "ann");

    let mut acts = client.clone();
    let request = SetPasswordRequest {
        user_id: ann.id,
        password: "newer".to_owned(),
    };
    let request = authenticated(request, &admin.token);
    leave(
        "SetPassword",
        box_up(async move { acts.set_password(request).await }),
    )
    .await;
    assert_eq!(logged("password_set", 1).await, "ann");

    let mut acts = client;
    let request = authenticated(DeleteUserRequest { user_id: ann.id }, &admin.token);
    leave(
        "DeleteUser",
        box_up(async move { acts.delete_user(request).await }),
    )
    .await;
    assert_eq!(logged("user_deleted", 1).await, "ann");
    assert_eq!(app.database.user("ann").await, None);
}

type Call = std::pin::Pin<Box<dyn Future<Output = ()> + Send>>;

/// Boxes a call whose response nobody reads.
fn box_up<T>(call: impl Future<Output = T> + Send + 'static) -> Call {
    Box::pin(async { drop(call.await) })
}
