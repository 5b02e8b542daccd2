//! `GET /posts?limit=&after=&author_id=`, each parameter at most once.

use super::post_response::PostResponse;
use crate::{
    extract::pagination::{QueryParams, id_parameter, limit_parameter},
    memory::ResponseMemory,
};
use axum::{Extension, extract::State, response::Response};
use rolegate_auth_client::{CallContext, axum::ApiError};
use rolegate_http_server::memory_budget::MemoryBudget;
use rolegate_posts_client::{PostPage, PostQuery, PostsClient};
use serde::Serialize;
use utoipa::{
    IntoParams, ToSchema,
    openapi::path::{Parameter, ParameterIn},
};

/// Bytes of a page, twice: the posts, and their JSON. Escapes are reserved when they are counted.
const MAX_PAGE: usize = 5 * 1024 * 1024;
/// Bytes of a post, twice.
const MAX_ROW: usize = 512 * 1024;

/// Bytes of the names in a page, and of `next`.
const PAGE_NAMES: usize = 64;

/// A page of posts by ascending id.
#[derive(Debug, Serialize, ToSchema)]
#[schema(as = PostPage)]
pub(crate) struct Page {
    posts: Vec<PostResponse>,
    /// The `after` of the next page, null on the last page.
    #[schema(required, example = 7)]
    next: Option<i64>,
}

struct Filters;

impl IntoParams for Filters {
    fn into_params(_: impl Fn() -> Option<ParameterIn>) -> Vec<Parameter> {
        vec![
            limit_parameter("Maximum number of posts; a page of long posts has fewer."),
            id_parameter("after", "Only posts with a greater id."),
            id_parameter("author_id", "Only posts of this author."),
        ]
    }
}

/// List posts
///
/// Posts come in ascending order of their ids.
#[utoipa::path(
    get,
    path = "/posts",
    tag = "Posts",
    params(Filters),
    responses((status = 200, body = Page))
)]
pub(crate) async fn list_posts(
    State(posts): State<PostsClient>,
    State(memory): State<MemoryBudget>,
    Extension(context): Extension<CallContext>,
    params: QueryParams,
) -> Result<Response, ApiError> {
    let query = query(&params)?;
    let limit = query.limit.map_or(usize::MAX, usize::from);
    let size = limit.saturating_mul(MAX_ROW).min(MAX_PAGE);
    let memory = ResponseMemory::reserve(&memory, size).await?;
    let PostPage { posts, next } = posts.list(query, context).await?;
    let page = Page { posts: posts.into_iter().map(Into::into).collect(), next };
    respond(memory, &page).await
}

async fn respond(memory: ResponseMemory, page: &Page) -> Result<Response, ApiError> {
    let text = page.posts.iter().map(PostResponse::text_size).sum();
    let size = page.posts.iter().map(PostResponse::json_size).sum::<usize>() + PAGE_NAMES;
    memory.json(page, text, size).await
}

fn query(params: &QueryParams) -> Result<PostQuery, ApiError> {
    params.expect_only(&["limit", "after", "author_id"])?;
    Ok(PostQuery {
        limit: params.limit()?,
        after: params.id("after")?,
        author_id: params.id("author_id")?,
    })
}

#[cfg(test)]
mod tests;
