//! Tests an SQLite file that is deleted or replaced while `rolegate` uses it.

use e2e::{ADMIN_PASSWORD, Api, Process, Store, TestSetup, TestUser};
use serde_json::json;
use sqlx::{Connection as _, SqliteConnection};
use std::{
    collections::BTreeSet,
    fs,
    path::{Path, PathBuf},
    time::Instant,
};
use tempfile::TempDir;
use tokio::{sync::mpsc, task::JoinSet};

/// A `rolegate` with a folder for its database of users, and clients that register without a pause.
struct Stage {
    folder: TempDir,
    process: Process,
    bearer: Api,
    token: String,
    clients: JoinSet<()>,
    answers: mpsc::UnboundedReceiver<Answer>,
}

struct Answer {
    name: String,
    asked: Instant,
    status: u16,
}

impl Stage {
    async fn start() -> Self {
        let folder = tempfile::tempdir().expect("a folder");
        fs::create_dir(folder.path().join("users")).expect("created");
        let setup = TestSetup::all_in_one(Store::Sqlite);
        let settings = setup.auth_settings("sqlite://users/users.db");
        let process = Process::start(setup.auth_program(), &settings, folder.path())
            .ready()
            .await;
        process.wait_for_readiness(200).await;
        let bearer = Api::at(&process.address("bearer"));
        let token = TestUser::log_in(&bearer, "admin", ADMIN_PASSWORD)
            .await
            .token;
        let (sender, answers) = mpsc::unbounded_channel();
        let mut clients = JoinSet::new();
        for client in 0..4 {
            let (bearer, sender) = (bearer.clone(), sender.clone());
            clients.spawn(async move {
                for number in 0.. {
                    let name = format!("user{client}-{number}");
                    let asked = Instant::now();
                    let body = json!({ "username": name, "password": "open sesame" });
                    let status = bearer.post("/register", &body).await.status;
                    let _ = sender.send(Answer {
                        name,
                        asked,
                        status,
                    });
                }
            });
        }
        let mut stage = Self {
            folder,
            process,
            bearer,
            token,
            clients,
            answers,
        };
        for _ in 0..20 {
            assert_eq!(stage.answers.recv().await.expect("an answer").status, 200);
        }
        stage
    }

    fn at(&self, name: &str) -> PathBuf {
        self.folder.path().join("users").join(name)
    }

    /// Waits until every request is refused, and checks that the log says why.
    async fn expect_outage(&self, file: &str, advice: &str) {
        self.process.wait_for_readiness(503).await;
        let profile = self.bearer.with_token(&self.token).get("/profile").await;
        profile.expect_detail(503, "Service temporarily unavailable.");
        let log = self.process.stderr();
        let lines = log.lines().filter(|line| line.contains("not ready"));
        let lines: Vec<_> = lines.collect();
        assert_eq!(lines.len(), 1, "{log}");
        let expected = format!("{file} was deleted or replaced while it was open; {advice}");
        assert!(lines[0].contains(&expected), "{log}");
    }

    /// Collects answers until many requests were sent after this moment, and asserts that none of these succeeded.
    async fn answers_if_none_after(&mut self, moment: Instant) -> Vec<Answer> {
        let (mut answers, mut late) = (Vec::new(), 0);
        while late < 20 {
            let answer = self.answers.recv().await.expect("an answer");
            late += usize::from(answer.asked > moment);
            let is_lost = answer.asked > moment && answer.status == 200;
            assert!(!is_lost, "{} was acknowledged and lost", answer.name);
            answers.push(answer);
        }
        answers.append(&mut self.answers().await);
        answers
    }

    /// Stops the clients, and returns the answers that they got.
    async fn answers(&mut self) -> Vec<Answer> {
        self.clients.shutdown().await;
        std::iter::from_fn(|| self.answers.try_recv().ok()).collect()
    }

    /// Stops rolegate, as an operator does.
    async fn stop(self) -> TempDir {
        self.process.terminate();
        assert_eq!(self.process.exit().await.code, Some(0));
        self.folder
    }
}

fn acknowledged(answers: &[Answer]) -> impl Iterator<Item = &Answer> {
    answers.iter().filter(|answer| answer.status == 200)
}

