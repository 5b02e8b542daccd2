//! Tests concurrent starts, and a start before the database is available.

use e2e::{
    ADMIN_PASSWORD, Process, Store, TcpProxy, TestDatabase, TestSetup, for_both_stores,
    for_postgres_deployments, grpc,
};
use rolegate_proto::auth_v1::LoginRequest;

for_postgres_deployments!(start_waits_for_the_database);
for_both_stores!(eight_instances_start_at_once_on_an_empty_database);

async fn eight_instances_start_at_once_on_an_empty_database(store: Store) {
    let setup = TestSetup::split(store);
    let (program, database) = (setup.auth_program(), TestDatabase::create(store).await);
    let (settings, folder) = (setup.auth_settings(&database.url()), std::env::temp_dir());
    let starting: Vec<_> = (0..8)
        .map(|_| Process::start(program, &settings, &folder))
        .collect();
    for process in starting {
        let process = process.ready().await;
        assert_eq!(database.count_users().await, 1, "one admin");
        let mut client = grpc::client(&process.address("grpc")).await;
        let (username, password) = ("admin".to_owned(), ADMIN_PASSWORD.to_owned());
        let request = LoginRequest {
            username,
            password,
            otp: None,
        };
        client.login(request).await.expect("every instance works");
    }
}

async fn start_waits_for_the_database(setup: TestSetup) {
    let database = TestDatabase::create(Store::Postgres).await;
    let mut proxy = TcpProxy::refusing(database.address());
    let settings = setup.auth_settings(&database.url_through(proxy.address()));
    let folder = tempfile::tempdir().expect("a folder");
    let process = Process::start(setup.auth_program(), &settings, folder.path());
    let says_so = |line: &str| {
        let line = line.to_lowercase();
        line.contains("database")
            || line.contains("postgres")
                && (line.contains("warn") || line.contains("error") || line.contains("wait"))
    };
    process
        .logs("that the database is not there", says_so)
        .await;
    assert!(
        !process.stdout().contains("http://"),
        "it listens before it can work"
    );
    proxy.open();
    let process = process.ready().await;
    process.wait_for_readiness(200).await;
    assert!(
        !process.stderr().contains("panicked"),
        "{}",
        process.stderr()
    );
}
