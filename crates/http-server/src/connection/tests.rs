//! Tests of the activity and the deadlines of a connection.

use super::{
    Activity, CONTENDED_WRITE_TIMEOUT, GuardedStream, HEAD_TIMEOUT, MIN_PROGRESS, WRITE_TIMEOUT,
};
use crate::memory_budget::{
    Reservation,
    tests::{as_client, budget},
};
use std::{
    io::ErrorKind,
    sync::{Arc, atomic::Ordering::Relaxed},
    time::Duration,
};
use tokio::{
    io::{AsyncReadExt as _, AsyncWriteExt as _, DuplexStream, duplex},
    time::{Instant, advance, sleep},
};

/// Returns the activity of a connection that has a clock of its own.
fn activity() -> Arc<Activity> {
    Arc::new(Activity::new(&Arc::default()))
}

#[test]
fn a_connection_is_idle_from_its_last_response_to_the_first_byte_of_the_next_request() {
    let ticks = Arc::default();
    let connection = Activity::new(&ticks);
    let opened = connection.idle_since().expect("idle");
    assert!(connection.begin_head() && connection.begin_request());
    assert_eq!(connection.idle_since(), None);
    ticks.fetch_add(1, Relaxed);
    connection.end_request();
    assert_eq!(
        connection.idle_since(),
        None,
        "its response may not be written yet"
    );
    connection.begin_idle();
    assert!(connection.idle_since() > Some(opened));
    // The next head may have arrived together with the previous one.
    assert!(connection.begin_request());
    assert!(!connection.try_close(opened) && !connection.try_close(opened + 1));
}

#[test]
fn a_response_that_the_peer_has_not_taken_keeps_the_connection() {
    let connection = activity();
    let since = connection.idle_since().expect("idle");
    connection.set_blocked(true);
    assert!(!connection.try_close(since));
    connection.set_blocked(false);
    assert!(connection.try_close(since));
}

#[test]
fn a_closed_connection_serves_nothing() {
    let connection = activity();
    let since = connection.idle_since().expect("idle");
    assert!(connection.try_close(since) && !connection.try_close(since));
    assert!(!connection.begin_head() && !connection.begin_request());
    assert_eq!(connection.idle_since(), None);
}

fn connection() -> (DuplexStream, GuardedStream<DuplexStream>, Arc<Activity>) {
    let (client, server) = duplex(8);
    let activity = activity();
    (
        client,
        GuardedStream::new(server, Arc::clone(&activity)),
        activity,
    )
}

#[tokio::test(start_paused = true)]
async fn an_incomplete_head_times_out() {
    let (mut client, mut server, _) = connection();
    let start = Instant::now();
    client.write_all(b"GET").await.expect("sent");
    assert_eq!(server.read(&mut [0; 8]).await.expect("read"), 3);
    let error = server.read(&mut [0; 8]).await.expect_err("incomplete");
    assert_eq!(error.kind(), ErrorKind::TimedOut);
    assert_eq!(start.elapsed(), HEAD_TIMEOUT);
}

#[tokio::test(start_paused = true)]
async fn so_does_an_incomplete_head_of_a_later_request() {
    let (mut client, mut server, activity) = connection();
    assert!(activity.begin_request());
    activity.end_request();
    advance(HEAD_TIMEOUT * 2).await;
    client.write_all(b"GET").await.expect("sent");
    assert_eq!(server.read(&mut [0; 8]).await.expect("read"), 3);
    let start = Instant::now();
    let error = server.read(&mut [0; 8]).await.expect_err("incomplete");
    assert_eq!(error.kind(), ErrorKind::TimedOut);
    assert_eq!(start.elapsed(), HEAD_TIMEOUT);
}

#[tokio::test(start_paused = true)]
async fn a_running_request_and_an_idle_connection_have_no_head_deadline() {
    let (mut client, mut server, activity) = connection();
    client.write_all(b"GET").await.expect("sent");
    assert_eq!(server.read(&mut [0; 8]).await.expect("read"), 3);
    assert!(activity.begin_request());
    advance(HEAD_TIMEOUT * 2).await;
    client.write_all(b"body").await.expect("sent");
    assert_eq!(server.read(&mut [0; 8]).await.expect("read"), 4);
    activity.end_request();
    advance(HEAD_TIMEOUT * 2).await;
    client.write_all(b"GET").await.expect("sent");
    assert_eq!(server.read(&mut [0; 8]).await.expect("read"), 3);
}

