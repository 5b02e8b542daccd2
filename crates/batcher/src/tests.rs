//! Tests of the batcher, with reads of a store whose value changes while batches are in flight. The store
//! answers when the test allows it.

mod lone;
mod stalled;

use crate::{Batcher, Limits, SubmitError, batcher::MAX_WAITING};
use std::{
    sync::{
        Arc, Mutex,
        atomic::{AtomicU32, Ordering},
    },
    time::Duration,
};
use tokio::{
    sync::Semaphore,
    task::{JoinHandle, yield_now},
};

const STALL_TIMEOUT: Duration = Duration::from_secs(10);
const MAX_STALLED: usize = 4;

/// A store that reads its value when a batch is sent, and answers when the test allows it.
#[derive(Clone)]
struct Store {
    value: Arc<AtomicU32>,
    may_answer: Arc<Semaphore>,
    batches: Arc<Mutex<Vec<Vec<&'static str>>>>,
    reads: Batcher<&'static str, u32>,
}

/// Returns a store whose lone requests are sent by their callers.
fn store(max_batch_size: usize, max_in_flight: usize) -> Store {
    let store = store_with_tasks(max_batch_size, max_in_flight);
    Store {
        reads: store.reads.clone().let_callers_send(),
        ..store
    }
}

/// Returns a store whose batches all have a task of their own.
fn store_with_tasks(max_batch_size: usize, max_in_flight: usize) -> Store {
    let value = Arc::new(AtomicU32::new(0));
    let may_answer = Arc::new(Semaphore::new(0));
    let batches = Arc::new(Mutex::new(Vec::new()));
    let reads = {
        let (value, may_answer, batches) = (value.clone(), may_answer.clone(), batches.clone());
        let limits = Limits {
            max_batch_size,
            max_in_flight,
            stall_timeout: STALL_TIMEOUT,
            max_in_flight_stalled: MAX_STALLED,
        };
        Batcher::new(limits, move |names: Vec<&'static str>| {
            let read = value.load(Ordering::SeqCst);
            batches.lock().unwrap().push(names.clone());
            let may_answer = may_answer.clone();
            async move {
                assert!(!names.contains(&"panic"), "as the test intends");
                may_answer.acquire().await.unwrap().forget();
                names
                    .iter()
                    .filter(|&&name| name != "no answer")
                    .map(|_| read)
                    .collect()
            }
        })
    };
    Store {
        value,
        may_answer,
        batches,
        reads,
    }
}

impl Store {
    fn read(&self, name: &'static str) -> JoinHandle<Result<u32, SubmitError>> {
        let reads = self.reads.clone();
        tokio::spawn(async move { reads.submit(name).await })
    }

    fn answer(&self, batches: usize) {
        self.may_answer.add_permits(batches);
    }

    fn sent(&self) -> Vec<Vec<&'static str>> {
        self.batches.lock().unwrap().clone()
    }
}

/// Lets every task run until it has to wait. The runtime has one thread and no timers are involved, so a
/// bounded number of turns is enough.
async fn settle() {
    for _ in 0..100 {
        yield_now().await;
    }
}

#[tokio::test]
async fn single_request_is_sent_at_once() {
    let store = store(10, 1);
    let read = store.read("a");
    settle().await;
    assert_eq!(store.sent(), [["a"]]);
    store.answer(1);
    assert_eq!(read.await.unwrap(), Ok(0));
}

#[tokio::test]
async fn requests_made_while_a_batch_is_in_flight_share_the_next_one() {
    let store = store(10, 1);
    let first = store.read("a");
    settle().await;
    let others = ["b", "c", "d"].map(|name| store.read(name));
    settle().await;
    assert_eq!(store.sent(), [["a"]]);
    store.answer(2);
    assert_eq!(first.await.unwrap(), Ok(0));
    for other in others {
        assert_eq!(other.await.unwrap(), Ok(0));
    }
    assert_eq!(store.sent(), [vec!["a"], vec!["b", "c", "d"]]);
}

