//! The use cases of posts, with all rules. This module depends on neither tonic nor SQL.
//!
//! - `reads` reads posts, and requests the usernames of their authors from auth-service.
//! - `writes` creates, updates and deletes posts, after auth-service has authorized the user.
//! - `deleted_authors` follows deletions of users, and deletes or detaches their posts.
//! - `error` defines [`PostError`], the error of all use cases.

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
use rolegate_program::request_context::RequestContext;
use rolegate_sql_store::{BatchLabels, BatchedReads, Timed};
use std::sync::Arc;

/// The use cases for the posts of one store.
pub(crate) struct Posts {
    store: Arc<Database>,
    /// Merges concurrent lookups of single posts into shared statements.
    reads: BatchedReads<Database, i64, Post>,
    auth: AuthClient,
}

impl Posts {
    /// Creates the use cases for the posts of `store`. `auth` authorizes writes, and provides the usernames of authors.
    pub(crate) fn new(store: Arc<Database>, auth: AuthClient) -> Self {
        let reads = BatchedReads::new(
            BatchLabels {
                store: store::NAME,
                key: "id",
            },
            &store,
            // Nothing uses the time of these reads, so 0 stands for it. An SQLite file of posts has no clock.
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
        Self { store, reads, auth }
    }
}

/// Returns the client address and the request id to pass on to auth-service. The request id is `None` in a batch that
/// serves several requests.
fn call_context() -> CallContext {
    let request_id = |current: &RequestContext| current.request_id.to_str().ok()?.parse().ok();
    let request_id = RequestContext::with_current(request_id).flatten();
    CallContext {
        client_address: RequestContext::client_address(),
        request_id,
    }
}
