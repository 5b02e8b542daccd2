//! Checks that programs write no core dumps, raise their limit of open files, and that `rolegate` trusts no gRPC
//! caller.

use e2e::{Process, Program, Store, TestSetup, grpc};
use rolegate_proto::auth_v1::LoginRequest;
use std::fs;
use tonic::{Code, Request};

/// Checks the core limit only. Whether a process is dumpable is visible only to itself, so a unit test in
/// `core_dumps.rs` checks that.
#[tokio::test]
async fn no_program_writes_core_dumps() {
    let split = TestSetup::split(Store::Sqlite).start().await;
    let whole = TestSetup::all_in_one(Store::Sqlite).start().await;
    for process in split.processes().chain(whole.processes()) {
        let limits = fs::read_to_string(format!("/proc/{}/limits", process.id())).expect("limits");
        let core = limits
            .lines()
            .find(|line| line.starts_with("Max core file size"));
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
    let process = Process::start(Program::FastHashRolegate, &settings, folder.path())
        .ready()
        .await;
    assert_eq!(process.address("grpc"), "off");
    process.wait_for_readiness(200).await;
    let bearer = e2e::Api::at(&process.address("bearer"));
    let login = serde_json::json!({ "username": "admin", "password": e2e::ADMIN_PASSWORD });
    bearer.post("/login", &login).await.expect(200);
}

/// In `rolegate`, the gateway calls auth-service over memory. No caller on the gRPC port may therefore report client
/// addresses.
#[tokio::test]
async fn grpc_port_of_one_process_trusts_no_loopback() {
    let setup = TestSetup::all_in_one(Store::Sqlite).with("LOGIN_FAILURE_LIMIT", "1");
    let app = setup.start().await;
    let mut client = grpc::client(&app.auth().address("grpc")).await;
    let mut guess = async |from: &str| {
        let (username, password) = ("admin".to_owned(), "wrong".to_owned());
        let mut request = Request::new(LoginRequest {
            username,
            password,
            otp: None,
        });
        request
            .metadata_mut()
            .insert("x-client-address", from.parse().expect("text"));
        client.login(request).await.expect_err("wrong").code()
    };
    assert_eq!(guess("198.51.100.1").await, Code::Unauthenticated);
    assert_eq!(
        guess("198.51.100.2").await,
        Code::ResourceExhausted,
        "it is the same client"
    );
}

#[tokio::test]
async fn every_program_raises_its_soft_limit_of_open_files() {
    let folder = tempfile::tempdir().expect("a folder");
    let database = format!("sqlite://{}", folder.path().join("users.db").display());
    let nowhere = "127.0.0.1:1".parse().expect("an address");
    let setup = TestSetup::split(Store::Sqlite);
    for (program, settings) in [
        (Program::FastHashAuthService, setup.auth_settings(&database)),
        (
            Program::PostsService,
            setup.posts_settings(&database.replace("users", "posts"), nowhere),
        ),
        (Program::Gateway, setup.gateway_settings(nowhere, None)),
        (
            Program::FastHashRolegate,
            TestSetup::all_in_one(Store::Sqlite).auth_settings(&database),
        ),
    ] {
        let start = Process::start_with_open_files;
        let process = start(program, &[], "-S -n 200", &settings, folder.path())
            .ready()
            .await;
        let limits = fs::read_to_string(format!("/proc/{}/limits", process.id())).expect("limits");
        let files = limits
            .lines()
            .find(|line| line.starts_with("Max open files"))
            .expect("one");
        let words: Vec<&str> = files.split_whitespace().collect();
        assert!(
            words[3] != "200" && words[3] == words[4],
            "{program:?}: {files}"
        );
    }
}
