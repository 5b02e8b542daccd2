use super::{KIB, MAX_WAITING, MemoryBudget};
use axum::body::Bytes;
use http::HeaderValue;
use rolegate_program::request_context::RequestContext;
use std::{sync::Arc, time::Duration};
use tokio::time::Instant;

const WAIT_TIMEOUT: Duration = Duration::from_secs(5);

pub(crate) fn budget(name: &'static str, kib: usize) -> MemoryBudget {
    MemoryBudget::new(name, kib * KIB, WAIT_TIMEOUT)
}

pub(crate) async fn as_client<F: Future>(address: &str, work: F) -> F::Output {
    let client_address = Some(address.parse().expect("an address"));
    RequestContext {
        request_id: HeaderValue::from_static("id"),
        client_address,
    }
    .scope(work)
    .await
}

#[tokio::test(start_paused = true)]
async fn a_request_waits_until_memory_is_free_and_is_then_refused() {
    let budget = budget("test-wait", 100);
    let first = budget.reserve(50 * KIB).await.expect("free");
    let second = budget.reserve(50 * KIB).await.expect("free");
    let start = Instant::now();
    assert!(budget.reserve(1).await.is_none());
    assert_eq!(start.elapsed(), WAIT_TIMEOUT);
    let _second = second.resize(49 * KIB).await.expect("smaller");
    assert!(budget.reserve(1).await.is_some());
    let waits = budget.clone();
    let waits = tokio::spawn(async move { waits.reserve(50 * KIB).await.is_some() });
    tokio::task::yield_now().await;
    drop(first);
    assert!(waits.await.expect("no panic"));
}

#[tokio::test(start_paused = true)]
async fn when_too_many_wait_others_are_refused_at_once() {
    let budget = budget("test-waiting", 2);
    let _held = (budget.reserve(KIB).await, budget.reserve(KIB).await);
    for _ in 0..MAX_WAITING {
        let budget = budget.clone();
        tokio::spawn(async move { budget.reserve(1).await.is_none() });
    }
    while budget.shared.places_to_wait.available_permits() > 0 {
        tokio::task::yield_now().await;
    }
    let start = Instant::now();
    assert!(budget.reserve(1).await.is_none());
    assert!(start.elapsed().is_zero());
}

#[tokio::test(start_paused = true)]
async fn one_client_gets_at_most_half() {
    let budget = budget("test-share", 100);
    // A reservation of more than half of the budget is reduced to half of it.
    let _all_of_it = as_client("192.0.2.1", budget.reserve(1000 * KIB))
        .await
        .expect("free");
    assert!(as_client("192.0.2.1", budget.reserve(1)).await.is_none());
    let start = Instant::now();
    assert!(
        as_client("192.0.2.2", budget.reserve(50 * KIB))
            .await
            .is_some()
    );
    assert!(start.elapsed().is_zero());
}

#[tokio::test(start_paused = true)]
async fn a_client_that_waits_for_its_own_share_disturbs_no_other() {
    let budget = budget("test-contention", 100);
    let own = as_client("192.0.2.1", budget.reserve(50 * KIB))
        .await
        .expect("free");
    let other = as_client("192.0.2.2", budget.reserve(10 * KIB))
        .await
        .expect("free");
    let contended = async || {
        tokio::task::yield_now().await;
        (own.is_contended(), other.is_contended())
    };
    let waits = as_client("192.0.2.1", budget.reserve(1));
    let (refused, while_waiting) = tokio::join!(waits, contended());
    assert!(refused.is_none());
    assert_eq!(while_waiting, (true, false));
    let waits = as_client("192.0.2.3", budget.reserve(50 * KIB));
    let (refused, while_waiting) = tokio::join!(waits, contended());
    assert!(refused.is_none());
    assert_eq!(while_waiting, (true, true));
    assert_eq!(contended().await, (false, false));
}

#[tokio::test(start_paused = true)]
async fn a_reservation_grows_within_the_share_of_its_client() {
    let budget = budget("test-resize", 100);
    let own = as_client("192.0.2.1", budget.reserve(20 * KIB))
        .await
        .expect("free");
    let own = own.resize(30 * KIB).await.expect("free");
    assert_eq!(budget.shared.free.available_permits(), 70);
    let other = as_client("192.0.2.1", budget.reserve(20 * KIB))
        .await
        .expect("free");
    assert!(own.resize(31 * KIB).await.is_none());
    assert_eq!(budget.shared.free.available_permits(), 80);
    drop(other);
    assert!(
        as_client("192.0.2.1", budget.reserve(50 * KIB))
            .await
            .is_some()
    );
}

#[tokio::test(start_paused = true)]
async fn bytes_hold_their_reservation_until_the_last_reference() {
    let budget = budget("test-hold", 100);
    let reservation = Arc::new(budget.reserve(50 * KIB).await.expect("free"));
    let held = reservation.hold(Bytes::from_static(b"page"));
    drop(reservation);
    let part = held.slice(1..2);
    drop(held);
    assert_eq!(budget.shared.free.available_permits(), 50);
    assert_eq!(&part[..], b"a");
    drop(part);
    assert_eq!(budget.shared.free.available_permits(), 100);
}
