//! Runs the test suite of a client in another language against the deployment of
//! `clients/conformance.json`.
//!
//! ```sh
//! client-stage COMMAND…
//! ```
//!
//! Starts the deployment and runs the command. For the command, names resolve to the addresses of
//! the deployment. `AUTH_SERVICE_URL` names the replicas, and `TLS_STAGE` is a JSON object with the
//! URLs of a replica with mutual TLS and the files of its clients.
//!
//! The command controls the deployment over TCP at the address in `CLIENT_STAGE`, with one JSON
//! document a line. `{"token": "fresh"}` creates a user and is answered by `{"token": …}`.
//! `{"given": "role author"}` brings about that state and is then answered by `{}`.

use e2e::{ADMIN_PASSWORD, ClientStage};
use serde_json::{Value, json};
use std::process::ExitCode;
use tokio::{
    io::{AsyncBufReadExt as _, AsyncWriteExt as _, BufReader},
    net::{TcpListener, TcpStream},
    process::Command,
};

#[tokio::main]
async fn main() -> ExitCode {
    let mut stage = ClientStage::start().await;
    let tls = stage.start_tls().await;
    let listener = TcpListener::bind("127.0.0.1:0").await.expect("a free port");
    let address = listener.local_addr().expect("a bound socket");
    let mount_and_run = r#"mount --bind "$0" /etc/hosts && exec "$@""#;
    let mut command = Command::new("unshare")
        .args(["--map-root-user", "--mount", "sh", "-c", mount_and_run])
        .arg(stage.hosts())
        .args(std::env::args_os().skip(1))
        .env("AUTH_SERVICE_URL", stage.url())
        .env("ADMIN_PASSWORD", ADMIN_PASSWORD)
        .env("CLIENT_STAGE", address.to_string())
        .env("TLS_STAGE", tls.describe().to_string())
        .kill_on_drop(true)
        .spawn()
        .expect("unshare(1) can be started");
    loop {
        tokio::select! {
            accepted = listener.accept() => {
                let (stream, _) = accepted.expect("a connection of the command");
                tokio::select! {
                    () = serve(&mut stage, stream) => {}
                    _ = command.wait() => {}
                }
            }
            status = command.wait() => {
                let code = status.expect("it can be waited for").code().unwrap_or(1);
                return ExitCode::from(u8::try_from(code).unwrap_or(1));
            }
        }
    }
}

/// Answers the requests of one connection until it ends.
async fn serve(stage: &mut ClientStage, mut stream: TcpStream) {
    let (requests, mut responses) = stream.split();
    let mut requests = BufReader::new(requests).lines();
    let mut user = None;
    while let Ok(Some(line)) = requests.next_line().await {
        let request: Value = serde_json::from_str(&line).expect("JSON");
        let response = match (request["token"].as_str(), request["given"].as_str(), &user) {
            (Some(kind), None, _) => {
                let user = user.insert(stage.user(kind).await);
                json!({ "token": user.token })
            }
            (None, Some(given), Some(user)) => {
                stage.bring_about(given, user).await;
                json!({})
            }
            _ => panic!("neither a new user nor a state of one: {line}"),
        };
        let response = format!("{response}\n");
        responses
            .write_all(response.as_bytes())
            .await
            .expect("the command reads");
    }
}
