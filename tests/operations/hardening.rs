//! What programs turn off by themselves.

use e2e::{Process, Program, Store, TestSetup};
use std::fs;

/// A program that cannot be dumped has files in /proc that belong to root, and no core limit.
#[tokio::test]
async fn no_program_writes_core_dumps() {
    let split = TestSetup::split(Store::Sqlite).start().await;
    let whole = TestSetup::all_in_one(Store::Sqlite).start().await;
    for process in split.processes().chain(whole.processes()) {
        let limits = fs::read_to_string(format!("/proc/{}/limits", process.id())).expect("limits");
        let core = limits.lines().find(|line| line.starts_with("Max core file size"));
        let words: Vec<&str> = core.expect("a limit").split_whitespace().collect();
        assert_eq!(words[4..6], ["0", "0"], "{limits}");
    }
}

#[tokio::test]
async fn grpc_of_users_can_be_off_in_one_process() {
    let folder = tempfile::tempdir().expect("a folder");
    let setup = TestSetup::all_in_one(Store::Sqlite);
    let database = format!("sqlite://{}", folder.path().join("users.db").display());
    let mut settings = setup.auth_settings(&database);
    settings.insert("AUTH_LISTEN_ADDR".to_owned(), "off".to_owned());
    let process = Process::start(Program::FastHashRolegate, &settings, folder.path()).ready().await;
    assert_eq!(process.address("grpc"), "off");
    process.wait_for_readiness(200).await;
    let bearer = e2e::Api::at(&process.address("bearer"));
    let login = serde_json::json!({ "username": "admin", "password": e2e::ADMIN_PASSWORD });
    bearer.post("/login", &login).await.expect(200);
}
