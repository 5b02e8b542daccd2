//! `GET /posts`.

use super::{post_list_query::PostListQuery, post_response::PostResponse};
use crate::openapi::responses::{InvalidQuery, UpstreamUnavailable};
use axum::{Extension, Json, extract::State};
use rolegate_auth_client::{CallContext, axum::ApiError};
use rolegate_posts_client::{PostPage, PostsClient};
use serde::Serialize;
use utoipa::ToSchema;

/// A page of posts by ascending id.
#[derive(Debug, Serialize, ToSchema)]
#[schema(as = PostPage)]
pub(crate) struct Page {
    posts: Vec<PostResponse>,
    /// The `after` of the next page, null on the last page.
    #[schema(required, example = 7)]
    next: Option<i64>,
}

/// List posts
///
/// Posts come in ascending order of their ids.
#[utoipa::path(
    get,
    path = "/posts",
    tag = "Posts",
    params(PostListQuery),
    responses((status = 200, body = Page), InvalidQuery, UpstreamUnavailable)
)]
pub(crate) async fn list_posts(
    State(posts): State<PostsClient>,
    Extension(context): Extension<CallContext>,
    PostListQuery(query): PostListQuery,
) -> Result<Json<Page>, ApiError> {
    Ok(Json(posts.list(query, context).await?.into()))
}

impl From<PostPage> for Page {
    fn from(page: PostPage) -> Self {
        Self { posts: page.posts.into_iter().map(PostResponse::from).collect(), next: page.next }
    }
}
