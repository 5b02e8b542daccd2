//! Reads of roles are linearizable.
//!
//! Two gateways and two auth-services share a database. Readers request `/profile` on both gateways,
//! ask as Envoy does, and request an application behind nginx, in a loop while roles change through the API and by SQL; every role read is checked against the
//! history of acknowledged changes.
//!
//! `LINEARIZABILITY_READS` is the number of reads with one valid role: 10,000 by default, 100,000 or
//! more for the long form. `failover` does the same while PostgreSQL fails over.

mod failover;
mod history;
mod nginx;
mod source;

use e2e::{
    Api, Process, Program, SIGNING_SECRET, Store, TestApp, TestDatabase, TestSetup, TestUser,
    ext_authz,
};
use history::{Change, Checked, Read, check};
use nginx::Nginx;
use serde_json::json;
use source::Source;
use std::{
    sync::{
        Arc,
        atomic::{AtomicBool, AtomicUsize, Ordering},
    },
    time::Instant,
};
use tokio::{sync::Semaphore, task::JoinSet};

const USERS: usize = 4;
/// Reads of a user between two changes, so that most reads have one valid role.
const READS_BETWEEN_CHANGES: u32 = 25;

/// One user whose role changes, and its readers.
struct Subject {
    user: TestUser,
    /// An access token and an API key, which readers use in turns.
    credentials: [String; 2],
    admin: TestUser,
    /// Reads that began after the last change was acknowledged.
    reads_since_change: Semaphore,
    changes_done: AtomicUsize,
    stop: AtomicBool,
}

#[tokio::test(flavor = "multi_thread", worker_threads = 2)]
async fn reads_are_linearizable_on_postgres() {
    roles_are_linearizable(Store::Postgres).await;
}

#[tokio::test(flavor = "multi_thread", worker_threads = 2)]
async fn reads_are_linearizable_on_sqlite() {
    roles_are_linearizable(Store::Sqlite).await;
}

async fn roles_are_linearizable(store: Store) {
    let wanted = std::env::var("LINEARIZABILITY_READS").ok().map_or(10_000, |text| {
        text.parse::<usize>().expect("LINEARIZABILITY_READS is a number of reads")
    });
    let mut app = TestSetup::split(store).start().await;
    let admin = app.admin().await;
    let mut subjects = Vec::new();
    for name in 0..USERS {
        let user = app.user(&format!("subject {name}")).await;
        let made = app.bearer.with_token(&user.token);
        let made = made.post("/profile/keys", &json!({ "name": "a program" })).await;
        let key = made.expect(201).json()["key"].as_str().expect("a key").to_owned();
        subjects.push(Arc::new(Subject::new(user, key, admin.clone())));
    }
    let (second_auth, second_gateway) = second_pair(&mut app).await;
    let gateways = [app.bearer.clone(), Api::at(&second_gateway.address("bearer"))];
    let nginx = Nginx::start(second_gateway.socket_address("forward")).await;
    let sources = sources(&app, &second_auth, &gateways, nginx.as_ref()).await;
    let app = Arc::new(app);

    let mut scenarios = JoinSet::new();
    for subject in subjects {
        let (sources, gateways, app) = (sources.clone(), gateways.clone(), Arc::clone(&app));
        scenarios.spawn(run_scenario(subject, sources, gateways, app, wanted / USERS));
    }
    let mut all = Checked::default();
    while let Some(scenario) = scenarios.join_next().await {
        all.add(scenario.expect("no reader and no writer panicked"));
    }
    assert!(all.stale.is_empty(), "{:?}", all.stale);
    report(store, &all);
    assert!(all.unambiguous >= wanted, "{all:?} are too few");
    drop((second_auth, second_gateway));
}

