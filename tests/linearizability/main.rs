//! Reads of roles, of memberships and of ends of credentials are linearizable.
//!
//! Two gateways and two auth-services share a database. Readers request `/profile` at both
//! gateways, ask as Envoy does, and request an application behind nginx. Each does so in a loop,
//! with an access token, a session and an API key in turns. Meanwhile roles change through the API
//! and by SQL, and credentials end in every way. Each response is checked against the acknowledged
//! changes of its credential.
//!
//! Other readers require a group, at both gateways and by gRPC at both auth-services. Meanwhile
//! memberships are given and taken away, and memberships and accounts end by themselves. Such an
//! end is a change that the database's clock makes.
//!
//! The writer and the readers of a user are in `subject`, the ways to read in `source`, and the
//! check in `history`. `failover` does the same while PostgreSQL fails over, and `held_answer`
//! delays one read while another begins.
//!
//! `LINEARIZABILITY_READS` is the number of reads with one valid state: 5,000 by default, so that the
//! credentials of each user end in every way at least once, 10,000 for `tests/run --prove`, and
//! 100,000 or more for the long form. `LINEARIZABILITY_HISTORY` names a file to which each operation
//! is appended, so that `tests/specifications` can replay it.

#![expect(
    clippy::too_many_lines,
    reason = "a test tells its story in order, with its values in sight"
)]

mod failover;
mod held_answer;
mod history;
mod nginx;
mod source;
mod subject;

use e2e::{
    Api, DatabaseClock, Process, Program, SIGNING_SECRET, Store, TestApp, TestDatabase, TestSetup,
    ext_authz, grpc, proof,
};
use history::Checked;
use nginx::Nginx;
use source::Source;
use std::sync::Arc;
use subject::{CredentialSubject, MembershipSubject};
use tokio::task::JoinSet;

/// How many users there are whose roles and credentials change.
const USERS: usize = 4;
/// How many users there are whose memberships change.
const MEMBERS: usize = 2;
/// The reads of each store, if `LINEARIZABILITY_READS` is not set.
const DEFAULT_READS: usize = 5_000;

#[tokio::test(flavor = "multi_thread", worker_threads = 2)]
async fn reads_are_linearizable_on_postgres() {
    credentials_are_linearizable(Store::Postgres).await;
}

#[tokio::test(flavor = "multi_thread", worker_threads = 2)]
async fn reads_are_linearizable_on_sqlite() {
    credentials_are_linearizable(Store::Sqlite).await;
}

async fn credentials_are_linearizable(store: Store) {
    let wanted = std::env::var("LINEARIZABILITY_READS")
        .ok()
        .map_or(DEFAULT_READS, |text| {
            text.parse::<usize>()
                .expect("LINEARIZABILITY_READS is a number of reads")
        });
    let mut app = TestSetup::split(store).start().await;
    let admin = app.admin().await;
    let mut users = Vec::new();
    for number in 0..USERS {
        users.push(app.user(&format!("{store:?} subject {number}")).await);
    }
    let mut members = Vec::new();
    for number in 0..MEMBERS {
        // The user's group has this name, too, and names of groups have no capital letters.
        let name = format!("{store:?}-member-{number}").to_lowercase();
        members.push(app.user(&name).await);
    }
    let (second_auth, second_gateway) = second_pair(&mut app).await;
    let gateways = [
        app.bearer.clone(),
        Api::at(&second_gateway.address("bearer")),
    ];
    let nginx = Nginx::start(second_gateway.socket_address("forward")).await;
    let role_sources = role_sources(&app, &second_auth, &gateways, nginx.as_ref()).await;
    let group_sources = group_sources(&app, &second_auth, &second_gateway).await;
    let app = Arc::new(app);

    let mut scenarios = JoinSet::new();
    for user in users {
        let (admin, gateways) = (admin.token.clone(), gateways.clone());
        let scenario = CredentialSubject::scenario(user, admin, gateways, Arc::clone(&app)).await;
        scenarios.spawn(scenario.run(role_sources.clone(), wanted / USERS));
    }
    for user in members {
        let (admin, gateways) = (admin.token.clone(), gateways.clone());
        let clock = DatabaseClock::open(&app.database).await;
        let scenario = MembershipSubject::scenario(user, admin, gateways, clock).await;
        scenarios.spawn(scenario.run(group_sources.clone(), wanted / USERS));
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

/// Returns the sources from which roles are read. Every source has one reader for each user.
async fn role_sources(
    app: &TestApp,
    second_auth: &Process,
    gateways: &[Api; 2],
    nginx: Option<&Nginx>,
) -> Vec<Source> {
    let mut sources: Vec<_> = gateways.iter().cloned().map(Source::Profile).collect();
    for auth in [app.auth(), second_auth] {
        sources.push(Source::ExtAuthz(
            ext_authz::client(&auth.address("grpc")).await,
        ));
    }
    match nginx {
        Some(nginx) => sources.push(Source::Application(nginx.application.clone())),
        None => print("NOT TESTED: reads through nginx, which is not installed"),
    }
    sources
}

/// Returns the sources from which memberships are read.
async fn group_sources(
    app: &TestApp,
    second_auth: &Process,
    second_gateway: &Process,
) -> Vec<Source> {
    let gateways = [app.gateway(), second_gateway];
    let mut sources = gateways
        .map(|gateway| Source::Authorize(Api::at(&gateway.address("forward"))))
        .to_vec();
    for auth in [app.auth(), second_auth] {
        let client = grpc::client(&auth.address("grpc")).await;
        sources.push(Source::VerifyCredentials(client));
    }
    sources
}

/// Starts another auth-service on the same database, and another gateway that calls it.
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
        // The passwords of users whose accounts have ended are refused, and must not be limited.
        ("LOGIN_FAILURE_LIMIT", "0"),
    ]
    .map(|(name, value)| (name.to_owned(), value.to_owned()))
    .into_iter()
    .collect::<std::collections::BTreeMap<_, _>>();
    let auth = Process::start(Program::FastHashAuthService, &settings, &folder)
        .ready()
        .await;
    settings.insert("AUTH_SERVICE_URL".to_owned(), auth.address("grpc"));
    let gateway = Process::start(Program::Gateway, &settings, &folder)
        .ready()
        .await;
    (auth, gateway)
}

fn report(store: Store, checked: &Checked) {
    print(&format!(
        "{store:?}: {} reads with one valid state, {} concurrent with a change; none was stale",
        checked.unambiguous, checked.concurrent
    ));
    proof(
        "freshness",
        &[
            ("changes", checked.changes),
            ("reads with one valid answer", checked.unambiguous),
            ("reads during a change", checked.concurrent),
        ],
        &[("stale reads", checked.stale.len())],
    );
}

#[expect(
    clippy::print_stdout,
    reason = "the counts are the result of the long form"
)]
fn print(text: &str) {
    println!("{text}");
}