async fn time_until_closed(server: &mut GuardedStream<DuplexStream>) -> Duration {
    let start = Instant::now();
    let error = server.write_all(&[0; 1024]).await.expect_err("8 bytes fit");
    assert_eq!(error.kind(), ErrorKind::TimedOut);
    start.elapsed()
}

#[tokio::test(start_paused = true)]
async fn a_client_that_does_not_read_times_out() {
    let (_client, mut server, _) = connection();
    assert_eq!(time_until_closed(&mut server).await, WRITE_TIMEOUT);
}

#[tokio::test(start_paused = true)]
async fn so_does_a_client_that_reads_a_few_bytes_again_and_again() {
    let (mut client, mut server, _) = connection();
    tokio::spawn(async move {
        while client.read_exact(&mut [0]).await.is_ok() {
            sleep(Duration::from_secs(1)).await;
        }
    });
    assert_eq!(time_until_closed(&mut server).await, WRITE_TIMEOUT);
}

#[tokio::test(start_paused = true)]
async fn each_response_has_its_own_time() {
    let (mut client, mut server, _) = connection();
    tokio::spawn(async move {
        loop {
            sleep(WRITE_TIMEOUT * 2 / 3).await;
            client.read_exact(&mut [0; 16]).await.expect("sent");
        }
    });
    for _ in 0..3 {
        server.write_all(&[0; 16]).await.expect("in time");
        server.flush().await.expect("flushed");
    }
}

/// Reserves memory for a response of the client `reader`, while a request of the client `waiting` waits for more.
async fn reserve_and_wait(reader: &str, waiting: &'static str) -> Arc<Reservation> {
    let budget = budget("test-contended", 2);
    let held = as_client(reader, budget.reserve(1)).await.expect("free");
    let other = as_client("192.0.2.9", budget.reserve(1))
        .await
        .expect("free");
    tokio::spawn(async move {
        assert!(as_client(waiting, budget.reserve(1)).await.is_none());
        drop(other);
    });
    tokio::task::yield_now().await;
    Arc::new(held)
}

#[tokio::test(start_paused = true)]
async fn it_times_out_early_while_others_wait_for_the_memory_of_its_response() {
    // The first client waits for the budget itself. The second client is the reader, and waits for its own share.
    for waiting in ["192.0.2.2", "192.0.2.1"] {
        let (mut client, mut server, activity) = connection();
        let held = reserve_and_wait("192.0.2.1", waiting).await;
        activity.set_memory(Arc::downgrade(&held));
        tokio::spawn(async move {
            while client.read_exact(&mut [0]).await.is_ok() {
                sleep(CONTENDED_WRITE_TIMEOUT / 5).await;
            }
        });
        assert_eq!(
            time_until_closed(&mut server).await,
            CONTENDED_WRITE_TIMEOUT,
            "{waiting}"
        );
    }
}

#[tokio::test(start_paused = true)]
async fn it_keeps_its_time_while_another_client_waits_for_its_own_share() {
    let (_client, mut server, activity) = connection();
    let held = reserve_and_wait("192.0.2.1", "192.0.2.9").await;
    activity.set_memory(Arc::downgrade(&held));
    assert_eq!(time_until_closed(&mut server).await, WRITE_TIMEOUT);
}

#[tokio::test(start_paused = true)]
async fn so_does_one_whose_response_is_written() {
    let (_client, mut server, activity) = connection();
    let held = reserve_and_wait("192.0.2.1", "192.0.2.2").await;
    activity.set_memory(Arc::downgrade(&held));
    drop(held);
    assert_eq!(time_until_closed(&mut server).await, WRITE_TIMEOUT);
}

#[tokio::test(start_paused = true)]
async fn so_does_a_client_that_reads_fast_enough() {
    let (client, server) = duplex(MIN_PROGRESS);
    let activity = activity();
    let mut server = GuardedStream::new(server, Arc::clone(&activity));
    let held = reserve_and_wait("192.0.2.1", "192.0.2.2").await;
    activity.set_memory(Arc::downgrade(&held));
    let mut client = client;
    tokio::spawn(async move {
        loop {
            sleep(CONTENDED_WRITE_TIMEOUT / 2).await;
            client
                .read_exact(&mut vec![0; MIN_PROGRESS])
                .await
                .expect("sent");
        }
    });
    server
        .write_all(&vec![0; 8 * MIN_PROGRESS])
        .await
        .expect("in time");
    assert!(held.is_contended());
}
