//! The use cases: what may be done with posts, and the rules.
//!
//! One file per use case. They know neither tonic nor SQL; their outcomes are [`PostError`]s. `actor`
//! asks auth-service who acts and which posts they may write.

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
use rolegate_sql_store::BatchedReads;
use std::sync::Arc;

/// The use cases over one store. Clones share everything.
#[derive(Clone)]
pub struct Posts {
    store: Arc<dyn PostStore>,
    /// Every look-up of one post goes through here and shares its statement with the others.
    reads: BatchedReads<i64, Post>,
    auth: AuthClient,
    clock: Arc<dyn Clock>,
}

impl Posts {
    /// Posts in this store, by the decisions of this auth-service.
    pub fn new(store: Arc<dyn PostStore>, auth: AuthClient, clock: Arc<dyn Clock>) -> Self {
        let by_id = Arc::clone(&store);
        let reads = BatchedReads::new(
            store::NAME,
            "id",
            move |ids: Vec<i64>| {
                let store = Arc::clone(&by_id);
                async move { store.posts_by_id(&ids).await }
            },
            |post: &Post| post.id,
        );
        Self { store, reads, auth, clock }
    }
}
