use super::Gateway;
use crate::{settings::Settings, test_support::shared_auth_service};
use rolegate_program::{settings::SettingError, shutdown::Shutdown};
use std::{net::SocketAddr, time::Duration};
use tokio::{
    io::{AsyncReadExt, AsyncWriteExt},
    net::TcpStream,
    task::JoinHandle,
    time::timeout,
};

async fn bind(bearer: &str, basic: &str) -> Result<Gateway, SettingError> {
    let arguments = ["--bearer-listen-addr", bearer, "--basic-listen-addr", basic];
    let arguments = [&arguments[..], &["--forward-auth-listen-addr", "off"]].concat();
    let settings = Settings::from_args(&arguments).expect("addresses");
    Gateway::bind(&settings.public, &settings.sign_in, None).await
}

async fn serving() -> (SocketAddr, Shutdown, JoinHandle<()>) {
    let gateway = bind("127.0.0.1:0", "off").await.expect("a free port");
    let address = gateway.bearer_address().expect("on");
    let shutdown = Shutdown::new();
    let serving = tokio::spawn(gateway.serve(shared_auth_service(), None, shutdown.clone()));
    (address, shutdown, serving)
}

/// Sends a whole request, and then reads until the server closes the connection.
async fn exchange(head: &str, body: &[u8]) -> String {
    let (address, ..) = serving().await;
    let mut stream = TcpStream::connect(address).await.expect("it listens");
    let mut response = Vec::new();
    let exchange = async {
        stream
            .write_all(head.as_bytes())
            .await
            .expect("the head is taken");
        stream.write_all(body).await.expect("the body is taken");
        stream.read_to_end(&mut response).await.expect("no reset");
    };
    timeout(Duration::from_secs(20), exchange)
        .await
        .expect("an response in time");
    String::from_utf8(response).expect("text")
}

#[tokio::test]
async fn both_variants_off_is_rejected() {
    let error = bind("off", "off").await.expect_err("no variant is on");
    assert!(
        error
            .to_string()
            .starts_with("BEARER_LISTEN_ADDR: is off, and so is"),
        "{error}"
    );
}

#[tokio::test]
async fn port_in_use_names_its_variable() {
    let first = bind("127.0.0.1:0", "off").await.expect("a free port");
    let taken = first.bearer_address().expect("on").to_string();
    let error = bind("off", &taken).await.expect_err("it is taken");
    assert!(
        error
            .to_string()
            .starts_with("BASIC_LISTEN_ADDR: cannot listen on"),
        "{error}"
    );
}

#[tokio::test]
async fn client_that_sends_5_megabytes_receives_the_413() {
    let body = vec![b' '; 5_000_000];
    let length = body.len();
    let head = format!(
        "POST /register HTTP/1.1\r\nhost: x\r\nconnection: close\r\n\
         content-type: application/json\r\ncontent-length: {length}\r\n\r\n"
    );
    let response = exchange(&head, &body).await;
    assert!(response.starts_with("HTTP/1.1 413 "), "{response}");
    assert!(
        response.ends_with(r#"{"detail":"Request body too large."}"#),
        "{response}"
    );

    let head = "PUT /users/1/role HTTP/1.1\r\nhost: x\r\nconnection: close\r\n\
                transfer-encoding: chunked\r\n\r\n";
    let chunked = [
        format!("{length:x}\r\n").as_bytes(),
        &body,
        b"\r\n0\r\n\r\n",
    ]
    .concat();
    let response = exchange(head, &chunked).await;
    assert!(response.starts_with("HTTP/1.1 401 "), "{response}");
}

#[tokio::test]
async fn client_that_expects_100_continue_receives_the_413_without_sending() {
    let head = "POST /login HTTP/1.1\r\nhost: x\r\nexpect: 100-continue\r\n\
                content-type: application/json\r\ncontent-length: 5000000\r\n\r\n";
    let response = exchange(head, b"").await;
    assert!(response.starts_with("HTTP/1.1 413 "), "{response}");
    assert!(response.contains("connection: close\r\n"), "{response}");
}

#[tokio::test]
async fn serve_returns_after_the_shutdown() {
    let (address, shutdown, serving) = serving().await;
    shutdown.stop_now();
    timeout(Duration::from_secs(5), serving)
        .await
        .expect("in time")
        .expect("no panic");
    TcpStream::connect(address)
        .await
        .expect_err("the listener is closed");
}
