//! The use cases of posts, and all rules for them. They know neither tonic nor SQL.
//!
//! - `reads` reads posts, and asks auth-service for the usernames of their authors.
//! - `writes` creates, updates and deletes posts, after auth-service has authorized the user.
//! - `deleted_authors` follows deletions of users, and deletes or detaches their posts.
//! - `error` has [`PostError`], with which all use cases fail.

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

/// The use cases over one store. Clones share the store and the client of auth-service.
#[derive(Clone)]
pub(crate) struct Posts {
    store: Arc<Database>,
    /// Merges concurrent lookups of single posts into shared statements.
    reads: Arc<BatchedReads<Database, i64, Post>>,
    auth: AuthClient,
}

impl Posts {
    /// Makes the use cases for the posts of `store`. `auth` authorizes writes.
    pub(crate) fn new(store: Arc<Database>, auth: AuthClient) -> Self {
        let reads = BatchedReads::new(
            BatchLabels {
                store: store::NAME,
                key: "id",
            },
            &store,
            // The reads of posts do not depend on the time, so it is not read.
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

/// Returns the client address and the request id to pass on to auth-service. A batch of several requests has no id of
/// its own.
fn call_context() -> CallContext {
    let request_id = |current: &RequestContext| current.request_id.to_str().ok()?.parse().ok();
    let request_id = RequestContext::with_current(request_id).flatten();
    CallContext {
        client_address: RequestContext::client_address(),
        request_id,
    }
}
