//! Tests of the caps on connections, and of the pause after an error.

use super::{ACCEPT_PAUSE, Listener};
use crate::clients::AddressLimit;
use std::{io, time::Duration};
use tokio::{
    io::AsyncReadExt as _,
    net::TcpStream,
    time::{Instant, timeout},
};

async fn listen(limit: usize) -> Listener {
    let address = "127.0.0.1:0".parse().expect("an address");
    Listener::bind("LISTEN_ADDR", address, limit)
        .await
        .expect("bound")
}

async fn connect(listener: &Listener) -> TcpStream {
    TcpStream::connect(listener.address())
        .await
        .expect("connected")
}

#[tokio::test]
async fn at_the_limit_a_connection_waits_until_another_ends() {
    let mut listener = listen(2).await;
    let (_one, _two) = (connect(&listener).await, connect(&listener).await);
    let third = connect(&listener).await;
    let first = listener.accept(|| {}).await;
    let _second = listener.accept(|| {}).await;
    let waited = timeout(Duration::from_millis(50), listener.accept(|| {})).await;
    assert!(waited.is_err(), "a third was accepted");
    drop(first);
    let accepted = listener.accept(|| {}).await;
    assert_eq!(
        accepted.peer,
        third.local_addr().expect("bound"),
        "cancelling loses it"
    );
}

#[tokio::test]
async fn an_address_beyond_its_limit_is_closed_and_others_are_accepted() {
    let limit = AddressLimit::new(1, "".parse().expect("no networks"));
    let mut listener = listen(9).await.limit_per_address(limit);
    let _first = connect(&listener).await;
    let accepted = listener.accept(|| {}).await;
    let mut second = connect(&listener).await;
    let waited = timeout(Duration::from_millis(50), listener.accept(|| {})).await;
    assert!(waited.is_err(), "accepted");
    assert_eq!(second.read(&mut [0]).await.expect("closed"), 0);
    drop(accepted);
    let third = connect(&listener).await;
    let accepted = listener.accept(|| {}).await;
    assert_eq!(accepted.peer, third.local_addr().expect("bound"));
}

#[tokio::test(start_paused = true)]
async fn the_pause_after_an_error_survives_a_cancelled_accept() {
    let mut listener = listen(9).await;
    let _client = connect(&listener).await;
    let start = Instant::now();
    listener.handle_accept_error(&io::Error::other("too many open files"), || {});
    for _ in 0..4 {
        let accepted = timeout(ACCEPT_PAUSE / 5, listener.accept(|| {})).await;
        assert!(accepted.is_err(), "accepted after {:?}", start.elapsed());
    }
    listener.accept(|| {}).await;
    assert!(start.elapsed() >= ACCEPT_PAUSE, "{:?}", start.elapsed());
}
