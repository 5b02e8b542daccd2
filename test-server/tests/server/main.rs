//! Tests the program in the way that tests of applications use it.

mod control;
mod flags;

use reqwest::{Client, Response, StatusCode};
use rolegate_auth_client::{
    AuthClient, CallContext,
    testing::{Control, TestServer},
};
use serde_json::{Value, json};
use std::{
    fs,
    io::{BufRead as _, BufReader, Read as _},
    net::TcpStream,
    process::{Child, Command, Stdio},
    time::{Duration, Instant},
};

const PROGRAM: &str = env!("CARGO_BIN_EXE_rolegate-test-server");

/// The maximum time of a start. It is long because this build is not optimized and the machine may be busy;
/// `tests/long/test-server` holds a release to 50 ms.
const START_TIME: Duration = Duration::from_secs(5);

/// Logs in, and returns the access token.
async fn login(server: &TestServer, username: &str, password: &str) -> String {
    let body = json!({ "username": username, "password": password });
    let request = Client::new()
        .post(format!("{}/login", server.addresses["bearer"]))
        .json(&body);
    let answer: Value = request
        .send()
        .await
        .expect("an answer")
        .json()
        .await
        .expect("JSON");
    answer["access_token"].as_str().expect("a token").to_owned()
}

fn start(flags: &[&str]) -> TestServer {
    TestServer::start(Command::new(PROGRAM).args(flags))
}

/// Starts a server with the author ada and the user bob.
fn server() -> TestServer {
    start(&[
        "--user",
        "ada:a password:author",
        "--user",
        "bob:another one",
    ])
}

async fn get(server: &TestServer, path: &str, token: &str) -> Response {
    let request = Client::new()
        .get(format!("{}{path}", server.addresses["bearer"]))
        .bearer_auth(token);
    request.send().await.expect("an answer")
}

async fn status(server: &TestServer, path: &str, token: &str) -> StatusCode {
    get(server, path, token).await.status()
}

/// Starts a process whose stdin is `/dev/null` and whose output is piped.
fn spawn(command: &mut Command) -> Child {
    let command = command
        .stdin(Stdio::null())
        .stdout(Stdio::piped())
        .stderr(Stdio::piped());
    command.spawn().expect("it starts")
}

#[tokio::test]
async fn users_of_the_flags_log_in_at_every_address() {
    let server = server();
    let (ada, bob) = (
        login(&server, "ada", "a password").await,
        login(&server, "bob", "another one").await,
    );
    assert_eq!(status(&server, "/author", &ada).await, 200);
    assert_eq!(status(&server, "/author", &bob).await, 403);
    assert_eq!(status(&server, "/public", "").await, 200);
    let admin = login(&server, "admin", "admin-password").await;
    assert_eq!(status(&server, "/users", &admin).await, 200);
    let basic = Client::new().get(format!("{}/protected", server.addresses["basic"]));
    let basic = basic
        .basic_auth("ada", Some("a password"))
        .send()
        .await
        .expect("an answer");
    assert_eq!(basic.status(), 200);
    let decision = Client::new().get(format!(
        "{}/authorize?roles=author",
        server.addresses["forward"]
    ));
    let decision = decision.bearer_auth(&ada).send().await.expect("an answer");
    assert_eq!(decision.status(), 200);
    let client = AuthClient::connect_lazy(&server.addresses["grpc"]).expect("a URL");
    let login = client
        .login("ada", &"a password".into(), None, CallContext::default())
        .await;
    assert_eq!(login.expect("a login").1.role.as_str(), "author");
}

#[tokio::test]
async fn two_servers_share_nothing() {
    let (one, other) = (server(), start(&["--user", "ada:of the other"]));
    let (of_one, of_other) = (
        login(&one, "ada", "a password").await,
        login(&other, "ada", "of the other").await,
    );
    assert_eq!(status(&other, "/profile", &of_one).await, 401);
    one.control(&Control::Clock {
        advance_seconds: 1801,
    });
    one.control(&Control::Outage {});
    assert_eq!(status(&one, "/profile", &of_one).await, 503);
    assert_eq!(status(&other, "/profile", &of_other).await, 200);
}

#[test]
fn server_is_ready_soon_and_says_so_in_one_line() {
    let started = Instant::now();
    let mut server = spawn(Command::new(PROGRAM).args(["--user", "ada:a password"]));
    let mut stdout = BufReader::new(server.stdout.take().expect("piped"));
    let mut line = String::new();
    stdout.read_line(&mut line).expect("a line");
    assert!(started.elapsed() < START_TIME, "{:?}", started.elapsed());
    let notice: Value = serde_json::from_str(&line).expect("JSON");
    for name in ["bearer", "basic", "forward", "grpc", "control"] {
        let url = notice["listeners"][name].as_str().expect(name);
        TcpStream::connect(url.trim_start_matches("http://")).expect(name);
    }
    let id = server.id().to_string();
    assert!(
        Command::new("kill")
            .arg(id)
            .status()
            .expect("a signal")
            .success()
    );
    let mut rest = (String::new(), String::new());
    stdout.read_to_string(&mut rest.0).expect("the end");
    let mut stderr = server.stderr.take().expect("piped");
    stderr.read_to_string(&mut rest.1).expect("the end");
    assert_eq!(
        rest,
        (String::new(), String::new()),
        "nothing more is printed"
    );
    assert!(
        server.wait().expect("an end").success(),
        "SIGTERM is no failure"
    );
}

#[test]
fn server_ends_with_its_parent_and_leaves_nothing_behind() {
    let folder = tempfile::tempdir().expect("a folder");
    // Without `exit`, the shell would replace itself with its last command, and not be a parent.
    let mut parent = Command::new("sh");
    parent.args(["-c", "\"$0\" --user 'ada:a password'; exit", PROGRAM]);
    let mut parent = spawn(
        parent
            .current_dir(folder.path())
            .env("TMPDIR", folder.path()),
    );
    let mut stdout = BufReader::new(parent.stdout.take().expect("piped"));
    let mut line = String::new();
    stdout.read_line(&mut line).expect("a line");
    let notice: Value = serde_json::from_str(&line).expect("JSON");
    let address = notice["listeners"]["bearer"]
        .as_str()
        .expect("a URL")
        .trim_start_matches("http://");
    TcpStream::connect(address).expect("it serves");
    // `kill` sends SIGKILL, so the parent cannot stop its child.
    parent.kill().expect("killed");
    parent.wait().expect("an end");
    // The server holds the other end of this pipe, so the pipe ends when the server has ended.
    stdout.read_line(&mut line).expect("the end");
    TcpStream::connect(address).expect_err("it has ended");
    assert_eq!(fs::read_dir(folder.path()).expect("a folder").count(), 0);
}
