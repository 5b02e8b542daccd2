//! Tests the limit on connections, and the deadline of the preface.

use super::{Connection, MAX_CONNECTIONS, PREFACE_LEN, PREFACE_TIMEOUT, accept};
use rolegate_http_server::listener::Listener;
use std::{
    future::pending,
    io::{self, ErrorKind},
    net::SocketAddr,
    time::Duration,
};
use tokio::{
    io::{AsyncReadExt, AsyncWriteExt},
    net::TcpStream,
    time::timeout,
};
use tokio_stream::{StreamExt as _, wrappers::ReceiverStream};

type Connections = ReceiverStream<io::Result<Connection>>;

async fn listen(limit: usize, deadline: Duration) -> (Connections, SocketAddr) {
    let address = "127.0.0.1:0".parse().expect("an address");
    let listener = Listener::bind("LISTEN_ADDR", address, limit)
        .await
        .expect("bound");
    let address = listener.address();
    (accept(listener, deadline, pending()), address)
}

#[tokio::test]
async fn at_the_limit_a_connection_waits_until_another_ends() {
    let (mut connections, address) = listen(2, PREFACE_TIMEOUT).await;
    let mut clients = Vec::new();
    for _ in 0..3 {
        clients.push(TcpStream::connect(address).await.expect("connected"));
    }
    let first = connections.next().await.expect("one").expect("accepted");
    let _second = connections.next().await.expect("two").expect("accepted");
    let third = timeout(Duration::from_millis(50), connections.next()).await;
    assert!(third.is_err(), "a third was accepted");
    drop(first);
    connections.next().await.expect("three").expect("accepted");
}

#[tokio::test]
async fn without_a_preface_a_connection_times_out_and_with_one_it_may_be_idle() {
    let (mut connections, address) = listen(MAX_CONNECTIONS, Duration::from_millis(50)).await;
    for sent in [0, PREFACE_LEN - 1] {
        let mut client = TcpStream::connect(address).await.expect("connected");
        client
            .write_all(&[b'x'; PREFACE_LEN][..sent])
            .await
            .expect("sent");
        let mut server = connections.next().await.expect("one").expect("accepted");
        let error = server
            .read_exact(&mut [0; PREFACE_LEN])
            .await
            .expect_err("too late");
        assert_eq!(error.kind(), ErrorKind::TimedOut);
    }
    let mut client = TcpStream::connect(address).await.expect("connected");
    client.write_all(&[b'x'; PREFACE_LEN]).await.expect("sent");
    let mut server = connections.next().await.expect("one").expect("accepted");
    server
        .read_exact(&mut [0; PREFACE_LEN])
        .await
        .expect("the preface");
    let more = timeout(Duration::from_millis(200), server.read_u8()).await;
    assert!(more.is_err(), "cut off: {more:?}");
}
