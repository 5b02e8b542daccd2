//! `GET /posts/{id}`.

use super::post_response::PostResponse;
use crate::{extract::path_id::PathId, memory::ResponseMemory};
use axum::{Extension, extract::State, response::Response};
use rolegate_auth_client::{CallContext, axum::ApiError};
use rolegate_http_server::memory_budget::MemoryBudget;
use rolegate_posts_client::PostsClient;

/// Bytes of the longest post, twice: the post, and its JSON. Escapes are reserved when they are counted.
const MAX_POST: usize = 512 * 1024;

/// Get a post
#[utoipa::path(
    get,
    path = "/posts/{id}",
    tag = "Posts",
    params(("id" = i64, Path, description = "An integer.")),
    responses((status = 200, body = PostResponse))
)]
pub(crate) async fn get_post(
    State(posts): State<PostsClient>,
    State(memory): State<MemoryBudget>,
    Extension(context): Extension<CallContext>,
    PathId(id): PathId,
) -> Result<Response, ApiError> {
    let memory = ResponseMemory::reserve(&memory, MAX_POST).await?;
    let post = PostResponse::from(posts.get_post(id, context).await?);
    memory.json(&post, post.text_size(), post.json_size()).await
}
