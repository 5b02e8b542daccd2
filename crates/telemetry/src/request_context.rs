//! What a log line says about the request that it belongs to.
//!
//! Kept beside the task, not in a span: a span costs every request several allocations, and most
//! requests write no line at all.

use http::HeaderValue;
use std::{
    future::{Future, pending},
    net::IpAddr,
    panic::resume_unwind,
};
use tokio::task::JoinError;
use tracing::Instrument as _;

/// A request that is being served.
#[derive(Clone, Debug)]
pub struct RequestContext {
    /// Its id; several, separated by commas, where requests share a call.
    pub request_id: HeaderValue,
    /// The address of the end user, where it is known.
    pub client_address: Option<IpAddr>,
}

tokio::task_local! {
    static CURRENT: RequestContext;
}

impl RequestContext {
    /// Does the work of this request: lines that it writes carry the request's id.
    pub fn scope<F: Future>(self, work: F) -> impl Future<Output = F::Output> {
        CURRENT.scope(self, work)
    }

    /// Looks at the request that this task serves, if it serves one.
    pub fn with_current<T>(look: impl FnOnce(&Self) -> T) -> Option<T> {
        CURRENT.try_with(look).ok()
    }

    /// The address of the end user of the request that this task serves.
    #[must_use]
    pub fn client_address() -> Option<IpAddr> {
        Self::with_current(|current| current.client_address).flatten()
    }

    /// Does work to its end even where its caller leaves before: what was done must be told of, too. A
    /// caller who stays gets the outcome.
    pub async fn run_to_completion<T: Send + 'static>(
        work: impl Future<Output = T> + Send + 'static,
    ) -> T {
        let done = tokio::spawn(Self::propagate(work).in_current_span()).await;
        match done.map_err(JoinError::try_into_panic) {
            Ok(outcome) => outcome,
            Err(Ok(panic)) => resume_unwind(panic),
            // The runtime is ending, and with it whoever asked.
            Err(Err(_cancelled)) => pending().await,
        }
    }

    /// Takes the request along into a task of its own, for work that goes on after the answer.
    pub fn propagate<F: Future>(work: F) -> impl Future<Output = F::Output> {
        let current = Self::with_current(Clone::clone);
        async move {
            match current {
                Some(current) => current.scope(work).await,
                None => work.await,
            }
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
    async fn a_request_is_known_while_it_is_served_and_where_it_is_carried_to() {
        assert_eq!(id(), None);
        let request_id = HeaderValue::from_static("r1");
        let context = RequestContext { request_id, client_address: None };
        let served = context.scope(async {
            tokio::task::yield_now().await;
            let spawned = tokio::spawn(async { id() }).await.expect("no panic");
            let carried = tokio::spawn(RequestContext::propagate(async { id() }));
            (id(), spawned, carried.await.expect("no panic"))
        });
        let r1 = Some("r1".to_owned());
        assert_eq!(served.await, (r1.clone(), None, r1));
        assert_eq!(RequestContext::propagate(async { id() }).await, None);
    }

    #[tokio::test]
    async fn what_is_done_to_the_end_outlives_its_caller_and_knows_its_request() {
        let request_id = HeaderValue::from_static("r1");
        let context = RequestContext { request_id, client_address: None };
        let (go_on, may_go_on) = oneshot::channel::<()>();
        let (tell, told) = oneshot::channel();
        let work = async {
            let _ = may_go_on.await;
            let _ = tell.send(id());
        };
        let caller = context.clone().scope(RequestContext::run_to_completion(work));
        timeout(Duration::ZERO, caller).await.expect_err("the caller leaves at once");
        go_on.send(()).expect("the work goes on without its caller");
        assert_eq!(told.await.expect("it comes to its end"), Some("r1".to_owned()));
        let outcome = context.scope(RequestContext::run_to_completion(async { id() })).await;
        assert_eq!(outcome, Some("r1".to_owned()));
    }
}
