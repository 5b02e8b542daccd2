//! `rolegate` as in a fresh clone: without settings, and with all data in `./data`.

use e2e::{Api, Process, Program, for_two_deployments, until_served};
use serde_json::json;
use std::{collections::BTreeMap, fs::Permissions, os::unix::fs::PermissionsExt as _, path::Path};

for_two_deployments!(default_bcrypt_cost_is_12);

async fn default_bcrypt_cost_is_12(setup: e2e::TestSetup) {
    let app = setup.with_real_hashes().start().await;
    until_served(async || app.try_register("ann", "a password").await)
        .await
        .expect(200);
    for name in ["ann", "admin"] {
        let hash = app.database.user(name).await.expect("stored").password;
        assert!(hash.starts_with("$2b$12$") && hash.len() == 60, "{hash}");
    }
    until_served(async || app.try_log_in("ann", "a password").await)
        .await
        .expect(200);
}

/// Sets only the ports, because tests run in parallel.
fn settings() -> BTreeMap<String, String> {
    ["BEARER", "BASIC", "FORWARD_AUTH", "AUTH", "POSTS", "OPS"]
        .map(|name| (format!("{name}_LISTEN_ADDR"), "127.0.0.1:0".to_owned()))
        .into()
}

fn mode(path: &Path) -> u32 {
    path.metadata().expect("it exists").permissions().mode() & 0o777
}

#[tokio::test]
async fn start_without_settings_prints_addresses_and_a_working_admin_password() {
    let folder = tempfile::tempdir().expect("a folder");
    let process = Process::start(Program::Rolegate, &settings(), folder.path())
        .ready()
        .await;
    let data = folder.path().join("data");
    let password_file = data.join("initial-admin-password");
    let said = process.stdout();
    assert!(said.contains("rolegate.db"), "the store: {said}");
    assert!(
        said.contains("initial-admin-password"),
        "the file of the password: {said}"
    );
    assert!(said.matches("curl ").count() >= 2, "two examples: {said}");

    let password = std::fs::read_to_string(&password_file).expect("the password file");
    let password = password.trim_end();
    assert!(password.len() >= 16, "a generated password is long");
    assert!(!said.contains(password), "the password is printed: {said}");
    let bearer = Api::at(&process.address("bearer"));
    let log_in = json!({ "username": "admin", "password": password });
    let response = until_served(async || bearer.post("/login", &log_in).await).await;
    let token = response.expect(200).json()["access_token"]
        .as_str()
        .expect("a token")
        .to_owned();
    bearer
        .with_token(&token)
        .get("/admin")
        .await
        .expect_message("Welcome Admin!");
    let basic = Api::at(&process.address("basic")).with_basic("admin", password);
    until_served(async || basic.get("/protected").await)
        .await
        .expect_message("Welcome admin!");

    assert_eq!(mode(&data) & 0o077, 0, "the folder is private");
    for file in std::fs::read_dir(&data).expect("a folder") {
        let path = file.expect("an entry").path();
        assert_eq!(mode(&path), 0o600, "{}", path.display());
    }
}

#[tokio::test]
async fn second_start_keeps_the_data_of_the_first() {
    let folder = tempfile::tempdir().expect("a folder");
    let mut first = Process::start(Program::FastHashRolegate, &settings(), folder.path())
        .ready()
        .await;
    let password_file = folder.path().join("data/initial-admin-password");
    let password = std::fs::read_to_string(&password_file).expect("the password file");
    let log_in = json!({ "username": "admin", "password": password.trim_end() });
    let response = Api::at(&first.address("bearer"))
        .post("/login", &log_in)
        .await;
    let token = response.expect(200).json()["access_token"]
        .as_str()
        .expect("a token")
        .to_owned();
    first.kill().await;

    let second = Process::start(Program::FastHashRolegate, &settings(), folder.path())
        .ready()
        .await;
    let bearer = Api::at(&second.address("bearer"));
    bearer
        .with_token(&token)
        .get("/admin")
        .await
        .expect_message("Welcome Admin!");
    bearer.post("/login", &log_in).await.expect(200);
    let unchanged = std::fs::read_to_string(&password_file).expect("it is still there");
    assert_eq!(unchanged, password);
}

/// Returns a client of the API with an access token of this user.
async fn log_in(bearer: &Api, username: &str, password: &str) -> Api {
    let body = json!({ "username": username, "password": password });
    let response = bearer.post("/login", &body).await;
    let token = response.expect(200).json()["access_token"]
        .as_str()
        .expect("a token")
        .to_owned();
    bearer.with_token(&token)
}

