//! Memory of responses with posts: see [`memory_budget`](rolegate_http_server::memory_budget).

use crate::posts::PostError;
use prost::Message;
use rolegate_http_server::memory_budget::{MemoryBudget, Reservation};
use rolegate_proto::limits::MAX_POST_BATCH;
use std::sync::Arc;
use tonic::Response;

/// Bytes of the longest post.
const MAX_POST: usize = 256 * 1024;
/// Bytes of a page, twice: the posts, and their message.
const MAX_PAGE: usize = 5 * 1024 * 1024;
/// Bytes of a response that nothing stays reserved for.
const FREE: usize = 4 * 1024;

/// A response that is not built yet.
pub(super) struct ResponseMemory(Reservation);

impl ResponseMemory {
    /// Reserves memory for this many posts.
    pub(super) async fn of_posts(budget: &MemoryBudget, posts: usize) -> Result<Self, PostError> {
        Self::reserve(budget, MAX_POST * posts.clamp(1, MAX_POST_BATCH)).await
    }

    /// Reserves memory for a page of this size, where 0 is the default.
    pub(super) async fn of_page(budget: &MemoryBudget, size: i32) -> Result<Self, PostError> {
        let posts = usize::try_from(size).ok().filter(|&posts| posts > 0).unwrap_or(usize::MAX);
        Self::reserve(budget, posts.saturating_mul(2 * MAX_POST).min(MAX_PAGE)).await
    }

    async fn reserve(budget: &MemoryBudget, bytes: usize) -> Result<Self, PostError> {
        budget.reserve(bytes).await.map(Self).ok_or(PostError::Busy)
    }

    /// A response with this message, whose bytes stay reserved until they are written.
    pub(super) fn respond<M: Message>(mut self, message: M) -> Response<M> {
        let size = message.encoded_len();
        let mut response = Response::new(message);
        if size > FREE {
            self.0.shrink_to(size);
            response.extensions_mut().insert(Arc::new(self.0));
        }
        response
    }
}
