//! Runs the steps of docker-compose.yml in order, with processes instead of containers. Each gets the folder of secrets
//! that its container mounts.

use e2e::{Api, Exit, Process, Program, Store, TestDatabase, TestUser, eventually, postgres};
use serde_json::json;
use std::{collections::BTreeMap, fs, os::unix::fs::PermissionsExt, path::Path};

type Settings = BTreeMap<String, String>;

fn settings<const N: usize>(settings: [(&str, String); N]) -> Settings {
    settings
        .map(|(name, value)| (name.to_owned(), value))
        .into()
}

fn anywhere() -> String {
    "127.0.0.1:0".to_owned()
}

async fn run(program: Program, arguments: &[&str], settings: &Settings, folder: &Path) {
    let exit: Exit = Process::run(program, arguments, settings, folder, "").await;
    assert_eq!(exit.code, Some(0), "{arguments:?}: {exit:?}");
}

/// Repeats the health check until it succeeds, as Compose does.
async fn wait_for_health(process: &Process, program: Program, folder: &Path) {
    let ops = settings([("OPS_LISTEN_ADDR", process.socket_address("ops").to_string())]);
    eventually("health", async || {
        let exit = Process::run(program, &["healthcheck"], &ops, folder, "").await;
        (exit.code == Some(0)).then_some(())
    })
    .await;
}

#[tokio::test]
async fn compose_steps_lead_to_a_working_deployment() {
    let database = TestDatabase::create(Store::Postgres).await;
    let folder = tempfile::tempdir().expect("a folder");
    let folder = folder.path();
    let secrets = folder.join("secrets");
    let file = |name: &str| secrets.join(name).display().to_string();
    let database_secrets = folder.join("database-secrets");
    let database_file = |name: &str| database_secrets.join(name).display().to_string();

    // If the server of `TEST_DATABASE_URL` already has a password, `init-secrets` must keep it, so it is written first.
    if let Some(password) = postgres::url().password() {
        fs::create_dir(&secrets).expect("made");
        fs::set_permissions(&secrets, fs::Permissions::from_mode(0o700)).expect("set");
        fs::write(file("database-password"), password).expect("written");
        let mode = fs::Permissions::from_mode(0o600);
        fs::set_permissions(file("database-password"), mode).expect("set");
    }
    let url = database.url();
    let (_, place) = url.split_once("://").expect("a URL");
    let (user, place) = place.split_once('@').expect("a URL with a user");
    let place = format!("{}@{place}", user.split(':').next().expect("a name"));
    let directory = secrets.display().to_string();
    let copies = format!("--database-secrets={}", database_secrets.display());
    let init = [
        "init-secrets",
        &directory,
        &format!("--postgres={place}"),
        &copies,
    ];
    run(Program::AuthService, &init, &Settings::new(), folder).await;

    let of_migrate = settings([("DATABASE_URL_FILE", database_file("database-url"))]);
    run(Program::AuthService, &["migrate"], &of_migrate, folder).await;
    run(Program::PostsService, &["migrate"], &of_migrate, folder).await;
    assert_eq!(database.count_users().await, 0);

    let of_auth = settings([
        ("DATABASE_URL_FILE", file("database-url")),
        ("SIGNING_SECRET_FILE", file("signing-secret")),
        ("SECOND_FACTOR_KEY_FILE", file("second-factor-key")),
        ("DEFAULT_ADMIN_PASSWORD_FILE", file("admin-password")),
        ("AUTH_LISTEN_ADDR", anywhere()),
        ("OPS_LISTEN_ADDR", anywhere()),
    ]);
    let auth = Process::start_with(Program::FastHashAuthService, &["serve"], &of_auth, folder);
    let auth = auth.ready().await;
    wait_for_health(&auth, Program::AuthService, folder).await;
    run(Program::AuthService, &["doctor"], &of_auth, folder).await;

    let of_posts = settings([
        ("DATABASE_URL_FILE", database_file("database-url")),
        ("AUTH_SERVICE_URL", auth.address("grpc")),
        ("POSTS_LISTEN_ADDR", anywhere()),
        ("OPS_LISTEN_ADDR", anywhere()),
    ]);
    let posts = Process::start_with(Program::PostsService, &["serve"], &of_posts, folder);
    let posts = posts.ready().await;
    wait_for_health(&posts, Program::PostsService, folder).await;
    run(Program::PostsService, &["doctor"], &of_posts, folder).await;

    let of_gateway = settings([
        ("AUTH_SERVICE_URL", auth.address("grpc")),
        ("POSTS_SERVICE_URL", posts.address("grpc")),
        ("BEARER_LISTEN_ADDR", anywhere()),
        ("BASIC_LISTEN_ADDR", anywhere()),
        ("FORWARD_AUTH_LISTEN_ADDR", anywhere()),
        ("OPS_LISTEN_ADDR", anywhere()),
    ]);
    let gateway = Process::start_with(Program::Gateway, &["serve"], &of_gateway, folder);
    let gateway = gateway.ready().await;
    wait_for_health(&gateway, Program::Gateway, folder).await;

    let password = fs::read_to_string(file("admin-password")).expect("made");
    let bearer = Api::at(&gateway.address("bearer"));
    let admin = TestUser::log_in(&bearer, "admin", password.trim_end_matches('\n')).await;
    let api = bearer.with_token(&admin.token);
    api.get("/admin").await.expect(200);
    let post = json!({ "title": "First", "content": "Written in containers." });
    let post = api.post("/posts", &post).await.expect(201).json();
    let posts = json!({ "posts": [post], "next": null });
    bearer.get("/posts").await.expect_json(200, &posts);
}
