use super::{MAX_WAITING, MemoryBudget, client_key};
use axum::body::Bytes;
use http::HeaderValue;
use rolegate_telemetry::request_context::RequestContext;
use std::{
    net::IpAddr,
    sync::{Arc, atomic::Ordering},
    time::Duration,
};
use tokio::time::Instant;

const WAIT_TIMEOUT: Duration = Duration::from_secs(5);

fn ip(text: &str) -> IpAddr {
    text.parse().expect("an address")
}

async fn as_client<F: Future>(address: &str, work: F) -> F::Output {
    let client_address = Some(ip(address));
    RequestContext { request_id: HeaderValue::from_static("id"), client_address }.scope(work).await
}

#[tokio::test(start_paused = true)]
async fn a_request_waits_until_memory_is_free_and_is_then_refused() {
    let budget = MemoryBudget::new("test-wait", 100, WAIT_TIMEOUT);
    let first = budget.reserve(50).await.expect("free");
    let mut second = budget.reserve(50).await.expect("free");
    let start = Instant::now();
    assert!(budget.reserve(1).await.is_none());
    assert_eq!(start.elapsed(), WAIT_TIMEOUT);
    second.shrink_to(49);
    assert!(budget.reserve(1).await.is_some());
    let waits = budget.clone();
    let waits = tokio::spawn(async move { waits.reserve(50).await.is_some() });
    tokio::task::yield_now().await;
    assert!(second.held.is_contended());
    drop(first);
    assert!(waits.await.expect("no panic"));
    assert!(!second.held.is_contended());
}

#[tokio::test(start_paused = true)]
async fn when_too_many_wait_others_are_refused_at_once() {
    let budget = MemoryBudget::new("test-waiting", 2, WAIT_TIMEOUT);
    let _held = (budget.reserve(1).await, budget.reserve(1).await);
    for _ in 0..MAX_WAITING {
        let budget = budget.clone();
        tokio::spawn(async move { budget.reserve(1).await.is_none() });
    }
    while budget.0.waiting.load(Ordering::Relaxed) < MAX_WAITING {
        tokio::task::yield_now().await;
    }
    let start = Instant::now();
    assert!(budget.reserve(1).await.is_none());
    assert!(start.elapsed().is_zero());
}

#[tokio::test(start_paused = true)]
async fn one_client_gets_at_most_half() {
    let budget = MemoryBudget::new("test-share", 100, WAIT_TIMEOUT);
    // More than the half is reserved as the half.
    let _all_of_it = as_client("192.0.2.1", budget.reserve(1000)).await.expect("free");
    assert!(as_client("192.0.2.1", budget.reserve(1)).await.is_none());
    let start = Instant::now();
    assert!(as_client("192.0.2.2", budget.reserve(50)).await.is_some());
    assert!(start.elapsed().is_zero());
}

#[tokio::test(start_paused = true)]
async fn a_client_that_waits_for_its_own_share_disturbs_no_other() {
    let budget = MemoryBudget::new("test-contention", 100, WAIT_TIMEOUT);
    let own = as_client("192.0.2.1", budget.reserve(50)).await.expect("free");
    let other = as_client("192.0.2.2", budget.reserve(10)).await.expect("free");
    let waits = as_client("192.0.2.1", budget.reserve(1));
    let look = async {
        tokio::task::yield_now().await;
        (own.held.is_contended(), other.held.is_contended())
    };
    let (refused, contended) = tokio::join!(waits, look);
    assert!(refused.is_none());
    assert_eq!(contended, (true, false));
}

#[tokio::test(start_paused = true)]
async fn the_wait_for_both_parts_has_one_deadline() {
    let budget = MemoryBudget::new("test-deadline", 100, WAIT_TIMEOUT);
    let own = as_client("192.0.2.1", budget.reserve(50)).await.expect("free");
    let _all = budget.reserve(50).await.expect("free");
    let start = Instant::now();
    let free_later = async {
        tokio::time::sleep(WAIT_TIMEOUT / 2).await;
        let mut own = own;
        // The client's part becomes free, but is taken from all at once.
        let taken = own.permits[1].take();
        drop(own);
        taken
    };
    let (refused, _taken) = tokio::join!(as_client("192.0.2.1", budget.reserve(50)), free_later);
    assert!(refused.is_none());
    assert_eq!(start.elapsed(), WAIT_TIMEOUT);
}

#[tokio::test(start_paused = true)]
async fn bytes_hold_their_reservation_until_the_last_reference() {
    let budget = MemoryBudget::new("test-hold", 100, WAIT_TIMEOUT);
    let reservation = Arc::new(budget.reserve(50).await.expect("free"));
    let held = reservation.hold(Bytes::from_static(b"page"));
    drop(reservation);
    let part = held.slice(1..2);
    drop(held);
    assert_eq!(budget.0.all.free.available_permits(), 50);
    assert_eq!(&part[..], b"a");
    drop(part);
    assert_eq!(budget.0.all.free.available_permits(), 100);
}

#[tokio::test]
async fn clients_without_reservations_are_forgotten() {
    let budget = MemoryBudget::new("test-clients", 100, WAIT_TIMEOUT);
    for number in 0..10_000_u32 {
        let address = std::net::Ipv4Addr::from_bits(number).to_string();
        as_client(&address, budget.reserve(1)).await.expect("free");
    }
    let clients = budget.0.clients.lock().expect("no panic").parts.len();
    assert!(clients <= super::MIN_CLIENTS, "{clients}");
}

#[test]
fn a_client_of_ipv6_is_a_64() {
    assert_eq!(client_key(Some(ip("2001:db8::1"))), client_key(Some(ip("2001:db8::ffff:1"))));
    assert_ne!(client_key(Some(ip("2001:db8::1"))), client_key(Some(ip("2001:db8:0:1::1"))));
    assert_eq!(client_key(Some(ip("::ffff:192.0.2.1"))), ip("192.0.2.1"));
    assert_ne!(client_key(Some(ip("192.0.2.1"))), client_key(Some(ip("192.0.2.2"))));
}
