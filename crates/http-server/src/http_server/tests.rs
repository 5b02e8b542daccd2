//! Tests of the limits of connections, and of which connection is closed to make room for a new one.

use super::OpenConnections;
use crate::{host_header, listener::Listener};
use axum::{Router, middleware::from_fn, routing::get};
use rolegate_program::shutdown::Shutdown;
use std::{net::SocketAddr, sync::Arc, time::Duration};
use tokio::{
    io::{AsyncReadExt, AsyncWriteExt},
    net::TcpStream,
    sync::Notify,
    time::{sleep, timeout},
};

/// A size in bytes that is larger than the socket buffers of both ends.
const LARGE: usize = 16 * 1024 * 1024;

/// The maximum time that a test waits for an event that must happen even on a slow machine.
const PATIENCE: Duration = Duration::from_mins(1);

/// Serves until the test ends. `/slow` answers when it is notified.
async fn serve(limit: usize) -> (SocketAddr, Arc<Notify>) {
    let address = "127.0.0.1:0".parse().expect("an address");
    let listener = Listener::bind("LISTEN_ADDR", address, limit)
        .await
        .expect("bound");
    let notify = Arc::new(Notify::new());
    let address = listener.address();
    let slow = {
        let notify = Arc::clone(&notify);
        async move || {
            notify.notified().await;
            "slow"
        }
    };
    let router = Router::new()
        .route("/", get(async || "quick"))
        .route("/slow", get(slow))
        .route("/large", get(async || vec![b'x'; LARGE]))
        .layer(from_fn(host_header::require));
    tokio::spawn(super::serve(listener, router, Shutdown::new()));
    (address, notify)
}

async fn send(client: &mut TcpStream, text: &str) {
    client.write_all(text.as_bytes()).await.expect("sent");
}

/// Reads a response until its body ends with `end`.
async fn expect(client: &mut TcpStream, end: &str) {
    let mut response = Vec::new();
    while !response.ends_with(end.as_bytes()) {
        let read = timeout(PATIENCE, client.read_buf(&mut response)).await;
        assert_ne!(
            read.expect("in time").expect("open"),
            0,
            "closed before {end}"
        );
    }
    assert!(
        response.starts_with(b"HTTP/1.1 200"),
        "{:?}",
        response.get(..12)
    );
}

const QUICK: &str = "GET / HTTP/1.1\r\nHost: a\r\n\r\n";

async fn connect(address: SocketAddr) -> TcpStream {
    TcpStream::connect(address).await.expect("connected")
}

async fn expect_closed(client: &mut TcpStream) {
    let read = timeout(PATIENCE, client.read(&mut [0]))
        .await
        .expect("in time");
    assert!(matches!(read, Ok(0) | Err(_)), "{read:?}");
}

#[tokio::test]
async fn at_the_limit_a_newcomer_replaces_the_connection_that_is_idle_longest() {
    let (address, _) = serve(2).await;
    let (mut older, mut newer) = (connect(address).await, connect(address).await);
    for client in [&mut newer, &mut older] {
        send(client, QUICK).await;
        expect(client, "quick").await;
        // The pause is longer than the resolution of idle times.
        sleep(super::TICK_INTERVAL * 3).await;
    }
    let mut newcomer = connect(address).await;
    send(&mut newcomer, QUICK).await;
    expect(&mut newcomer, "quick").await;
    expect_closed(&mut newer).await;
    send(&mut older, QUICK).await;
    expect(&mut older, "quick").await;
}

#[tokio::test]
async fn a_connection_with_a_request_is_never_replaced() {
    let (address, slow) = serve(4).await;
    let mut in_request = connect(address).await;
    send(&mut in_request, "GET /slow HTTP/1.1\r\nHost: a\r\n\r\n").await;
    let mut in_head = connect(address).await;
    send(&mut in_head, "GET / HTTP/1.1\r\n").await;
    let mut in_response = connect(address).await;
    send(&mut in_response, "GET /large HTTP/1.1\r\nHost: a\r\n\r\n").await;
    in_response.readable().await.expect("the response begins");
    for _ in 0..10 {
        let mut newcomer = connect(address).await;
        send(&mut newcomer, QUICK).await;
        expect(&mut newcomer, "quick").await;
    }
    slow.notify_one();
    expect(&mut in_request, "slow").await;
    send(&mut in_head, "Host: a\r\n\r\n").await;
    expect(&mut in_head, "quick").await;
    let mut response = Vec::new();
    while response.len() < LARGE {
        let read = timeout(PATIENCE, in_response.read_buf(&mut response)).await;
        assert_ne!(
            read.expect("in time").expect("open"),
            0,
            "cut off at {}",
            response.len()
        );
    }
}

#[tokio::test]
async fn without_an_idle_connection_a_newcomer_waits() {
    let (address, slow) = serve(1).await;
    let mut first = connect(address).await;
    send(&mut first, "GET /slow HTTP/1.1\r\nHost: a\r\n\r\n").await;
    let mut newcomer = connect(address).await;
    send(&mut newcomer, QUICK).await;
    let early = timeout(Duration::from_millis(200), newcomer.read(&mut [0])).await;
    assert!(early.is_err(), "{early:?}");
    slow.notify_one();
    expect(&mut first, "slow").await;
    expect(&mut newcomer, "quick").await;
}

#[tokio::test]
async fn a_response_from_outside_the_routes_has_a_content_length() {
    let (address, _) = serve(1).await;
    let mut client = connect(address).await;
    send(&mut client, "GET / HTTP/1.1\r\nHost: a b\r\n\r\n").await;
    let mut response = String::new();
    timeout(PATIENCE, client.read_to_string(&mut response))
        .await
        .expect("in time")
        .expect("text");
    assert!(response.starts_with("HTTP/1.1 400"), "{response}");
    assert!(
        response.contains("\r\ncontent-length: 59\r\n"),
        "{response}"
    );
}

#[test]
fn the_connection_that_has_been_idle_longest_is_closed_first() {
    let mut connections = OpenConnections::default();
    let all: Vec<_> = (0..200).map(|_| connections.open()).collect();
    for used in [1, 0] {
        connections.tick();
        assert!(all[used].begin_request());
        all[used].end_request();
        all[used].begin_idle();
    }
    assert!(all[2].begin_request());
    // Connections with equal ticks are closed in the order of their age.
    for (closed, expected) in (3..200).chain([1, 0]).enumerate() {
        assert!(connections.close_longest_idle(), "{closed} closed");
        assert!(
            !all[expected].begin_head(),
            "{expected} is open, {closed} closed"
        );
    }
    assert!(
        !connections.close_longest_idle(),
        "the last one serves a request"
    );
}

#[test]
fn a_candidate_that_serves_again_is_skipped() {
    let mut connections = OpenConnections::default();
    let all: Vec<_> = (0..3).map(|_| connections.open()).collect();
    assert!(connections.close_longest_idle());
    assert!(all[1].begin_request());
    connections.tick();
    all[1].end_request();
    all[1].begin_idle();
    assert!(connections.close_longest_idle());
    assert!(all[1].begin_head() && !all[2].begin_head());
}

#[test]
fn an_ended_connection_leaves_the_table() {
    let mut connections = OpenConnections::default();
    let held: Vec<_> = (0..50).map(|_| connections.open()).collect();
    (0..10_000).for_each(|_| drop(connections.open()));
    assert!(
        connections.all.capacity() < 4 * held.len(),
        "{}",
        connections.all.capacity()
    );
    drop(held);
    assert!(!connections.close_longest_idle());
}
