//! Tests `PASSWORD_PEPPER`, a secret outside the database that goes into password hashes.

use e2e::{
    Process, Store, StoredUser, TestApp, TestDatabase, TestSetup, eventually, for_both_stores,
    for_split_deployments, grpc, until_served,
};
use rolegate_proto::auth_v1::{LoginRequest, RegisterRequest};

for_split_deployments!(
    pepper_comes_into_hashes_at_the_next_login_and_can_be_rotated,
    hash_whose_pepper_is_missing_is_a_fault_of_the_service,
    password_that_an_operator_sets_has_the_pepper,
);

for_both_stores!(pepper_is_introduced_and_removed_replica_by_replica);

const PASSWORD: &str = "open sesame";
const OLD: &str = "an old pepper of more than 32 bytes";
const NEW: &str = "a newer pepper of more than 32 bytes";

async fn stored(app: &TestApp, username: &str) -> StoredUser {
    app.database.user(username).await.expect("stored")
}

/// Logs in, waits until the stored hash differs from `before`, and returns it.
async fn rehash(app: &TestApp, username: &str, before: &str) -> String {
    app.try_log_in(username, PASSWORD).await.expect(200);
    eventually("a new hash", async || {
        let hash = stored(app, username).await.password;
        (hash != before).then_some(hash)
    })
    .await
}

/// Returns the part of a stored hash that names the scheme and the id of the pepper.
fn pepper(hash: &str) -> &str {
    hash.split_once("$2b$").expect("a hash of bcrypt").0
}

async fn pepper_comes_into_hashes_at_the_next_login_and_can_be_rotated(setup: TestSetup) {
    let mut app = setup.start().await;
    app.try_register("ann", PASSWORD).await.expect(200);
    let plain = stored(&app, "ann").await.password;
    assert_eq!(
        pepper(&plain),
        "",
        "without the setting a hash is plain bcrypt"
    );

    app.kill_auth().await;
    app.start_auth(Some(("PASSWORD_PEPPER", OLD))).await;
    until_served(async || app.try_log_in("ann", "wrong").await)
        .await
        .expect(401);
    let with_old = rehash(&app, "ann", &plain).await;
    assert!(pepper(&with_old).starts_with("hmac-sha256:"), "{with_old}");
    app.try_register("bob", PASSWORD).await.expect(200);
    assert_eq!(
        pepper(&stored(&app, "bob").await.password),
        pepper(&with_old)
    );
    app.basic
        .with_basic("bob", PASSWORD)
        .get("/protected")
        .await
        .expect(200);

    app.kill_auth().await;
    app.start_auth(Some(("PASSWORD_PEPPER", &format!("{NEW}\n{OLD}"))))
        .await;
    until_served(async || app.try_log_in("ann", "wrong").await)
        .await
        .expect(401);
    let with_new = rehash(&app, "ann", &with_old).await;
    assert_ne!(pepper(&with_new), pepper(&with_old));
    // HTTP Basic accepts hashes with the new pepper (ann) and with the old one (bob), and never replaces them.
    app.basic
        .with_basic("ann", PASSWORD)
        .get("/protected")
        .await
        .expect(200);
    app.basic
        .with_basic("bob", PASSWORD)
        .get("/protected")
        .await
        .expect(200);
    app.basic
        .with_basic("bob", "wrong")
        .get("/protected")
        .await
        .expect(401);
}

async fn hash_whose_pepper_is_missing_is_a_fault_of_the_service(setup: TestSetup) {
    let mut app = setup.with("PASSWORD_PEPPER", OLD).start().await;
    app.try_register("ann", PASSWORD).await.expect(200);
    app.kill_auth().await;
    app.start_auth(Some(("PASSWORD_PEPPER", NEW))).await;
    for password in [PASSWORD, "wrong"] {
        let response = until_served(async || app.try_log_in("ann", password).await).await;
        response.expect_detail(500, "Internal server error.");
    }
    app.auth()
        .logs("the cause", |line| line.contains("PASSWORD_PEPPER"))
        .await;
    assert!(!app.auth().stderr().contains(NEW), "the log shows a pepper");
}

async fn password_that_an_operator_sets_has_the_pepper(setup: TestSetup) {
    let setup = setup.with("PASSWORD_PEPPER", OLD);
    let app = setup.clone().start().await;
    let settings = setup.auth_settings(&app.database.url());
    let folder = tempfile::tempdir().expect("a folder");
    for command in ["create", "reset-password"] {
        let (program, arguments) = (setup.auth_program(), ["user", command, "ann"]);
        let exit = Process::run(program, &arguments, &settings, folder.path(), PASSWORD).await;
        assert_eq!(exit.code, Some(0), "{exit:?}");
        let hash = stored(&app, "ann").await.password;
        assert!(
            pepper(&hash).starts_with("hmac-sha256:"),
            "{command}: {hash}"
        );
        app.try_log_in("ann", PASSWORD).await.expect(200);
    }
}

async fn log_in(replica: &Process, username: &str) {
    let (username, password) = (username.to_owned(), PASSWORD.to_owned());
    let mut client = grpc::client(&replica.address("grpc")).await;
    let response = client
        .login(LoginRequest {
            username,
            password,
            otp: None,
        })
        .await;
    response.unwrap_or_else(|error| panic!("{error}\n{}", replica.stderr()));
}

async fn pepper_is_introduced_and_removed_replica_by_replica(store: Store) {
    let (setup, database) = (TestSetup::split(store), TestDatabase::create(store).await);
    let folder = tempfile::tempdir().expect("a folder");
    let start = async |pepper: Option<&str>| {
        let setup = pepper.map_or(setup.clone(), |it| {
            setup.clone().with("PASSWORD_PEPPER", it)
        });
        let settings = setup.auth_settings(&database.url());
        Process::start(setup.auth_program(), &settings, folder.path())
            .ready()
            .await
    };
    let accepting = format!("none\n{OLD}");
    let steps = [
        None,
        Some(accepting.as_str()),
        Some(OLD),
        Some(accepting.as_str()),
        None,
    ];
    let mut names = Vec::new();
    for (step, settings) in steps.windows(2).enumerate() {
        // In the middle of the step, one replica already has the next setting.
        let replicas = [start(settings[0]).await, start(settings[1]).await];
        for (number, replica) in replicas.iter().enumerate() {
            let username = format!("user {step} {number}");
            names.push(username.clone());
            let request = RegisterRequest {
                username,
                password: PASSWORD.to_owned(),
            };
            let mut client = grpc::client(&replica.address("grpc")).await;
            client.register(request).await.expect("registered");
        }
        for name in &names {
            for replica in &replicas {
                log_in(replica, name).await;
            }
        }
        for mut replica in replicas {
            replica.kill().await;
        }
        // If the kill interrupted the commit of a hash, the hash appears only at the next start, when SQLite recovers.
        let new = start(settings[1]).await;
        for name in &names {
            eventually("a hash of the next setting", async || {
                log_in(&new, name).await;
                let hash = database.user(name).await.expect("stored").password;
                (pepper(&hash).is_empty() != (settings[1] == Some(OLD))).then_some(())
            })
            .await;
        }
    }
}