#[tokio::test]
async fn generated_admin_password_file_is_removed_when_the_password_changes() {
    let folder = tempfile::tempdir().expect("a folder");
    let file = folder.path().join("data/initial-admin-password");
    let mut process = Process::start(Program::FastHashRolegate, &settings(), folder.path())
        .ready()
        .await;
    let password = std::fs::read_to_string(&file).expect("the password file");
    let bearer = Api::at(&process.address("bearer"));
    let admin = log_in(&bearer, "admin", password.trim_end()).await;

    let ann = json!({ "username": "ann", "password": "a password" });
    bearer.post("/register", &ann).await.expect(200);
    let new = json!({ "password": "another" });
    admin.put("/users/2/password", &new).await.expect(200);
    let own = json!({ "current_password": "another", "new_password": "mine" });
    let ann = log_in(&bearer, "ann", "another").await;
    ann.put("/profile/password", &own).await.expect(200);
    let wrong = json!({ "current_password": "wrong", "new_password": "new" });
    admin.put("/profile/password", &wrong).await.expect(400);
    assert!(file.exists(), "that was not the admin's password");

    let own = json!({ "current_password": password.trim_end(), "new_password": "mine" });
    admin.put("/profile/password", &own).await.expect(200);
    assert!(!file.exists(), "a password that is good for nothing");

    // A stale password file, as another process could leave it, is removed at the next start.
    process.kill().await;
    std::fs::write(&file, password).expect("written");
    std::fs::set_permissions(&file, Permissions::from_mode(0o600)).expect("changed");
    let process = Process::start(Program::FastHashRolegate, &settings(), folder.path())
        .ready()
        .await;
    assert!(!file.exists() && !process.stdout().contains("initial-admin-password"));
    log_in(&Api::at(&process.address("bearer")), "admin", "mine").await;
}

#[tokio::test]
async fn generated_admin_password_file_survives_logouts_and_restarts() {
    let folder = tempfile::tempdir().expect("a folder");
    let file = folder.path().join("data/initial-admin-password");
    let start = || Process::start(Program::FastHashRolegate, &settings(), folder.path());
    let mut process = start().ready().await;
    let password = std::fs::read_to_string(&file).expect("the password file");
    let bearer = Api::at(&process.address("bearer"));
    let admin = log_in(&bearer, "admin", password.trim_end()).await;
    admin.post("/logout", &json!({})).await.expect(200);
    process.kill().await;
    let mut process = start().ready().await;
    assert!(
        process.stdout().contains("initial-admin-password"),
        "{}",
        process.stdout()
    );
    assert_eq!(
        std::fs::read_to_string(&file).expect("it is still there"),
        password
    );
    log_in(
        &Api::at(&process.address("bearer")),
        "admin",
        password.trim_end(),
    )
    .await;
    process.kill().await;

    // The program starts with another database, whose admin has another password, and then with its
    // own again.
    let mut other = settings();
    other.insert("DATABASE_URL".to_owned(), "sqlite://other.db".to_owned());
    let elsewhere = tempfile::tempdir().expect("a folder");
    let seed = [
        &other,
        &[("DEFAULT_ADMIN_PASSWORD".to_owned(), "sesame".to_owned())].into(),
    ];
    let seed = seed
        .into_iter()
        .flatten()
        .map(|(name, value)| (name.clone(), value.clone()));
    let program = Program::FastHashRolegate;
    Process::start(program, &seed.collect(), elsewhere.path())
        .ready()
        .await
        .kill()
        .await;
    let database = elsewhere.path().join("other.db").display().to_string();
    other.insert("DATABASE_URL".to_owned(), format!("sqlite://{database}"));
    let mut process = Process::start(program, &other, folder.path()).ready().await;
    let admin = log_in(&Api::at(&process.address("bearer")), "admin", "sesame").await;
    let own = json!({ "current_password": "sesame", "new_password": "mine" });
    admin.put("/profile/password", &own).await.expect(200);
    process.kill().await;
    assert_eq!(
        std::fs::read_to_string(&file).expect("it is still there"),
        password
    );
}

#[tokio::test]
async fn a_data_dir_named_like_a_uri_of_sqlite_is_a_folder() {
    let folder = tempfile::tempdir().expect("a folder");
    let mut settings = settings();
    let data_dir = "file:/data?vfs=memdb&name=";
    settings.insert("DATA_DIR".to_owned(), data_dir.to_owned());
    let register = json!({ "username": "ann", "password": "a password" });
    for status in [200, 400] {
        let process = Process::start(Program::FastHashRolegate, &settings, folder.path())
            .ready()
            .await;
        let bearer = Api::at(&process.address("bearer"));
        until_served(async || bearer.post("/register", &register).await)
            .await
            .expect(status);
        process.terminate();
        process.exit().await;
    }
    let file = folder.path().join(data_dir).join("rolegate.db");
    assert!(file.metadata().expect("a file").len() > 0, "it has users");
}
