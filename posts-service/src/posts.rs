//! The use cases, one file each. They know neither tonic nor SQL, and fail with a [`PostError`].
//! `access` authorizes writes.

mod access;
mod create;
mod delete;
mod error;
mod list;
mod read;
mod update;

pub use crate::post_content::{PostContent, PostContentError};
pub use error::PostError;
pub use list::{PageRequest, PostPage};

use crate::{
    clock::Clock,
    post::Post,
    store::{self, PostStore},
};
use rolegate_auth_client::AuthClient;
use rolegate_sql_store::{BatchedReads, Timed};
use std::sync::Arc;

/// The use cases over one store. Clones share everything.
#[derive(Clone)]
pub struct Posts {
    store: Arc<dyn PostStore>,
    /// Concurrent lookups of single posts share a statement.
    reads: BatchedReads<dyn PostStore, i64, Post>,
    auth: AuthClient,
    clock: Arc<dyn Clock>,
}

impl Posts {
    /// The posts of `store`; `auth` authorizes writes.
    pub fn new(store: Arc<dyn PostStore>, auth: AuthClient, clock: Arc<dyn Clock>) -> Self {
        let reads = BatchedReads::new(
            (store::NAME, "id"),
            &store,
            // Nothing depends on the time.
            |store, ids| {
                Box::pin(async { Ok(Timed { at: 0, value: store.posts_by_id(ids).await? }) })
            },
            |post: &Post| post.id,
        );
        Self { store, reads, auth, clock }
    }
}
