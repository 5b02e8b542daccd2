//! The handle that requests are submitted to.

use crate::{
    state::{Limits, Waiting},
    worker::{Shared, dispatch_waiting},
};
use std::{fmt, future::Future, sync::Arc};
use tokio::sync::oneshot;
use tracing::Span;

/// The batch of a request ended without an answer for it: its sender panicked, or returned fewer
/// answers than requests.
#[derive(Clone, Copy, Debug, PartialEq, Eq, thiserror::Error)]
#[error("the batch ended without an answer")]
pub struct BatchDropped;

/// Batches requests `R` with answers `A`. Clones share the batches.
pub struct Batcher<R, A> {
    shared: Arc<Shared<R, A>>,
}

impl<R: Send + 'static, A: Send + 'static> Batcher<R, A> {
    /// `send` receives a batch, never an empty one, and returns the answers in the order of the
    /// requests. It runs in the span of the only request, or in a span of its own that is a child of
    /// the first traced request and linked to the others.
    pub fn new<F>(limits: Limits, send: impl Fn(Vec<R>) -> F + Send + Sync + 'static) -> Self
    where
        F: Future<Output = Vec<A>> + Send + 'static,
    {
        let send = Box::new(move |batch| Box::pin(send(batch)) as _);
        Self { shared: Arc::new(Shared::new(limits, send)) }
    }

    /// Sends a request with the next batch and returns its answer. Dropping the future withdraws the
    /// request if its batch has not been sent, and never affects other requests. Needs a tokio runtime.
    pub async fn submit(&self, request: R) -> Result<A, BatchDropped> {
        let (reply, answer) = oneshot::channel();
        self.shared.lock().waiting.push(Waiting { request, span: Span::current(), reply });
        dispatch_waiting(&self.shared);
        // No timer here: a request waits only while a worker runs, and a task watches for stalls.
        answer.await.map_err(|_| BatchDropped)
    }
}

impl<R, A> Clone for Batcher<R, A> {
    fn clone(&self) -> Self {
        Self { shared: Arc::clone(&self.shared) }
    }
}

impl<R, A> fmt::Debug for Batcher<R, A> {
    fn fmt(&self, formatter: &mut fmt::Formatter<'_>) -> fmt::Result {
        let limits = &self.shared.limits;
        formatter.debug_struct("Batcher").field("limits", limits).finish_non_exhaustive()
    }
}
