//! Checks that many connections of a few clients do not keep probes, the store or other clients from being served.

use e2e::{
    ADMIN_PASSWORD, Api, Process, Program, Store, TestDatabase, TestSetup, eventually,
    for_both_stores, within_bounds,
};
use serde_json::json;
use std::{collections::BTreeMap, net::SocketAddr, path::Path, time::Duration};
use tokio::{
    io::{AsyncReadExt as _, AsyncWriteExt as _},
    net::{TcpSocket, TcpStream},
    time::timeout,
};

for_both_stores!(rolegate_works_when_clients_take_every_file_descriptor);

/// How soon others must be served. It is half the time after which a silent connection is closed in any case.
const SOON: Duration = Duration::from_secs(5);

/// The option of `ulimit` that limits the open files of the program.
const FILES: &str = "-n 64";

/// Opens more connections to a listener than it serves, and leaves them idle. A gRPC listener accepts only those that
/// it serves; the others wait in the backlog of the kernel.
async fn idle_clients(process: &Process, listener: &str) -> Vec<TcpStream> {
    let count = if ["bearer", "basic"].contains(&listener) {
        150
    } else {
        100
    };
    let mut clients = Vec::new();
    for _ in 0..count {
        let client = TcpStream::connect(process.socket_address(listener)).await;
        clients.push(client.expect("connected"));
    }
    clients
}

async fn expect_ready(process: &Process) {
    let ops = Api::at(&process.address("ops"));
    for path in ["/livez", "/readyz"] {
        soon(path, ops.get(path)).await.expect(200);
    }
}

async fn soon<T>(what: &str, done: impl Future<Output = T>) -> T {
    timeout(SOON, done)
        .await
        .unwrap_or_else(|_| panic!("no {what} within {SOON:?}"))
}

async fn start(program: Program, settings: &BTreeMap<String, String>, folder: &Path) -> Process {
    let process = Process::start_with_open_files(program, &[], FILES, settings, folder)
        .ready()
        .await;
    process.wait_for_readiness(200).await;
    process
}

async fn rolegate_works_when_clients_take_every_file_descriptor(store: Store) {
    let (database, folder) = (
        TestDatabase::create(store).await,
        tempfile::tempdir().expect("one"),
    );
    let setup = TestSetup::all_in_one(store);
    let settings = setup.auth_settings(&database.url());
    let process = start(setup.auth_program(), &settings, folder.path()).await;
    let mut clients = Vec::new();
    for listener in ["bearer", "basic", "grpc", "posts"] {
        clients.extend(idle_clients(&process, listener).await);
        expect_ready(&process).await;
    }
    let bearer = Api::at(&process.address("bearer"));
    let login = json!({ "username": "admin", "password": ADMIN_PASSWORD });
    let response = soon("newcomer", bearer.post("/login", &login)).await;
    let token = response.expect(200).json()["access_token"]
        .as_str()
        .expect("a token")
        .to_owned();
    let bearer = bearer.with_token(&token);
    let post = json!({ "title": "Title", "content": "Content." });
    soon("write", bearer.post("/posts", &post))
        .await
        .expect(201);
}

#[tokio::test]
async fn services_are_live_when_clients_take_every_file_descriptor() {
    let database = TestDatabase::create(Store::Postgres).await;
    let (setup, folder) = (
        TestSetup::split(Store::Postgres),
        tempfile::tempdir().expect("one"),
    );
    let settings = setup.auth_settings(&database.url());
    let auth = start(setup.auth_program(), &settings, folder.path()).await;
    let grpc = auth.socket_address("grpc");
    let settings = setup.posts_settings(&database.url(), grpc);
    let posts = start(Program::PostsService, &settings, folder.path()).await;
    let settings = setup.gateway_settings(grpc, None);
    let gateway = start(Program::Gateway, &settings, folder.path()).await;
    for (process, listener) in [(&gateway, "bearer"), (&auth, "grpc"), (&posts, "grpc")] {
        let _clients = idle_clients(process, listener).await;
        expect_ready(process).await;
    }
    let _clients = idle_clients(&gateway, "basic").await;
    let basic = Api::at(&gateway.address("basic"));
    soon("newcomer", basic.get("/public")).await.expect(200);
}

async fn connect_from(source: &str, target: SocketAddr) -> TcpStream {
    let socket = TcpSocket::new_v4().expect("a socket");
    socket
        .bind(SocketAddr::new(source.parse().expect("an address"), 0))
        .expect("bound");
    socket.connect(target).await.expect("connected")
}

/// Returns whether the gateway answers a request on this connection, instead of closing it.
async fn is_served(client: &mut TcpStream) -> bool {
    let request = b"GET /public HTTP/1.1\r\nHost: gateway\r\n\r\n";
    let mut response = Vec::new();
    let served = async {
        client.write_all(request).await?;
        while !response.ends_with(b"}") && client.read_buf(&mut response).await? > 0 {}
        std::io::Result::Ok(response)
    };
    let response = within_bounds("a response", served).await;
    response.is_ok_and(|response| response.starts_with(b"HTTP/1.1 200") && response.ends_with(b"}"))
}

#[tokio::test]
async fn an_address_at_its_limit_is_refused_and_others_and_proxies_are_served() {
    let (stranger, other, proxy) = ("127.0.0.2", "127.0.0.3", "127.0.0.4");
    let nowhere = "127.0.0.1:1".parse().expect("an address");
    let settings = TestSetup::split(Store::Sqlite)
        .with("MAX_CONNECTIONS_PER_ADDRESS", "3")
        .with("TRUSTED_PROXIES", proxy)
        .gateway_settings(nowhere, None);
    let folder = tempfile::tempdir().expect("a folder");
    let gateway = Process::start(Program::Gateway, &settings, folder.path())
        .ready()
        .await;
    let (bearer, basic) = (
        gateway.socket_address("bearer"),
        gateway.socket_address("basic"),
    );
    let mut clients = Vec::new();
    for target in [bearer, basic, bearer] {
        let mut client = connect_from(stranger, target).await;
        assert!(is_served(&mut client).await);
        clients.push(client);
    }
    for target in [bearer, basic] {
        assert!(
            !is_served(&mut connect_from(stranger, target).await).await,
            "a fourth"
        );
        assert!(is_served(&mut connect_from(other, target).await).await);
    }
    for _ in 0..5 {
        let mut client = connect_from(proxy, bearer).await;
        assert!(is_served(&mut client).await);
        clients.push(client);
    }
    assert!(is_served(&mut clients[0]).await, "an open connection stays");
    let says_so =
        |line: &str| line.contains("MAX_CONNECTIONS_PER_ADDRESS") && line.contains(stranger);
    gateway.logs("the limit", says_so).await;
    clients.remove(0);
    eventually("room for another", async || {
        is_served(&mut connect_from(stranger, bearer).await)
            .await
            .then_some(())
    })
    .await;
}
