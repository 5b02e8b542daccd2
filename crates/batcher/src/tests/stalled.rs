//! Tests of batches that get no answer.

use super::{MAX_STALLED, STALL_TIMEOUT, settle, store};
use crate::SubmitError;
use std::{
    future::poll_fn,
    sync::{
        Arc,
        atomic::{AtomicU32, Ordering},
    },
};
use tokio::runtime::Handle;

#[tokio::test(start_paused = true)]
async fn stalled_batch_delays_others_no_longer_than_the_stall_timeout() {
    let store = store(10, 1);
    let stalled = store.read("stalled");
    settle().await;
    let before = store.read("a");
    settle().await;
    assert_eq!(store.sent(), [["stalled"]]);
    let after = store.read("b");
    settle().await;
    // No further request arrives, so only the watch can notice the waiting requests.
    tokio::time::advance(STALL_TIMEOUT).await;
    settle().await;
    assert_eq!(store.sent(), [vec!["stalled"], vec!["a", "b"]]);
    // While answers arrive, the extra slot is not used for a second batch.
    let next = store.read("c");
    settle().await;
    assert_eq!(store.sent().len(), 2);
    store.answer(3);
    for read in [stalled, before, after, next] {
        assert_eq!(read.await.unwrap(), Ok(0));
    }
    assert_eq!(store.sent()[2..], [["c"]]);
}

#[tokio::test(start_paused = true)]
async fn watch_ends_when_nothing_waits_and_restarts_at_the_next_stall() {
    let store = store(10, 1);
    for round in 1..=3 {
        let stalled = store.read("stalled");
        settle().await;
        let waiting = store.read("a");
        settle().await;
        assert_eq!(store.sent().len(), 2 * round - 1);
        tokio::time::advance(STALL_TIMEOUT).await;
        settle().await;
        assert_eq!(store.sent().len(), 2 * round);
        store.answer(2);
        for read in [stalled, waiting] {
            assert_eq!(read.await.unwrap(), Ok(0));
        }
        tokio::time::advance(STALL_TIMEOUT).await;
        settle().await;
        assert_eq!(Handle::current().metrics().num_alive_tasks(), 0);
    }
}

#[tokio::test(start_paused = true)]
async fn waiting_requests_are_not_woken_while_batches_are_stalled() {
    let store = store(1, 1);
    let polls = Arc::new(AtomicU32::new(0));
    let callers: Vec<_> = ["a", "b", "c", "d", "e", "f"]
        .into_iter()
        .map(|name| {
            let (reads, polls) = (store.reads.clone(), polls.clone());
            let mut read = Box::pin(async move { reads.submit(name).await });
            tokio::spawn(poll_fn(move |context| {
                polls.fetch_add(1, Ordering::SeqCst);
                read.as_mut().poll(context)
            }))
        })
        .collect();
    for _ in 0..20 {
        settle().await;
        tokio::time::advance(STALL_TIMEOUT).await;
    }
    // Four requests are in stalled batches, and two wait.
    assert_eq!(store.sent().len(), MAX_STALLED);
    assert_eq!(polls.load(Ordering::SeqCst), 6);
    store.answer(6);
    for caller in callers {
        assert_eq!(caller.await.unwrap(), Ok(0));
    }
}

#[tokio::test(start_paused = true)]
async fn request_behind_a_stalled_and_a_panicked_batch_is_answered() {
    let store = store(1, 1);
    let stalled = store.read("stalled");
    settle().await;
    tokio::time::advance(STALL_TIMEOUT).await;
    // One request is sent beside the stalled batch, and the other waits behind it.
    let (lost, waiting) = (store.read("panic"), store.read("a"));
    assert_eq!(lost.await.unwrap(), Err(SubmitError::BatchDropped));
    settle().await;
    tokio::time::advance(2 * STALL_TIMEOUT).await;
    settle().await;
    assert_eq!(store.sent(), [["stalled"], ["panic"], ["a"]]);
    store.answer(2);
    for read in [stalled, waiting] {
        assert_eq!(read.await.unwrap(), Ok(0));
    }
}
