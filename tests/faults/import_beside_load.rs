//! Tests an import of many users while a service on PostgreSQL keeps answering.

use e2e::{
    HeldUsername, Process, Program, Store, TestApp, TestSetup, TestUser, eventually, within_bounds,
};
use reqwest::Method;
use serde_json::json;
use std::{
    collections::BTreeMap,
    fmt::Write as _,
    sync::{
        Arc,
        atomic::{AtomicBool, AtomicUsize, Ordering::Relaxed},
    },
    time::Duration,
};
use tempfile::TempDir;
use tokio::task::JoinSet;

const USERS: usize = 20_000;
/// The hash of `PASSWORD` by the Python package bcrypt.
const HASH: &str = "$2b$10$fyCIFLnlO4372fe5RsU/aeN4sioXvfoO4vC9/ZLN/Pexdr..SijJK";
const PASSWORD: &str = "corréct horse";

fn imported(index: usize) -> String {
    format!("imported {index}")
}

/// An import that has inserted half of its users, and waits for a name that another transaction holds.
struct HalfDone {
    import: Process,
    held: HeldUsername,
    folder: TempDir,
}

async fn half_done(app: &TestApp) -> HalfDone {
    let folder = tempfile::tempdir().expect("a folder");
    let mut lines = String::new();
    for index in 0..USERS {
        let line = json!({ "username": imported(index), "password_hash": HASH });
        writeln!(lines, "{line}").expect("a string");
    }
    std::fs::write(folder.path().join("users.jsonl"), lines).expect("written");
    let mut held = app.database.hold_username(&imported(USERS / 2)).await;
    let settings = BTreeMap::from([("DATABASE_URL".to_owned(), app.database.url())]);
    let arguments = ["user", "import", "users.jsonl"];
    let program = Program::FastHashAuthService;
    let import = Process::start_with(program, &arguments, &settings, folder.path());
    within_bounds("the import to come to the name", async {
        while !held.has_waiters().await {
            tokio::time::sleep(Duration::from_millis(10)).await;
        }
    })
    .await;
    HalfDone {
        import,
        held,
        folder,
    }
}

/// Clients that ask for decisions, log in and register until they are stopped.
struct Load {
    clients: JoinSet<usize>,
    answered: [Arc<AtomicUsize>; 3],
    is_over: Arc<AtomicBool>,
}

impl Load {
    fn start(app: &TestApp, author: &TestUser) -> Self {
        let is_over = Arc::new(AtomicBool::new(false));
        let answered: [Arc<AtomicUsize>; 3] = Default::default();
        let mut clients = JoinSet::new();
        for client in 0..6 {
            let (is_over, answered) = (Arc::clone(&is_over), Arc::clone(&answered[client % 3]));
            let (api, author) = (app.bearer.clone(), author.clone());
            clients.spawn(async move {
                let mut failed = 0;
                for round in 0.. {
                    let log_in =
                        json!({ "username": author.username, "password": author.password });
                    let name = format!("beside {client} {round}");
                    let register = json!({ "username": name, "password": "pw" });
                    let response = match client % 3 {
                        0 => api.with_token(&author.token).get("/author").await,
                        1 => {
                            api.send(api.request(Method::POST, "/login").json(&log_in))
                                .await
                        }
                        _ => {
                            api.send(api.request(Method::POST, "/register").json(&register))
                                .await
                        }
                    };
                    failed += usize::from(response.status != 200);
                    answered.fetch_add(1, Relaxed);
                    if is_over.load(Relaxed) {
                        break;
                    }
                }
                failed
            });
        }
        Self {
            clients,
            answered,
            is_over,
        }
    }

    /// Waits for 20 more answers of each kind.
    async fn go_on(&self) {
        let before = self.answered.each_ref().map(|count| count.load(Relaxed));
        eventually("answers beside the import", async || {
            let mut counts = self.answered.iter().zip(before);
            counts
                .all(|(count, before)| count.load(Relaxed) >= before + 20)
                .then_some(())
        })
        .await;
    }

    async fn stop(self) {
        self.is_over.store(true, Relaxed);
        let failed: usize = within_bounds("the clients", self.clients.join_all())
            .await
            .iter()
            .sum();
        assert_eq!(failed, 0, "requests failed beside the import");
    }
}

#[tokio::test]
async fn requests_go_on_beside_an_import_and_names_of_its_file_are_refused() {
    let app = TestSetup::split(Store::Postgres).start().await;
    let author = app.user_with_role("ann", "author").await;
    let load = Load::start(&app, &author);
    load.go_on().await;
    let HalfDone {
        import,
        held,
        folder: _folder,
    } = half_done(&app).await;
    load.go_on().await;
    let name = imported(7);
    // The registration waits for the import as long as for any statement, and delays no other request. The server
    // cancels the statement (503) at about the time at which the service stops waiting (504).
    let refused = app.try_register(&name, "pw").await;
    match refused.status {
        503 => refused.expect_detail(503, "Service temporarily unavailable."),
        _ => refused.expect_detail(504, "Upstream timed out."),
    };
    load.go_on().await;
    assert!(
        app.database.user(&name).await.is_none(),
        "it is not committed"
    );
    held.release().await;
    let import = import.exit().await;
    app.try_register(&name, "pw")
        .await
        .expect_detail(400, "Username already exists.");
    let counts = format!("{USERS} imported, 0 skipped because they exist, 0 bad lines.\n");
    assert_eq!(
        (import.code, &*import.stdout),
        (Some(0), &*counts),
        "{import:?}"
    );
    load.go_on().await;
    load.stop().await;
    app.try_log_in(&name, "pw").await.expect(401);
    app.try_log_in(&name, PASSWORD).await.expect(200);
    app.try_log_in(&imported(USERS - 1), PASSWORD)
        .await
        .expect(200);
}

#[tokio::test]
async fn import_that_is_killed_in_the_middle_leaves_no_user_and_no_lock() {
    let app = TestSetup::split(Store::Postgres).start().await;
    let author = app.user_with_role("ann", "author").await;
    let load = Load::start(&app, &author);
    let HalfDone {
        mut import,
        held,
        folder,
    } = half_done(&app).await;
    load.go_on().await;
    import.kill().await;
    held.release().await;
    let name = imported(7);
    // The server rolls the import back when it notices that the client has gone.
    eventually("the name to be free", async || {
        (app.try_register(&name, "pw").await.status == 200).then_some(())
    })
    .await;
    load.go_on().await;
    load.stop().await;
    assert!(app.database.user(&imported(8)).await.is_none());
    app.try_log_in(&name, "pw").await.expect(200);

    let settings = BTreeMap::from([("DATABASE_URL".to_owned(), app.database.url())]);
    let arguments = ["user", "import", "--skip-existing", "users.jsonl"];
    let program = Program::FastHashAuthService;
    let again = Process::start_with(program, &arguments, &settings, folder.path())
        .exit()
        .await;
    let rest = USERS - 1;
    let counts = format!("{rest} imported, 1 skipped because they exist, 0 bad lines.\n");
    assert_eq!(
        (again.code, &*again.stdout),
        (Some(0), &*counts),
        "{again:?}"
    );
}
