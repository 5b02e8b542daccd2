//! Roles are never stale.
//!
//! Two gateways and two auth-services on one database. Readers ask for `/profile` on both gateways
//! as fast as they can; roles change through the API and by SQL; every role that a reader was told
//! is held against the history of acknowledged changes.
//!
//! `FRESHNESS_READS` is how many reads must have one right answer: 10,000 unless it says otherwise
//! (100,000 and more for the long form).

mod history;

use e2e::{
    Api, Process, Program, SIGNING_SECRET, Store, TestApp, TestDatabase, TestSetup, TestUser,
};
use history::{Change, Judged, Read, judge};
use serde_json::json;
use std::{
    sync::{
        Arc,
        atomic::{AtomicBool, AtomicUsize, Ordering},
    },
    time::Instant,
};
use tokio::{sync::Semaphore, task::JoinSet};

const USERS: usize = 4;
const READERS_PER_USER: usize = 4;
/// Reads of a user between two changes, so that most reads have one right answer.
const READS_BETWEEN_CHANGES: u32 = 25;

/// One user whose role changes, and all that is read of it.
struct Subject {
    user: TestUser,
    admin: TestUser,
    /// Reads that began after the last change was acknowledged.
    reads_since_change: Semaphore,
    changes_done: AtomicUsize,
    stop: AtomicBool,
}

#[tokio::test(flavor = "multi_thread", worker_threads = 2)]
async fn reads_are_linearizable_on_postgres() {
    roles_are_fresh(Store::Postgres).await;
}

#[tokio::test(flavor = "multi_thread", worker_threads = 2)]
async fn reads_are_linearizable_on_sqlite() {
    roles_are_fresh(Store::Sqlite).await;
}

async fn roles_are_fresh(store: Store) {
    let wanted = std::env::var("FRESHNESS_READS").ok().map_or(10_000, |text| {
        text.parse::<usize>().expect("FRESHNESS_READS is a number of reads")
    });
    let mut app = TestSetup::split(store).start().await;
    let admin = app.admin().await;
    let mut subjects = Vec::new();
    for name in 0..USERS {
        let user = app.user(&format!("subject {name}")).await;
        subjects.push(Arc::new(Subject::new(user, admin.clone())));
    }
    let (second_auth, second_gateway) = second_pair(&mut app).await;
    let gateways = [app.bearer.clone(), Api::at(&second_gateway.address("bearer"))];
    let app = Arc::new(app);

    let mut stories = JoinSet::new();
    for subject in subjects {
        stories.spawn(story(subject, gateways.clone(), Arc::clone(&app), wanted / USERS));
    }
    let mut all = Judged::default();
    while let Some(story) = stories.join_next().await {
        let judged = story.expect("no reader and no writer died");
        all.certain += judged.certain;
        all.beside_a_change += judged.beside_a_change;
    }
    report(store, all);
    assert!(all.certain >= wanted, "{all:?} are too few to tell");
    drop((second_auth, second_gateway));
}

/// Another auth-service on the same users, and another gateway that talks to it.
async fn second_pair(app: &mut TestApp) -> (Process, Process) {
    let folder = std::env::temp_dir();
    let database: &TestDatabase = &app.database;
    let mut settings = [
        ("DATABASE_URL", database.url().as_str()),
        ("SIGNING_SECRET", SIGNING_SECRET),
        ("AUTH_LISTEN_ADDR", "127.0.0.1:0"),
        ("OPS_LISTEN_ADDR", "127.0.0.1:0"),
        ("BEARER_LISTEN_ADDR", "127.0.0.1:0"),
        ("BASIC_LISTEN_ADDR", "off"),
    ]
    .map(|(name, value)| (name.to_owned(), value.to_owned()))
    .into_iter()
    .collect::<std::collections::BTreeMap<_, _>>();
    let auth = Process::start(Program::FastHashAuthService, &settings, &folder).ready().await;
    settings.insert("AUTH_SERVICE_URL".to_owned(), auth.address("grpc"));
    let gateway = Process::start(Program::Gateway, &settings, &folder).ready().await;
    (auth, gateway)
}

