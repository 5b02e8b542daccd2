//! Concurrent decisions share calls.
//!
//! By the rule of [`rolegate_batcher`], a decision joins only a call that has not been sent, so it uses
//! a role that was stored after it was asked for. A lone decision is a plain `Authorize`; many
//! share one `BatchAuthorize`. What joins was checked first: no item can spoil its neighbours.

use crate::{
    CallError, Reason, RequestId, Requirement, User,
    call_context::id_list,
    deadline::{DECISION, repeat_within},
    replicas::Replicas,
    shared_call::with_ids,
};
use rolegate_batcher::{Batcher, Limits};
use rolegate_proto::{
    auth_v1::{
        AuthorizeOutcome, AuthorizeRequest, BatchAuthorizeRequest, authorize_outcome::Outcome,
    },
    limits::{MAX_AUTHORIZE_BATCH, MAX_TOKEN_LEN},
};
use secrecy::{ExposeSecret, SecretString};
use std::{num::NonZero, time::Duration};
use tokio::time::{Instant, timeout_at};
use tonic::metadata::{Ascii, MetadataValue};
use tracing::{Instrument as _, Span, info_span};

const BATCH: NonZero<usize> = NonZero::new(MAX_AUTHORIZE_BATCH).expect("not zero");
/// One call under way makes the largest batches, which cost both sides least for each decision.
const IN_FLIGHT: NonZero<usize> = NonZero::new(1).expect("not zero");
/// A call that takes this long, at a replica that went silent, say, holds the others up no longer.
const PATIENCE: Duration = Duration::from_millis(20);
const MOST_IN_FLIGHT: NonZero<usize> = NonZero::new(16).expect("not zero");

/// Decides about bearers of access tokens. Clones share their calls.
#[derive(Clone, Debug)]
pub(crate) struct Authorizations {
    shared: Batcher<Item, Result<User, CallError>>,
}

struct Item {
    message: AuthorizeRequest,
    deadline: Instant,
    request_id: Option<RequestId>,
    /// Of the request, where it is traced.
    span: Span,
}

impl Authorizations {
    pub(crate) fn new(replicas: Replicas) -> Self {
        let limits = Limits {
            batch: BATCH,
            in_flight: IN_FLIGHT,
            patience: PATIENCE,
            most_in_flight: MOST_IN_FLIGHT,
        };
        let shared = Batcher::new(limits, move |items| decide(replicas.clone(), items));
        Self { shared }
    }

    /// See [`Batcher::observe`].
    pub(crate) fn observe(&self, observer: impl Fn(usize) + Send + Sync + 'static) {
        self.shared.observe(observer);
    }

    /// Whether the bearer may pass; every decision has a deadline of its own.
    pub(crate) async fn authorize(
        &self,
        access_token: &SecretString,
        requirement: Requirement<'_>,
        request_id: Option<RequestId>,
    ) -> Result<User, CallError> {
        let access_token = access_token.expose_secret();
        if access_token.len() > MAX_TOKEN_LEN {
            return Err(CallError::local(Reason::TokenInvalid));
        }
        let message = AuthorizeRequest {
            access_token: access_token.to_owned(),
            requirement: Some(requirement.into()),
        };
        let deadline = Instant::now() + DECISION;
        let item = Item { message, deadline, request_id, span: Span::current() };
        match timeout_at(deadline, self.shared.submit(item)).await {
            Ok(Ok(outcome)) => outcome,
            Ok(Err(_lost)) => Err(CallError::Unavailable),
            Err(_elapsed) => Err(CallError::DeadlineExceeded),
        }
    }
}

/// One call for all of them. It may take as long as the most patient of them waits; the others have
/// timers of their own.
async fn decide(replicas: Replicas, mut items: Vec<Item>) -> Vec<Result<User, CallError>> {
    let size = items.len();
    let deadline = items.iter().map(|item| item.deadline).max().unwrap_or_else(Instant::now);
    let ids = id_list(items.iter().filter_map(|item| item.request_id));
    if size == 1
        && let Some(Item { message, span, .. }) = items.pop()
    {
        let decided = decide_one(&replicas, deadline, ids, message);
        return vec![decided.instrument(span).await];
    }
    let span = shared_span(&items);
    let items = items.into_iter().map(|item| item.message).collect();
    let message = BatchAuthorizeRequest { items };
    let answer = repeat_within(deadline, message, |request| {
        let (replicas, request) = (replicas.clone(), with_ids(request, ids.as_ref()));
        async move {
            let mut lease = replicas.lease().await?;
            lease.client.batch_authorize(request).await
        }
    });
    match answer.instrument(span).await {
        // Answers are told apart by their order: one too few would give somebody another's.
        Ok(answer) if answer.outcomes.len() == size => {
            answer.outcomes.into_iter().map(outcome).collect()
        }
        Ok(_) => vec![Err(CallError::Malformed); size],
        Err(error) => vec![Err(error); size],
    }
}

async fn decide_one(
    replicas: &Replicas,
    deadline: Instant,
    ids: Option<MetadataValue<Ascii>>,
    message: AuthorizeRequest,
) -> Result<User, CallError> {
    let answer = repeat_within(deadline, message, |request| {
        let (replicas, request) = (replicas.clone(), with_ids(request, ids.as_ref()));
        async move {
            let mut lease = replicas.lease().await?;
            lease.client.authorize(request).await
        }
    });
    User::required(answer.await?.user)
}

/// A call has one place in one trace: it belongs to the first that is traced, and is linked to the
/// others.
fn shared_span(items: &[Item]) -> Span {
    let mut traced = items.iter().map(|item| &item.span).filter(|span| !span.is_none());
    let Some(first) = traced.next() else { return Span::none() };
    let size = items.len();
    let span = info_span!(parent: first, "shared decisions", otel.kind = "internal", size);
    for other in traced {
        span.follows_from(other);
    }
    span
}

fn outcome(outcome: AuthorizeOutcome) -> Result<User, CallError> {
    match outcome.outcome {
        Some(Outcome::User(user)) => user.try_into(),
        Some(Outcome::RefusalReason(name)) => {
            Err(Reason::from_name(&name).map_or(CallError::Malformed, CallError::local))
        }
        None => Err(CallError::Malformed),
    }
}
