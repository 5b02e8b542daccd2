//! Tests of requests that their callers send alone.

use super::{STALL_TIMEOUT, settle, store, store_with_tasks};
use crate::{Batcher, Limits, SubmitError};
use futures_util::FutureExt as _;
use std::{pin::pin, sync::Arc};
use tokio::{
    runtime::{Builder, Handle},
    sync::Semaphore,
};
use tracing::{Instrument as _, Metadata, Span, info_span, subscriber::set_default};
use tracing_subscriber::Registry;

#[tokio::test]
async fn lone_request_is_sent_by_its_caller_without_a_task() {
    let store = store(10, 1);
    let mut read = pin!(store.reads.submit("a"));
    assert_eq!(read.as_mut().now_or_never(), None);
    assert_eq!(store.sent(), [["a"]]);
    store.answer(1);
    assert_eq!(read.await, Ok(0));
    assert_eq!(Handle::current().metrics().num_alive_tasks(), 0);
}

#[tokio::test]
async fn lone_request_dropped_in_flight_lets_those_that_wait_start() {
    let store = store(10, 1);
    for round in 0..3 {
        let lone = store.read("lone");
        settle().await;
        let others = ["a", "b"].map(|name| store.read(name));
        settle().await;
        assert_eq!(store.sent().len(), 2 * round + 1);
        lone.abort();
        settle().await;
        assert_eq!(store.sent()[2 * round + 1], ["a", "b"]);
        store.answer(1);
        for other in others {
            assert_eq!(other.await.unwrap(), Ok(0));
        }
    }
}

#[tokio::test]
async fn lone_request_dropped_in_flight_gives_its_capacity_back() {
    let store = store(10, 2);
    let first = store.read("first");
    settle().await;
    for _ in 0..3 {
        let lone = store.read("lone");
        settle().await;
        lone.abort();
        settle().await;
    }
    let second = store.read("second");
    let waiting = store.read("a");
    settle().await;
    assert_eq!(store.sent().len(), 5, "two batches are in flight");
    store.answer(3);
    for read in [first, second, waiting] {
        assert_eq!(read.await.unwrap(), Ok(0));
    }
}

#[tokio::test(start_paused = true)]
async fn stalled_lone_request_that_is_dropped_leaves_one_batch_at_a_time() {
    let store = store(10, 1);
    let stalled = store.read("stalled");
    settle().await;
    tokio::time::advance(STALL_TIMEOUT).await;
    let beside = store.read("beside");
    settle().await;
    let waiting = ["a", "b"].map(|name| store.read(name));
    settle().await;
    assert_eq!(store.sent(), [["stalled"], ["beside"]]);
    stalled.abort();
    settle().await;
    assert_eq!(store.sent().len(), 2, "the other one is in flight");
    store.answer(2);
    for read in [beside].into_iter().chain(waiting) {
        assert_eq!(read.await.unwrap(), Ok(0));
    }
    assert_eq!(store.sent()[2..], [["a", "b"]]);
}

#[tokio::test]
async fn batch_with_a_task_runs_to_its_end_although_its_caller_left() {
    let store = store_with_tasks(10, 1);
    let lone = store.read("lone");
    settle().await;
    let waiting = store.read("a");
    lone.abort();
    settle().await;
    assert_eq!(store.sent(), [["lone"]], "it is still in flight");
    store.answer(2);
    assert_eq!(waiting.await.unwrap(), Ok(0));
    assert_eq!(store.sent(), [["lone"], ["a"]]);
}

/// Returns a batcher that answers each batch after the test has added a permit.
fn gated<A: Send + 'static>(
    may_answer: &Arc<Semaphore>,
    answer: fn(Vec<&'static str>) -> Vec<A>,
) -> Batcher<&'static str, A> {
    let limits = Limits {
        max_batch_size: 10,
        max_in_flight: 1,
        stall_timeout: STALL_TIMEOUT,
        max_in_flight_stalled: 1,
    };
    let may_answer = Arc::clone(may_answer);
    Batcher::new(limits, move |names| {
        let may_answer = Arc::clone(&may_answer);
        async move {
            may_answer.acquire().await.unwrap().forget();
            answer(names)
        }
    })
    .let_callers_send()
}

#[tokio::test]
async fn panic_of_a_lone_request_lets_those_that_wait_start() {
    let may_answer = Arc::new(Semaphore::new(0));
    let reads = gated(&may_answer, |names| {
        assert_ne!(names[0], "panic", "as the test intends");
        names
    });
    let read = |name| {
        let reads = reads.clone();
        tokio::spawn(async move { reads.submit(name).await })
    };
    let lone = read("panic");
    settle().await;
    let others = ["a", "b"].map(read);
    settle().await;
    may_answer.add_permits(2);
    assert_eq!(lone.await.unwrap(), Err(SubmitError::BatchDropped));
    for (other, name) in others.into_iter().zip(["a", "b"]) {
        assert_eq!(other.await.unwrap(), Ok(name));
    }
}

/// Drops a request outside the runtime while another one waits, which the watch then sends.
#[test]
fn lone_request_dropped_outside_the_runtime_delays_others_no_longer_than_a_stall() {
    let runtime = Builder::new_current_thread()
        .enable_time()
        .start_paused(true)
        .build()
        .unwrap();
    let store = store(10, 1);
    let mut lone = Box::pin(store.reads.submit("lone"));
    assert_eq!(lone.as_mut().now_or_never(), None);
    let waiting = {
        let _runtime = runtime.enter();
        store.read("a")
    };
    runtime.block_on(settle());
    drop(lone);
    store.answer(1);
    assert_eq!(runtime.block_on(waiting).unwrap(), Ok(0));
}

#[tokio::test]
async fn batch_of_one_runs_in_the_span_of_its_request_and_a_larger_one_in_its_own() {
    let _subscriber = set_default(Registry::default());
    let may_answer = Arc::new(Semaphore::new(0));
    let spans = gated(&may_answer, |names| {
        vec![Span::current().metadata().map(Metadata::name); names.len()]
    });
    let submit = |span: Span| {
        let spans = spans.clone();
        tokio::spawn(async move { spans.submit("a").await }.instrument(span))
    };
    let lone = submit(info_span!("lone"));
    settle().await;
    let waiting = submit(info_span!("waiting"));
    settle().await;
    may_answer.add_permits(1);
    assert_eq!(lone.await.unwrap(), Ok(Some("lone")));
    settle().await;
    let together = [(); 2].map(|()| submit(info_span!("together")));
    settle().await;
    may_answer.add_permits(2);
    assert_eq!(waiting.await.unwrap(), Ok(Some("waiting")));
    for request in together {
        assert_eq!(request.await.unwrap(), Ok(Some("batch")));
    }
    let untraced = submit(Span::none());
    may_answer.add_permits(1);
    assert_eq!(untraced.await.unwrap(), Ok(None));
}
