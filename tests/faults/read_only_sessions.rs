//! Tests sessions while the store cannot write: neither new sessions nor times of use can be stored.

use e2e::{
    Api, OpaqueToken, Process, SmallDisk, Store, TestDatabase, TestResponse, TestSetup, TestUser,
    eventually, postgres::OwnCluster,
};
use reqwest::Method;
use serde_json::json;
use std::ops::RangeInclusive;

const READ_ONLY: &str = "Service is temporarily read-only.";

/// Moves the creation of ann's sessions, and the last use that was stored, a day into the past.
const AGE: &str = r#"UPDATE api_key SET created_at = created_at - 86400,
    last_used_at = last_used_at - 86400
    WHERE session_user_id = (SELECT id FROM "user" WHERE username = 'ann')"#;

/// The sessions of a test: ann has a used and an unused one, and bob has a new one.
struct Sessions {
    bearer: Api,
    users: [TestUser; 2],
    used: OpaqueToken,
    unused: OpaqueToken,
    new: OpaqueToken,
}

impl Sessions {
    async fn start(bearer: Api) -> Self {
        let ann = TestUser::register(&bearer, "ann").await;
        let bob = TestUser::register(&bearer, "bob").await;
        let (used, unused) = (ann.session(&bearer).await, ann.session(&bearer).await);
        let new = bob.session(&bearer).await;
        let users = [ann, bob];
        let sessions = Self {
            bearer,
            users,
            used,
            unused,
            new,
        };
        sessions.use_once().await;
        sessions
    }

    async fn use_once(&self) {
        self.bearer
            .with_token(&self.used.token)
            .get("/profile")
            .await
            .expect(200);
    }

    async fn create(&self) -> TestResponse {
        let [
            _,
            TestUser {
                username, password, ..
            },
        ] = &self.users;
        let body = json!({ "username": username, "password": password });
        self.bearer.post("/sessions", &body).await
    }

    /// Asserts what holds while the store refuses writes. Up to `attempts` earlier requests for a session may have
    /// succeeded.
    async fn expect_read_only(&self, is_aged: bool, attempts: usize) {
        for _ in 0..10 {
            self.use_once().await;
            self.expect_idled_out(is_aged).await;
            self.create()
                .await
                .expect_detail(503, READ_ONLY)
                .expect_retry_after();
        }
        self.expect_listed(1..=1 + attempts).await;
        // The end of the session cannot be stored, so the logout fails and the session stays valid.
        let own = self.bearer.with_token(&self.new.token);
        own.send(own.request(Method::POST, "/logout"))
            .await
            .expect_detail(503, READ_ONLY);
        own.get("/profile").await.expect(200);
    }

    /// Asserts that the unused session has expired by lack of use, although nothing can be written.
    async fn expect_idled_out(&self, is_aged: bool) {
        let unused = self
            .bearer
            .with_token(&self.unused.token)
            .get("/profile")
            .await;
        assert_eq!(unused.status, if is_aged { 401 } else { 200 }, "{unused}");
    }

    /// Asserts that the number of bob's sessions is within `counts`.
    async fn expect_listed(&self, counts: RangeInclusive<usize>) {
        let list = self
            .bearer
            .with_token(&self.users[1].token)
            .get("/profile/sessions")
            .await;
        let sessions = list.expect(200).json()["sessions"]
            .as_array()
            .map_or(0, Vec::len);
        assert!(counts.contains(&sessions), "{counts:?}: {list}");
    }

    /// Waits until the store takes writes, and asserts that the session in use is still valid.
    async fn expect_recovery(&self, is_aged: bool, attempts: usize) {
        eventually("a session to be made", async || {
            let created = self.create().await;
            assert!([201, 503].contains(&created.status), "{created}");
            (created.status == 201).then_some(())
        })
        .await;
        self.use_once().await;
        self.expect_idled_out(is_aged).await;
        self.expect_listed(2..=2 + attempts).await;
        self.bearer.with_token(&self.new.token).log_out().await;
        self.expect_listed(1..=1 + attempts).await;
    }
}

#[tokio::test]
async fn session_in_use_is_good_while_the_disk_is_full() {
    if !SmallDisk::is_supported().await {
        return;
    }
    let database = TestDatabase::create(Store::Sqlite).await;
    let file = database.file();
    let folder = file.parent().expect("a folder");
    let setup = TestSetup::all_in_one(Store::Sqlite);
    let settings = setup.auth_settings("sqlite://users.db");
    let process = Process::start(setup.auth_program(), &settings, folder)
        .ready()
        .await;
    let mut sessions = Sessions::start(Api::at(&process.address("bearer"))).await;
    process.terminate();
    process.exit().await;
    let (process, disk) = Process::start_on_small_disk(setup.auth_program(), &settings, folder);
    let process = process.ready().await;
    sessions.bearer = Api::at(&process.address("bearer"));
    disk.fill();
    sessions.expect_read_only(false, 0).await;
    disk.free();
    sessions.expect_recovery(false, 0).await;
}

#[tokio::test]
async fn session_in_use_is_good_while_commits_wait_for_a_lost_standby() {
    let cluster = OwnCluster::start(None);
    let url = cluster.url_by("127.0.0.1", "options=-c%20synchronous_commit%3Don");
    let setup = TestSetup::all_in_one(Store::Postgres);
    let folder = tempfile::tempdir().expect("a temporary folder");
    let process = Process::start(
        setup.auth_program(),
        &setup.auth_settings(&url),
        folder.path(),
    );
    let process = process.ready().await;
    let sessions = Sessions::start(Api::at(&process.address("bearer"))).await;
    cluster.execute("postgres", AGE).await;
    cluster.set("synchronous_standby_names", "nobody").await;
    let mut attempts = 0;
    for status in [504, 503] {
        eventually("sessions to be refused", || {
            attempts += 1;
            let sessions = &sessions;
            async move {
                let created = sessions.create().await;
                assert!([201, 504, 503].contains(&created.status), "{created}");
                sessions.use_once().await;
                (created.status == status).then_some(())
            }
        })
        .await;
    }
    sessions.expect_read_only(true, attempts).await;
    cluster.set("synchronous_standby_names", "").await;
    sessions.expect_recovery(true, attempts).await;
}
