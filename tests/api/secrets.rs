//! No password, hash, token or secret in anything that a program prints.

use auth_proto::auth_v1;
use base64::{Engine as _, engine::general_purpose::STANDARD};
use e2e::{
    ADMIN_PASSWORD, Api, Collector, Plan, SIGNING_SECRET, World,
    grpc::{self, acting},
    in_every_world,
};
use reqwest::{Method, header::CONTENT_TYPE};
use serde_json::json;

in_every_world!(nothing_secret_is_printed_at_trace, nothing_secret_is_told_to_programs);

const PASSWORD: &str = "planted-password-1f6d";
const WRONG_PASSWORD: &str = "planted-wrong-password-77b2";
const NEW_PASSWORD: &str = "planted-new-password-52aa";
const BROKEN_PASSWORD: &str = "planted-broken-password-0c3e";

async fn nothing_secret_is_printed_at_trace(plan: Plan) {
    nothing_secret_is_printed(plan.with("RUST_LOG", "trace")).await;
}

/// Lines of JSON, spans and metrics.
async fn nothing_secret_is_told_to_programs(plan: Plan) {
    let collector = Collector::start().await;
    let plan = plan
        .with("RUST_LOG", "trace")
        .with("LOG_FORMAT", "json")
        .with("OTEL_EXPORTER_OTLP_ENDPOINT", &collector.url());
    let (secrets, metrics) = nothing_secret_is_printed(plan).await;
    let spans = collector.spans();
    assert!(spans.iter().any(|span| span.name == "POST /login"), "{spans:#?}");
    let told = format!("{spans:?}{metrics}");
    for secret in &secrets {
        assert!(!told.contains(secret), "{secret} was told in a span or a metric: {told}");
    }
}

/// Returns the secrets, and the metrics, in which they must not be either.
async fn nothing_secret_is_printed(plan: Plan) -> (Vec<String>, String) {
    let world = plan.start().await;
    let mut secrets = tour(&world).await;
    let mut metrics = String::new();
    for process in world.processes() {
        metrics += &Api::at(&process.address("ops")).get("/metrics").await.expect(200).body;
    }
    for name in ["admin", "ann"] {
        secrets.push(world.database.user(name).await.expect("stored").password);
    }
    let database = world.database.url();
    let (processes, _database) = world.into_processes();
    for process in processes {
        process.terminate();
        let exit = process.exit().await;
        assert_eq!(exit.code, Some(0), "{}", exit.stderr);
        let printed = exit.stdout + &exit.stderr;
        assert!(printed.contains("INFO"), "nothing was logged: {printed}");
        for secret in &secrets {
            let lines: Vec<_> = printed.lines().filter(|line| line.contains(secret)).collect();
            assert!(lines.is_empty(), "{secret} was printed: {lines:#?}");
        }
        // Not even by its parts: a token without its signature is half a secret too.
        assert!(!printed.contains("eyJ"), "part of a token was printed: {printed}");
        assert!(!printed.contains("$2b$"), "part of a hash was printed: {printed}");
    }
    drop(database);
    (secrets, metrics)
}

/// Uses every endpoint well and badly, and returns what must not be seen.
async fn tour(world: &World) -> Vec<String> {
    let admin = world.admin().await;
    let user = json!({ "username": "ann", "password": PASSWORD });
    let mut secrets: Vec<String> =
        [PASSWORD, WRONG_PASSWORD, NEW_PASSWORD, BROKEN_PASSWORD, ADMIN_PASSWORD, SIGNING_SECRET]
            .map(str::to_owned)
            .into();
    secrets.push(admin.token.clone());
    secrets.push(STANDARD.encode(format!("ann:{PASSWORD}")));
    secrets.push(STANDARD.encode(format!("ann:{WRONG_PASSWORD}")));
    for api in [&world.bearer, &world.basic] {
        api.post("/register", &user).await;
        api.post("/register", &json!({ "username": "a:b", "password": BROKEN_PASSWORD })).await;
        api.post("/register", &json!({ "username": "b", "password": [BROKEN_PASSWORD] })).await;
        let nul = format!("{BROKEN_PASSWORD}\0");
        api.post("/register", &json!({ "username": "b", "password": nul })).await;
        let long = BROKEN_PASSWORD.repeat(4);
        api.post("/register", &json!({ "username": "b", "password": long })).await;
        malformed(api, "/register").await;
        api.get("/").await.expect(200);
        api.get("/public").await.expect(200);
        api.get(&format!("/nowhere?password={BROKEN_PASSWORD}")).await.expect(404);
    }
    malformed(&world.bearer, "/login").await;
    world.try_log_in("ann", WRONG_PASSWORD).await.expect(401);
    world.try_log_in("nobody", WRONG_PASSWORD).await.expect(401);
    let answer = world.try_log_in("ann", PASSWORD).await.expect(200).json();
    let token = answer["access_token"].as_str().expect("a token").to_owned();
    for token in [&token, &admin.token, &format!("{token}x"), &token[1..].to_owned()] {
        let api = world.bearer.with_token(token);
        let reads = ["/profile", "/protected", "/author", "/admin", "/users", "/users?limit=0"];
        for path in reads.into_iter().chain(["/users/2", "/posts", "/posts/1"]) {
            api.get(path).await;
        }
        api.put("/users/2/role", &json!({ "role": BROKEN_PASSWORD })).await;
        api.put("/users/2/role", &json!({ "role": "author" })).await;
        api.post("/posts", &json!({ "title": "a post", "content": "of ann's" })).await;
        api.put("/posts/1", &json!({ "title": "a post", "content": "changed" })).await;
        let long = BROKEN_PASSWORD.repeat(4);
        api.put("/users/2/password", &json!({ "password": long })).await;
        let wrong = json!({ "current_password": WRONG_PASSWORD, "new_password": NEW_PASSWORD });
        api.put("/profile/password", &wrong).await;
    }
    for password in [PASSWORD, WRONG_PASSWORD] {
        world.basic.with_basic("ann", password).get("/protected").await;
        world.basic.with_basic("nobody", password).get("/protected").await;
    }
    let change = json!({ "current_password": PASSWORD, "new_password": NEW_PASSWORD });
    world.bearer.with_token(&token).put("/profile/password", &change).await.expect(200);
    let set = json!({ "password": NEW_PASSWORD });
    let as_admin = world.bearer.with_token(&admin.token);
    as_admin.put("/users/2/password", &set).await.expect(200);
    over_grpc(world, &token).await;
    as_admin.send(as_admin.request(Method::DELETE, "/posts/1")).await;
    secrets.push(token);
    secrets
}

async fn malformed(api: &Api, path: &str) {
    let body = format!("{{\"username\":\"ann\",\"password\":\"{BROKEN_PASSWORD}\"");
    let request = api.request(Method::POST, path).header(CONTENT_TYPE, "application/json");
    api.send(request.body(body)).await.expect(400);
}

async fn over_grpc(world: &World, token: &str) {
    let mut client = grpc::client(&world.auth().address("grpc")).await;
    let username = "ann".to_owned();
    let request = auth_v1::LoginRequest { username, password: WRONG_PASSWORD.to_owned() };
    client.login(request).await.expect_err("a wrong password");
    let page = auth_v1::ListUsersRequest::default();
    client.list_users(acting(page, token)).await.expect_err("not an admin");
}
