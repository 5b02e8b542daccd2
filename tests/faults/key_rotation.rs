//! Tests the rotation of the keys of access tokens under load.

use e2e::{
    ADMIN_PASSWORD, Api, Process, Program, SIGNING_SECRET, Store, TestDatabase, TestSetup,
    TestUser, eventually, for_sqlite_deployments, token,
};
use std::{
    fs,
    path::{Path, PathBuf},
    sync::{
        Arc,
        atomic::{AtomicBool, AtomicU32, Ordering::Relaxed},
    },
};
use tempfile::TempDir;
use tokio::task::JoinHandle;

for_sqlite_deployments!(unreadable_keys_change_nothing);

const NEXT_SECRET: &str = "the next signing secret has more than 32 bytes too";
const READ_AGAIN: &str = "reloaded the keys of access tokens";
const STAY: &str = "cannot reload the keys of access tokens";

/// The key files of one machine. They are replaced by a rename, so that a program never reads a partial file.
struct KeyFiles(TempDir);

impl KeyFiles {
    fn new() -> Self {
        let files = Self(tempfile::tempdir().expect("a folder"));
        files.sign_with(SIGNING_SECRET);
        files.accept(&[SIGNING_SECRET]);
        files
    }

    fn signing(&self) -> PathBuf {
        self.0.path().join("signing-secret")
    }

    fn accepted(&self) -> PathBuf {
        self.0.path().join("signing-secrets-accepted")
    }

    fn sign_with(&self, secret: &str) {
        write(&self.signing(), &format!("{secret}\n"));
    }

    fn accept(&self, secrets: &[&str]) {
        write(&self.accepted(), &(secrets.join("\n") + "\n"));
    }

    fn of(&self, setup: TestSetup) -> TestSetup {
        setup
            .with("SIGNING_SECRET_FILE", &self.signing().display().to_string())
            .with(
                "SIGNING_SECRETS_ACCEPTED_FILE",
                &self.accepted().display().to_string(),
            )
    }
}

fn write(path: &Path, text: &str) {
    let beside = path.with_extension("new");
    fs::write(&beside, text).expect("written");
    fs::rename(&beside, path).expect("renamed");
}

async fn has_logged(process: &Process, text: &str, times: usize) {
    eventually(text, async || {
        (process.stderr().matches(text).count() >= times).then_some(())
    })
    .await;
}

/// An auth-service with its own key files, and a gateway that calls only this replica. Tests therefore know which
/// replica signs and which verifies.
struct Replica {
    files: KeyFiles,
    auth: Process,
    _gateway: Process,
    api: Api,
}

impl Replica {
    async fn start(database: &TestDatabase) -> Self {
        let files = KeyFiles::new();
        let setup = files.of(TestSetup::split(Store::Postgres));
        let folder = files.0.path();
        let settings = setup.auth_settings(&database.url());
        let auth = Process::start(setup.auth_program(), &settings, folder)
            .ready()
            .await;
        let settings = setup.gateway_settings(auth.socket_address("grpc"), None);
        let gateway = Process::start(Program::Gateway, &settings, folder)
            .ready()
            .await;
        let api = Api::at(&gateway.address("bearer"));
        Self {
            files,
            auth,
            _gateway: gateway,
            api,
        }
    }

    async fn read_again(&self, times: usize) {
        self.auth.reload();
        has_logged(&self.auth, READ_AGAIN, times).await;
    }

    async fn token(&self) -> String {
        TestUser::log_in(&self.api, "admin", ADMIN_PASSWORD)
            .await
            .token
    }
}

fn key_id(token: &str) -> String {
    token::header(token)["kid"]
        .as_str()
        .expect("tokens name their key")
        .to_owned()
}

/// Clients that log in at one replica and use the token at each of them, in a loop.
struct Clients {
    stop: Arc<AtomicBool>,
    rounds: Vec<Arc<AtomicU32>>,
    asking: Vec<JoinHandle<()>>,
}

impl Clients {
    fn of(replicas: &[Replica]) -> Self {
        let apis: Vec<Api> = replicas.iter().map(|replica| replica.api.clone()).collect();
        let stop = Arc::new(AtomicBool::new(false));
        let (mut rounds, mut asking) = (Vec::new(), Vec::new());
        for own in apis.iter().cycle().take(4) {
            let (own, apis, stop) = (own.clone(), apis.clone(), Arc::clone(&stop));
            let count = Arc::new(AtomicU32::new(0));
            rounds.push(Arc::clone(&count));
            asking.push(tokio::spawn(async move {
                while !stop.load(Relaxed) {
                    let user = TestUser::log_in(&own, "admin", ADMIN_PASSWORD).await;
                    for api in &apis {
                        let api = api.with_token(&user.token);
                        api.get("/admin").await.expect_message("Welcome Admin!");
                    }
                    count.fetch_add(1, Relaxed);
                }
            }));
        }
        Self {
            stop,
            rounds,
            asking,
        }
    }

    /// Waits until each client has started and finished a whole round.
    async fn go_round(&self) {
        let before: Vec<u32> = self
            .rounds
            .iter()
            .map(|count| count.load(Relaxed))
            .collect();
        eventually("a round of every client", async || {
            let failed = self.asking.iter().any(JoinHandle::is_finished);
            let mut counts = self.rounds.iter().zip(&before);
            // Two rounds are needed, because the first one to finish may have started before this call.
            let all = counts.all(|(count, before)| count.load(Relaxed) >= before + 2);
            (failed || all).then_some(())
        })
        .await;
    }

    async fn all_were_answered(self) {
        self.stop.store(true, Relaxed);
        for asking in self.asking {
            asking
                .await
                .expect("every request was answered with success");
        }
    }
}

