//! The use cases. They know neither tonic nor SQL, and fail with a [`PostError`].

mod deleted_authors;
mod error;
mod reads;
mod writes;

pub(crate) use deleted_authors::DeletedAuthors;
pub(crate) use error::PostError;

use crate::{
    post::Post,
    store::{self, Database},
};
use rolegate_auth_client::{AuthClient, CallContext};
use rolegate_sql_store::{BatchLabels, BatchedReads, Timed};
use rolegate_telemetry::request_context::RequestContext;
use std::sync::Arc;

/// The use cases over one store. Clones share everything.
#[derive(Clone)]
pub(crate) struct Posts {
    store: Arc<Database>,
    /// Concurrent lookups of single posts share a statement.
    reads: Arc<BatchedReads<Database, i64, Post>>,
    auth: AuthClient,
}

impl Posts {
    /// The posts of `store`; `auth` authorizes writes.
    pub(crate) fn new(store: Arc<Database>, auth: AuthClient) -> Self {
        let reads = BatchedReads::new(
            BatchLabels {
                store: store::NAME,
                key: "id",
            },
            &store,
            // Nothing depends on the time.
            |store, ids| {
                Box::pin(async {
                    Ok(Timed {
                        at: 0,
                        value: store::posts_by_id(store, ids).await?,
                    })
                })
            },
            |post: &Post| post.id,
        );
        Self {
            store,
            reads: Arc::new(reads),
            auth,
        }
    }
}

/// Passes the client address and the request id on to auth-service. A batch of several requests has
/// no id of its own.
fn call_context() -> CallContext {
    let request_id = |current: &RequestContext| current.request_id.to_str().ok()?.parse().ok();
    let request_id = RequestContext::with_current(request_id).flatten();
    CallContext {
        client_address: RequestContext::client_address(),
        request_id,
    }
}