/// Everything that happens to one user until enough was read of it.
async fn story(
    subject: Arc<Subject>,
    gateways: [Api; 2],
    app: Arc<TestApp>,
    wanted: usize,
) -> Judged {
    let first = Instant::now();
    let mut readers = JoinSet::new();
    for reader in 0..READERS_PER_USER {
        let api = gateways[reader % gateways.len()].clone();
        readers.spawn(Arc::clone(&subject).read(api));
    }
    let mut changes = vec![Change { began: first, acknowledged: first, role: "user" }];
    let enough = wanted.div_ceil(READS_BETWEEN_CHANGES as usize) + 1;
    while changes.len() <= enough {
        let nobody_died = subject.reads_since_change.acquire_many(READS_BETWEEN_CHANGES).await;
        nobody_died.expect("a reader died").forget();
        let role = ["author", "admin", "user"][changes.len() % 3];
        let began = Instant::now();
        subject.change(role, changes.len(), &gateways, &app).await;
        changes.push(Change { began, acknowledged: Instant::now(), role });
        subject.changes_done.fetch_add(1, Ordering::SeqCst);
        // What was read beside the change does not count towards the next one.
        subject.reads_since_change.forget_permits(usize::MAX >> 4);
    }
    subject.stop.store(true, Ordering::SeqCst);
    let mut judged = Judged::default();
    while let Some(reads) = readers.join_next().await {
        let reads = reads.expect("no reader died");
        let of_reader = judge(&changes, &reads).unwrap_or_else(|stale| panic!("{stale}"));
        judged.certain += of_reader.certain;
        judged.beside_a_change += of_reader.beside_a_change;
    }
    judged
}

impl Subject {
    fn new(user: TestUser, admin: TestUser) -> Self {
        Self {
            user,
            admin,
            reads_since_change: Semaphore::new(0),
            changes_done: AtomicUsize::new(0),
            stop: AtomicBool::new(false),
        }
    }

    /// Reads until told to stop. A reader that dies closes the semaphore, so that nobody waits for
    /// its reads.
    async fn read(self: Arc<Self>, api: Api) -> Vec<Read> {
        let closer = CloseOnPanic(&self.reads_since_change);
        let api = api.with_token(&self.user.token);
        let mut reads = Vec::new();
        while !self.stop.load(Ordering::SeqCst) {
            let generation = self.changes_done.load(Ordering::SeqCst);
            let began = Instant::now();
            let response = api.get("/profile").await;
            let ended = Instant::now();
            response.expect(200);
            let role = response.json()["role"].as_str().expect("a role").to_owned();
            reads.push(Read { began, ended, role });
            if generation == self.changes_done.load(Ordering::SeqCst) {
                self.reads_since_change.add_permits(1);
            }
        }
        drop(closer);
        reads
    }

    /// By turns through either gateway and by SQL.
    async fn change(&self, role: &str, turn: usize, gateways: &[Api; 2], app: &TestApp) {
        let Some(api) = gateways.get(turn % 3) else {
            return app.database.set_role(&self.user.username, role).await;
        };
        let path = format!("/users/{}/role", self.user.id);
        let response = api.with_token(&self.admin.token).put(&path, &json!({ "role": role })).await;
        response.expect_message("User role updated successfully.");
    }
}

struct CloseOnPanic<'a>(&'a Semaphore);

impl Drop for CloseOnPanic<'_> {
    fn drop(&mut self) {
        if std::thread::panicking() {
            self.0.close();
        }
    }
}

#[expect(clippy::print_stdout, reason = "how much was judged is the result of the long form")]
fn report(store: Store, judged: Judged) {
    println!(
        "{store:?}: {} reads with one right response, {} beside a change; none was stale",
        judged.certain, judged.beside_a_change
    );
}