#[tokio::test]
async fn rotation_over_two_replicas_fails_no_request_and_revokes_old_tokens() {
    let database = TestDatabase::create(Store::Postgres).await;
    let replicas = [
        Replica::start(&database).await,
        Replica::start(&database).await,
    ];
    let old = replicas[0].token().await;
    assert_eq!(
        key_id(&old),
        key_id(&replicas[1].token().await),
        "replicas agree on names"
    );
    let clients = Clients::of(&replicas);
    clients.go_round().await;

    // In each step, one replica after the other gets the new files, under load.
    for replica in &replicas {
        replica.files.accept(&[SIGNING_SECRET, NEXT_SECRET]);
        replica.read_again(1).await;
        clients.go_round().await;
    }
    for replica in &replicas {
        replica.files.sign_with(NEXT_SECRET);
        replica.read_again(2).await;
        clients.go_round().await;
    }
    let new = [replicas[0].token().await, replicas[1].token().await];
    assert_eq!(key_id(&new[0]), key_id(&new[1]));
    assert_ne!(key_id(&new[0]), key_id(&old));
    for replica in &replicas {
        for token in [&old, &new[0], &new[1]] {
            replica
                .api
                .with_token(token)
                .get("/profile")
                .await
                .expect(200);
        }
        assert!(
            !replica.auth.stderr().contains("WARN"),
            "{}",
            replica.auth.stderr()
        );
    }
    // A round replaces the thirty minutes until the last old token expires, because afterwards no client has one.
    clients.go_round().await;
    for replica in &replicas {
        replica.files.accept(&[NEXT_SECRET]);
        replica.read_again(3).await;
        clients.go_round().await;
    }
    clients.all_were_answered().await;

    for replica in &replicas {
        let refused = replica.api.with_token(&old).get("/profile").await;
        refused.expect_detail(401, "Invalid or expired token.");
        for token in &new {
            replica
                .api
                .with_token(token)
                .get("/profile")
                .await
                .expect(200);
        }
    }
}

async fn unreadable_keys_change_nothing(setup: TestSetup) {
    let files = KeyFiles::new();
    let app = files.of(setup).start().await;
    let (admin, auth) = (app.admin().await, app.auth());
    let id = key_id(&admin.token);
    let spoil: [&dyn Fn(); 6] = [
        &|| files.sign_with("too short"),
        &|| write(&files.signing(), ""),
        &|| fs::remove_file(files.signing()).expect("removed"),
        &|| write(&files.accepted(), ""),
        &|| files.accept(&[NEXT_SECRET, "too short"]),
        &|| fs::remove_file(files.accepted()).expect("removed"),
    ];
    for (times, spoil) in (1..).zip(spoil) {
        files.sign_with(NEXT_SECRET);
        files.accept(&[NEXT_SECRET]);
        spoil();
        auth.reload();
        has_logged(auth, STAY, times).await;
        app.bearer
            .with_token(&admin.token)
            .get("/profile")
            .await
            .expect(200);
        assert_eq!(key_id(&app.admin().await.token), id, "the old key signs");
    }
    let log = auth.stderr();
    assert!(!log.contains(READ_AGAIN), "{log}");
    for said in [
        "does not exist",
        "secret 1 of the list",
        "secret 2 of the list",
        "must have at least 32 bytes",
    ] {
        assert!(log.contains(said), "nothing says {said}: {log}");
    }
    for secret in [SIGNING_SECRET, NEXT_SECRET, "too short"] {
        assert!(!log.contains(secret), "a secret is shown: {log}");
    }

    // A leaked key is removed at once, without waiting for its tokens. They become invalid, and the log warns.
    files.sign_with(NEXT_SECRET);
    files.accept(&[NEXT_SECRET]);
    auth.reload();
    has_logged(auth, READ_AGAIN, 1).await;
    has_logged(auth, "is no longer accepted: its tokens are refused", 1).await;
    let refused = app.bearer.with_token(&admin.token).get("/profile").await;
    refused.expect_detail(401, "Invalid or expired token.");
    let admin = app.admin().await;
    app.bearer
        .with_token(&admin.token)
        .get("/profile")
        .await
        .expect(200);
}

#[tokio::test]
async fn sighup_without_key_files_is_logged_and_changes_nothing() {
    let app = TestSetup::split(Store::Sqlite).start().await;
    for process in app.processes() {
        process.reload();
    }
    has_logged(
        app.auth(),
        "cannot reload the keys of access tokens: no file",
        1,
    )
    .await;
    has_logged(app.gateway(), "SIGHUP", 1).await;
    let admin = app.admin().await;
    app.bearer
        .with_token(&admin.token)
        .get("/profile")
        .await
        .expect(200);
}

#[tokio::test]
async fn rolegate_reloads_its_generated_secret() {
    let database = TestDatabase::create(Store::Sqlite).await;
    let folder = tempfile::tempdir().expect("a folder");
    let setup = TestSetup::all_in_one(Store::Sqlite);
    let mut settings = setup.auth_settings(&database.url());
    settings.remove("SIGNING_SECRET");
    let process = Process::start(setup.auth_program(), &settings, folder.path())
        .ready()
        .await;
    let api = Api::at(&process.address("bearer"));
    let old = TestUser::log_in(&api, "admin", ADMIN_PASSWORD).await.token;
    write(&folder.path().join("data/signing-secret"), NEXT_SECRET);
    process.reload();
    has_logged(&process, READ_AGAIN, 1).await;
    api.with_token(&old).get("/profile").await.expect(401);
    let new = TestUser::log_in(&api, "admin", ADMIN_PASSWORD).await.token;
    api.with_token(&new).get("/profile").await.expect(200);
}
