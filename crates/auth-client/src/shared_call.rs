//! One call for many requests that only look something up: until when, for whom, in whose trace.

use crate::{CallError, call_context::id_list, deadline::repeat_within};
use rolegate_proto::{RequestId, metadata::REQUEST_ID};
use std::time::Duration;
use tokio::time::Instant;
use tonic::{
    Request, Response, Status,
    metadata::{Ascii, MetadataValue},
};
use tracing::{Instrument as _, Span, info_span};

/// A request that takes part in a call.
#[derive(Debug)]
pub struct Asker {
    deadline: Instant,
    request_id: Option<RequestId>,
    /// Of the request, where it is traced.
    span: Span,
}

impl Asker {
    /// One who has so much time from now on.
    #[must_use]
    pub fn with_time(time: Duration, request_id: Option<RequestId>) -> Self {
        Self { deadline: Instant::now() + time, request_id, span: Span::current() }
    }

    /// When its time is up; it keeps a timer of its own.
    #[must_use]
    pub fn deadline(&self) -> Instant {
        self.deadline
    }
}

/// The call: it may take as long as the most patient of its askers waits.
#[derive(Debug)]
pub struct SharedCall {
    deadline: Instant,
    ids: Option<MetadataValue<Ascii>>,
    span: Span,
}

impl SharedCall {
    /// For all of these.
    pub fn of<'a>(askers: impl Iterator<Item = &'a Asker> + Clone) -> Self {
        let deadline = askers.clone().map(|asker| asker.deadline).max();
        Self {
            deadline: deadline.unwrap_or_else(Instant::now),
            ids: id_list(askers.clone().filter_map(|asker| asker.request_id)),
            span: shared_span(askers),
        }
    }

    /// Makes it, again where it reached nobody.
    pub async fn make<M: Clone, A, F>(
        &self,
        message: M,
        call: impl Fn(Request<M>) -> F,
    ) -> Result<A, CallError>
    where
        F: Future<Output = Result<Response<A>, Status>>,
    {
        let call = |request| call(with_ids(request, self.ids.as_ref()));
        repeat_within(self.deadline, message, call).instrument(self.span.clone()).await
    }
}

/// Says for which requests a call is made.
pub(crate) fn with_ids<M>(
    mut request: Request<M>,
    ids: Option<&MetadataValue<Ascii>>,
) -> Request<M> {
    if let Some(ids) = ids {
        request.metadata_mut().insert(REQUEST_ID, ids.clone());
    }
    request
}

/// A call has one place in one trace: it belongs to the first that is traced, and is linked to the
/// others.
fn shared_span<'a>(askers: impl Iterator<Item = &'a Asker> + Clone) -> Span {
    let size = askers.clone().count();
    let mut traced = askers.map(|asker| &asker.span).filter(|span| !span.is_none());
    let Some(first) = traced.next() else { return Span::none() };
    let span = info_span!(parent: first, "shared look-ups", otel.kind = "internal", size);
    for other in traced {
        span.follows_from(other);
    }
    span
}
