//! The handle to which callers submit requests, and the tasks that send the requests in batches.

use crate::queue::{Batch, Limits, MAX_WAITING, PendingRequest, Queue};
use futures_util::{FutureExt as _, future::BoxFuture};
use parking_lot::{Mutex, MutexGuard};
use std::{fmt, panic::AssertUnwindSafe, sync::Arc};
use tokio::{sync::oneshot, task::yield_now, time::sleep};
use tracing::{Instrument as _, Span};

/// The reason why a request has no answer.
#[derive(Clone, Copy, Debug, PartialEq, Eq, thiserror::Error)]
pub enum SubmitError {
    /// The sender of the batch panicked, or returned fewer answers than requests.
    #[error("the batch ended without an answer")]
    BatchDropped,
    /// The request was not sent, because too many others already wait.
    #[error("too many requests wait for a batch")]
    QueueFull,
}

/// Sends requests `R` in batches, and returns their answers `A`. Clones share the batches.
pub struct Batcher<R, A> {
    dispatcher: Arc<Dispatcher<R, A>>,
}

/// Starts the tasks that send batches, and holds the requests that wait for a batch.
struct Dispatcher<R, A> {
    send: Box<dyn Fn(Vec<R>) -> BoxFuture<'static, Vec<A>> + Send + Sync>,
    /// The lock does not poison. This is safe, because no panic while it is held could leave the queue half
    /// changed.
    queue: Mutex<Queue<R, A>>,
}

impl<R: Send + 'static, A: Send + 'static> Batcher<R, A> {
    /// Creates a batcher that sends its batches with `send`.
    ///
    /// `send` receives a batch, never an empty one, and returns the answers in the order of the requests. For a
    /// batch of one request, `send` runs in the span of that request. Otherwise it runs in a new span, which is
    /// a child of the first traced request and linked to the others.
    pub fn new<F>(limits: Limits, send: impl Fn(Vec<R>) -> F + Send + Sync + 'static) -> Self
    where
        F: Future<Output = Vec<A>> + Send + 'static,
    {
        let send = Box::new(move |batch| Box::pin(send(batch)) as _);
        Self {
            dispatcher: Arc::new(Dispatcher {
                send,
                queue: Mutex::new(Queue::new(limits)),
            }),
        }
    }

    /// Sends a request with the next batch and returns its answer. Fails if too many requests wait already, or
    /// if the batch ends without an answer.
    ///
    /// Dropping the future withdraws the request if its batch has not been sent, and never affects other
    /// requests. The caller must be inside a tokio runtime.
    pub async fn submit(&self, request: R) -> Result<A, SubmitError> {
        let (reply, answer) = oneshot::channel();
        {
            let mut queue = self.dispatcher.queue.lock();
            if queue.waiting.len() >= MAX_WAITING {
                return Err(SubmitError::QueueFull);
            }
            queue.waiting.push(PendingRequest {
                request,
                span: Span::current(),
                reply,
            });
            self.dispatcher.dispatch(queue);
        }
        // No timer is needed here: a request waits only while a worker runs, and `watch` notices stalled
        // workers.
        answer.await.map_err(|_| SubmitError::BatchDropped)
    }
}

impl<R: Send + 'static, A: Send + 'static> Dispatcher<R, A> {
    /// Starts a worker for the requests that wait, if there is capacity. If the requests depend on batches that
    /// are in flight, also starts the task that watches these batches.
    fn dispatch(self: &Arc<Self>, mut queue: MutexGuard<'_, Queue<R, A>>) {
        let starts_watch = queue.claim_watch();
        let starts_worker = queue.has_capacity();
        queue.workers += usize::from(starts_worker);
        drop(queue);
        if starts_worker {
            // The batch runs in its own task, so that a cancelled caller does not cancel the requests of
            // others.
            tokio::spawn(Arc::clone(self).work());
        }
        if starts_watch {
            tokio::spawn(Arc::clone(self).watch());
        }
    }

    /// Starts another worker whenever all batches in flight are stalled, up to the limit, until no request
    /// waits.
    ///
    /// The watch is needed because requests that came before the stall found no capacity, so none of them
    /// starts a worker. One task watches all batches: a timer in each worker would interrupt the runtime's wait
    /// for I/O with each lone request.
    async fn watch(self: Arc<Self>) {
        while let Some(time) = { self.queue.lock().continue_watch() } {
            sleep(time).await;
            let queue = self.queue.lock();
            if !queue.waiting.is_empty() {
                self.dispatch(queue);
            }
        }
    }

    /// Sends batch after batch until the queue has no batch for this worker.
    async fn work(self: Arc<Self>) {
        let mut last_sent = None;
        while let Some(Batch {
            requests,
            replies,
            span,
        }) = { self.queue.lock().next_batch(&mut last_sent) }
        {
            let answers = async { (self.send)(requests).await }.instrument(span);
            // The panic hook has already logged a panic. The callers of the batch get an error, because their
            // replies are dropped.
            let answers = AssertUnwindSafe(answers)
                .catch_unwind()
                .await
                .unwrap_or_default();
            let is_single = replies.len() == 1;
            for (reply, answer) in replies.into_iter().zip(answers) {
                // Sending fails if the caller was cancelled, and then nobody needs the answer.
                let _ = reply.send(answer);
            }
            // Callers that were just answered often submit again at once. Yielding lets them do so before the
            // next batch is taken; otherwise these requests would miss it, and batches would stay small. A lone
            // caller does not need this, because its next request starts a worker.
            if !is_single || !self.queue.lock().waiting.is_empty() {
                yield_now().await;
            }
        }
    }
}

impl<R, A> Clone for Batcher<R, A> {
    fn clone(&self) -> Self {
        Self {
            dispatcher: Arc::clone(&self.dispatcher),
        }
    }
}

impl<R, A> fmt::Debug for Batcher<R, A> {
    fn fmt(&self, formatter: &mut fmt::Formatter<'_>) -> fmt::Result {
        formatter.debug_struct("Batcher").finish_non_exhaustive()
    }
}
