//! Holds the request that the current task works on, so that the log lines of the task carry the request id.
//!
//! The context is task-local and not a span: a span costs every request several allocations, and most requests
//! log nothing.

use http::HeaderValue;
use std::{
    future::{Future, pending},
    net::IpAddr,
    panic::resume_unwind,
};
use tokio::task::JoinError;
use tokio_util::either::Either;
use tracing::Instrument as _;

/// A request in progress.
#[derive(Clone, Debug)]
pub struct RequestContext {
    /// The id of the request. If several requests share a call, it has all their ids, separated by commas.
    pub request_id: HeaderValue,
    /// The address of the end user; `None` if it is unknown.
    pub client_address: Option<IpAddr>,
}

tokio::task_local! {
    static CURRENT: RequestContext;
}

impl RequestContext {
    /// Runs `work` with this context, so that its log lines carry the request id.
    pub fn scope<F: Future>(self, work: F) -> impl Future<Output = F::Output> {
        CURRENT.scope(self, work)
    }

    /// Passes the context of the current task to `read`, and returns the result; `None` if the task has no
    /// context.
    pub fn with_current<T>(read: impl FnOnce(&Self) -> T) -> Option<T> {
        CURRENT.try_with(read).ok()
    }

    /// Returns the client address in the context of the current task.
    pub fn client_address() -> Option<IpAddr> {
        Self::with_current(|current| current.client_address).flatten()
    }

    /// Runs `work` with this client address instead of the one in the context of the current task. `None`
    /// leaves the context as it is. A task without a context gets none.
    pub fn with_client_address<F: Future>(
        client_address: Option<IpAddr>,
        work: F,
    ) -> impl Future<Output = F::Output> {
        let context = client_address.and_then(|_| {
            Self::with_current(|current| Self {
                client_address,
                ..current.clone()
            })
        });
        Self::scope_if_some(context, work)
    }

    /// Runs `work` to completion even if the caller drops this future, so that a change that was committed is
    /// always audited. The work runs in a task of its own, with the context and the span of the caller. A panic
    /// in it reaches the caller.
    pub async fn run_to_completion<T: Send + 'static>(
        work: impl Future<Output = T> + Send + 'static,
    ) -> T {
        let done = tokio::spawn(Self::propagate(work).in_current_span()).await;
        match done.map_err(JoinError::try_into_panic) {
            Ok(outcome) => outcome,
            Err(Ok(panic)) => resume_unwind(panic),
            // The runtime is shutting down, which also ends the caller, so no answer is needed.
            Err(Err(_cancelled)) => pending().await,
        }
    }

    /// Returns a future that runs `work` with the current context, even in another task. Use it for a task that
    /// outlives the request.
    pub fn propagate<F: Future>(work: F) -> impl Future<Output = F::Output> {
        Self::scope_if_some(Self::with_current(Clone::clone), work)
    }

    /// Runs `work` with this context, or as it is if there is none. This is not an async function, because the future of
    /// such a function has room for `work` twice.
    fn scope_if_some<F: Future>(context: Option<Self>, work: F) -> impl Future<Output = F::Output> {
        match context {
            Some(context) => Either::Left(context.scope(work)),
            None => Either::Right(work),
        }
    }
}

#[cfg(test)]
mod tests {
    use super::RequestContext;
    use http::HeaderValue;
    use std::time::Duration;
    use tokio::{sync::oneshot, time::timeout};

    fn id() -> Option<String> {
        RequestContext::with_current(|current| current.request_id.to_str().map(str::to_owned).ok())
            .flatten()
    }

    #[tokio::test]
    async fn propagated_work_has_the_context_of_its_request() {
        assert_eq!(id(), None);
        let request_id = HeaderValue::from_static("r1");
        let context = RequestContext {
            request_id,
            client_address: None,
        };
        let served = context.scope(async {
            tokio::task::yield_now().await;
            let spawned = tokio::spawn(async { id() }).await.expect("no panic");
            let propagated = tokio::spawn(RequestContext::propagate(async { id() }));
            (id(), spawned, propagated.await.expect("no panic"))
        });
        let r1 = Some("r1".to_owned());
        assert_eq!(served.await, (r1.clone(), None, r1));
        assert_eq!(RequestContext::propagate(async { id() }).await, None);
    }

    #[tokio::test]
    async fn completed_work_outlives_its_caller_and_has_its_context() {
        let request_id = HeaderValue::from_static("r1");
        let context = RequestContext {
            request_id,
            client_address: None,
        };
        let (resume, resumed) = oneshot::channel::<()>();
        let (sender, received) = oneshot::channel();
        let work = async {
            let _ = resumed.await;
            let _ = sender.send(id());
        };
        let caller = context
            .clone()
            .scope(RequestContext::run_to_completion(work));
        timeout(Duration::ZERO, caller)
            .await
            .expect_err("the caller is dropped");
        resume.send(()).expect("the work continues");
        assert_eq!(received.await.expect("it completes"), Some("r1".to_owned()));
        let outcome = context
            .scope(RequestContext::run_to_completion(async { id() }))
            .await;
        assert_eq!(outcome, Some("r1".to_owned()));
    }
}