/// One for each reader of a user.
async fn sources(
    app: &TestApp,
    second_auth: &Process,
    gateways: &[Api; 2],
    nginx: Option<&Nginx>,
) -> Vec<Source> {
    let mut sources: Vec<_> = gateways.iter().cloned().map(Source::Profile).collect();
    for auth in [app.auth(), second_auth] {
        sources.push(Source::ExtAuthz(ext_authz::client(&auth.address("grpc")).await));
    }
    match nginx {
        Some(nginx) => sources.push(Source::Application(nginx.application.clone())),
        None => print("NOT TESTED: reads through nginx, which is not installed"),
    }
    sources
}

/// Another auth-service on the same database, and another gateway that calls it.
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
        ("FORWARD_AUTH_LISTEN_ADDR", "127.0.0.1:0"),
    ]
    .map(|(name, value)| (name.to_owned(), value.to_owned()))
    .into_iter()
    .collect::<std::collections::BTreeMap<_, _>>();
    let auth = Process::start(Program::FastHashAuthService, &settings, &folder).ready().await;
    settings.insert("AUTH_SERVICE_URL".to_owned(), auth.address("grpc"));
    let gateway = Process::start(Program::Gateway, &settings, &folder).ready().await;
    (auth, gateway)
}

/// Changes the role of one user until there are enough reads.
async fn run_scenario(
    subject: Arc<Subject>,
    sources: Vec<Source>,
    gateways: [Api; 2],
    app: Arc<TestApp>,
    wanted: usize,
) -> Checked {
    let first = Instant::now();
    let mut readers = JoinSet::new();
    for source in sources {
        readers.spawn(Arc::clone(&subject).read(source));
    }
    let mut changes = vec![Change { began: first, acknowledged: Some(first), role: "user" }];
    let enough = wanted.div_ceil(READS_BETWEEN_CHANGES as usize) + 1;
    while changes.len() <= enough {
        let permits = subject.reads_since_change.acquire_many(READS_BETWEEN_CHANGES).await;
        permits.expect("a reader panicked").forget();
        let role = ["author", "admin", "user"][changes.len() % 3];
        let began = Instant::now();
        subject.change(role, changes.len(), &gateways, &app).await;
        changes.push(Change { began, acknowledged: Some(Instant::now()), role });
        subject.changes_done.fetch_add(1, Ordering::SeqCst);
        // Reads concurrent with the change do not count towards the next.
        subject.reads_since_change.forget_permits(usize::MAX >> 4);
    }
    subject.stop.store(true, Ordering::SeqCst);
    let mut checked = Checked::default();
    while let Some(reads) = readers.join_next().await {
        let reads = reads.expect("no reader panicked");
        checked.add(check(&changes, &reads));
    }
    checked
}

impl Subject {
    fn new(user: TestUser, key: String, admin: TestUser) -> Self {
        Self {
            credentials: [user.token.clone(), key],
            user,
            admin,
            reads_since_change: Semaphore::new(0),
            changes_done: AtomicUsize::new(0),
            stop: AtomicBool::new(false),
        }
    }

    /// Reads until stopped. A reader that panics closes the semaphore, so that the writer does not
    /// wait for its reads.
    async fn read(self: Arc<Self>, source: Source) -> Vec<Read> {
        let closer = CloseOnPanic(&self.reads_since_change);
        let mut reads = Vec::new();
        while !self.stop.load(Ordering::SeqCst) {
            let generation = self.changes_done.load(Ordering::SeqCst);
            let began = Instant::now();
            let role = source.role(&self.credentials[reads.len() % 2]).await;
            let ended = Instant::now();
            reads.push(Read { began, ended, role });
            if generation == self.changes_done.load(Ordering::SeqCst) {
                self.reads_since_change.add_permits(1);
            }
        }
        drop(closer);
        reads
    }

    /// In turns through each gateway and by SQL.
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

fn report(store: Store, checked: &Checked) {
    print(&format!(
        "{store:?}: {} reads with one valid role, {} concurrent with a change; none was stale",
        checked.unambiguous, checked.concurrent
    ));
}

#[expect(clippy::print_stdout, reason = "the counts are the result of the long form")]
fn print(text: &str) {
    println!("{text}");
}