async fn usernames(file: &Path) -> BTreeSet<String> {
    let url = format!("sqlite://{}", file.display());
    let mut connection = SqliteConnection::connect(&url).await.expect("opened");
    let names = sqlx::query_scalar(r#"SELECT username FROM "user""#).fetch_all(&mut connection);
    let names: Vec<String> = names.await.expect("read");
    names.into_iter().collect()
}

#[tokio::test]
async fn nothing_is_acknowledged_once_the_file_or_its_folder_is_deleted() {
    for is_folder in [false, true] {
        let mut stage = Stage::start().await;
        if is_folder {
            fs::remove_dir_all(stage.at("")).expect("removed");
        } else {
            fs::remove_file(stage.at("users.db")).expect("removed");
        }
        let removed = Instant::now();
        stage
            .expect_outage(
                "users/users.db",
                "put it back, or stop this program, restore",
            )
            .await;
        stage.answers_if_none_after(removed).await;
        stage.stop().await;
    }
}

#[tokio::test]
async fn no_post_is_acknowledged_once_the_file_of_posts_is_deleted() {
    let app = TestSetup::split(Store::Sqlite).start().await;
    let author = app
        .bearer
        .with_token(&app.user_with_role("ann", "author").await.token);
    let post = json!({ "title": "a title", "content": "some content" });
    author.post("/posts", &post).await.expect(201);
    fs::remove_file(app.database.posts_file()).expect("removed");
    app.posts().wait_for_readiness(503).await;
    author
        .post("/posts", &post)
        .await
        .expect_detail(503, "Service temporarily unavailable.");
    let log = app.posts().stderr();
    assert!(
        log.contains("posts.db was deleted or replaced while it was open"),
        "{log}"
    );
}

#[tokio::test]
async fn nothing_is_acknowledged_once_the_file_is_replaced_and_the_new_one_keeps_its_log() {
    let mut stage = Stage::start().await;
    let (file, copy) = (stage.at("users.db"), stage.at("copy.db"));
    let url = format!("sqlite://{}", file.display());
    let mut other = SqliteConnection::connect(&url).await.expect("opened");
    sqlx::raw_sql("PRAGMA wal_checkpoint")
        .execute(&mut other)
        .await
        .expect("copied the log");
    other.close().await.expect("closed");
    fs::copy(&file, &copy).expect("copied");
    fs::rename(&copy, &file).expect("replaced");
    let replaced = Instant::now();
    stage
        .expect_outage(
            "users/users.db",
            "put it back, or stop this program, restore",
        )
        .await;
    stage.answers_if_none_after(replaced).await;
    fs::remove_file(stage.at("users.db-wal")).expect("removed");
    fs::remove_file(stage.at("users.db-shm")).expect("removed");
    let mut other = SqliteConnection::connect(&url).await.expect("opened");
    let sql = r#"INSERT INTO "user" (username, password, role) VALUES ('new', '', 'user')"#;
    sqlx::raw_sql(sql)
        .execute(&mut other)
        .await
        .expect("inserted");
    let folder = stage.stop().await;
    assert!(
        folder.path().join("users/users.db-wal").exists(),
        "the log of another program"
    );
    other.close().await.expect("closed");
    assert!(usernames(&file).await.contains("new"));
}

#[tokio::test]
async fn everything_acknowledged_is_in_a_file_that_was_away_for_a_while() {
    let mut stage = Stage::start().await;
    let (file, away) = (stage.at("users.db"), stage.at("away.db"));
    fs::rename(&file, &away).expect("moved");
    stage
        .expect_outage(
            "users/users.db",
            "put it back, or stop this program, restore",
        )
        .await;
    fs::rename(&away, &file).expect("moved back");
    stage.process.wait_for_readiness(200).await;
    TestUser::register(&stage.bearer, "afterwards").await;
    let answers = stage.answers().await;
    let folder = stage.stop().await;
    let stored = usernames(&folder.path().join("users/users.db")).await;
    for Answer { name, .. } in acknowledged(&answers) {
        assert!(stored.contains(name), "{name} was acknowledged and lost");
    }
}

#[tokio::test]
async fn everything_acknowledged_is_in_the_file_after_a_stop_without_its_log_or_index() {
    for suffix in ["-wal", "-shm"] {
        let mut stage = Stage::start().await;
        let name = format!("users.db{suffix}");
        fs::remove_file(stage.at(&name)).expect("removed");
        let removed = Instant::now();
        stage
            .expect_outage(&name, "stop this program, which moves the log into")
            .await;
        let answers = stage.answers_if_none_after(removed).await;
        let folder = stage.stop().await;
        let stored = usernames(&folder.path().join("users/users.db")).await;
        for Answer { name, .. } in acknowledged(&answers) {
            assert!(stored.contains(name), "{name} was acknowledged and lost");
        }
    }
}
