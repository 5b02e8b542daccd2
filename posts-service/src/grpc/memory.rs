//! Memory of responses with posts: see [`memory_budget`](rolegate_http_server::memory_budget).

use crate::posts::PostError;
use prost::Message;
use rolegate_http_server::memory_budget::{MemoryBudget, Reservation};
use rolegate_proto::limits::MAX_POST_BYTES;
use std::sync::Arc;
use tonic::Response;

/// Bytes of a page, twice: the posts, and their message.
const MAX_PAGE: usize = 5 * 1024 * 1024;
/// Bytes of a response that nothing stays reserved for.
const FREE: usize = 4 * 1024;

/// A response that is not built yet.
pub(super) struct ResponseMemory(Reservation);

impl ResponseMemory {
    /// Reserves so many bytes.
    pub(super) async fn reserve(budget: &MemoryBudget, bytes: usize) -> Result<Self, PostError> {
        budget.reserve(bytes).await.map(Self).ok_or(PostError::Busy)
    }

    /// Reserves memory for a page of this size, where 0 is the default.
    pub(super) async fn of_page(budget: &MemoryBudget, size: i32) -> Result<Self, PostError> {
        let posts = usize::try_from(size).ok().filter(|&posts| posts > 0).unwrap_or(usize::MAX);
        Self::reserve(budget, posts.saturating_mul(2 * MAX_POST_BYTES).min(MAX_PAGE)).await
    }

    /// A response with this message, whose bytes stay reserved until they are written.
    pub(super) async fn respond<M: Message>(self, message: M) -> Result<Response<M>, PostError> {
        let size = message.encoded_len();
        let mut response = Response::new(message);
        if size > FREE {
            let reservation = self.0.resize(size).await.ok_or(PostError::Busy)?;
            response.extensions_mut().insert(Arc::new(reservation));
        }
        Ok(response)
    }
}