#[tokio::test]
async fn request_never_joins_a_batch_in_flight() {
    for in_flight in [1, 2, 3] {
        let store = store(10, in_flight);
        let early = store.read("a");
        settle().await;
        store.value.store(1, Ordering::SeqCst);
        // This reads the same name after the change, while the batch with the old value is in flight.
        let late = store.read("a");
        settle().await;
        store.answer(2);
        assert_eq!(early.await.unwrap(), Ok(0));
        assert_eq!(late.await.unwrap(), Ok(1), "{in_flight} in flight");
    }
}

#[tokio::test]
async fn batch_size_and_batches_in_flight_are_bounded() {
    let store = store(2, 2);
    let mut reads = vec![store.read("a")];
    settle().await;
    reads.push(store.read("b"));
    settle().await;
    reads.extend(["c", "d", "e"].map(|name| store.read(name)));
    settle().await;
    assert_eq!(store.sent(), [["a"], ["b"]]);
    store.answer(4);
    for read in reads {
        assert_eq!(read.await.unwrap(), Ok(0));
    }
    assert_eq!(store.sent()[2..], [vec!["c", "d"], vec!["e"]]);
}

#[tokio::test]
async fn request_cancelled_before_its_batch_is_sent_is_not_in_it() {
    let store = store(10, 1);
    let first = store.read("a");
    settle().await;
    let cancelled = store.read("cancelled");
    let other = store.read("b");
    settle().await;
    cancelled.abort();
    settle().await;
    store.answer(2);
    assert_eq!(first.await.unwrap(), Ok(0));
    assert_eq!(other.await.unwrap(), Ok(0));
    assert_eq!(store.sent(), [["a"], ["b"]]);
}

#[tokio::test(start_paused = true)]
async fn more_requests_than_may_wait_are_refused_until_waiting_ones_leave() {
    let store = store(10, 1);
    let first = store.read("a");
    settle().await;
    let waiting: Vec<_> = (0..MAX_WAITING).map(|_| store.read("b")).collect();
    settle().await;
    assert_eq!(store.read("c").await.unwrap(), Err(SubmitError::QueueFull));
    for caller in &waiting[1..] {
        caller.abort();
    }
    settle().await;
    tokio::time::advance(STALL_TIMEOUT / 2).await;
    settle().await;
    tokio::time::advance(STALL_TIMEOUT).await;
    settle().await;
    let last = store.read("c");
    store.answer(3);
    for read in [first, last] {
        assert_eq!(read.await.unwrap(), Ok(0));
    }
}

#[tokio::test]
async fn request_cancelled_in_flight_does_not_cancel_others() {
    let store = store(10, 1);
    let first = store.read("a");
    settle().await;
    let (cancelled, other) = (store.read("cancelled"), store.read("b"));
    settle().await;
    store.answer(1);
    first.await.unwrap().unwrap();
    settle().await;
    cancelled.abort();
    store.answer(1);
    assert_eq!(other.await.unwrap(), Ok(0));
}

#[tokio::test]
async fn panic_or_missing_answer_drops_only_its_own_batch() {
    let store = store(1, 1);
    assert_eq!(
        store.read("panic").await.unwrap(),
        Err(SubmitError::BatchDropped)
    );
    store.answer(2);
    assert_eq!(
        store.read("no answer").await.unwrap(),
        Err(SubmitError::BatchDropped)
    );
    assert_eq!(store.read("a").await.unwrap(), Ok(0));
}

#[tokio::test(flavor = "multi_thread", worker_threads = 4)]
async fn requests_made_as_batches_end_are_answered() {
    let limits = Limits {
        max_batch_size: 4,
        max_in_flight: 2,
        stall_timeout: STALL_TIMEOUT,
        max_in_flight_stalled: MAX_STALLED,
    };
    let reads = Batcher::new(limits, async |batch: Vec<u32>| {
        yield_now().await;
        batch
    })
    .let_callers_send();
    let callers: Vec<_> = (0..16_u32)
        .map(|caller| {
            let reads = reads.clone();
            tokio::spawn(async move {
                for request in 0..2_000 {
                    assert_eq!(reads.submit(request + caller).await, Ok(request + caller));
                }
            })
        })
        .collect();
    for caller in callers {
        caller.await.unwrap();
    }
}
