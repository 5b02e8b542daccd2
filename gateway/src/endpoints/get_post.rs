//! `GET /posts/{id}`.

use super::post_response::PostResponse;
use crate::extract::path_id::PathId;
use axum::{Extension, Json, extract::State};
use rolegate_auth_client::{CallContext, axum::ApiError};
use rolegate_posts_client::PostsClient;

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
    Extension(context): Extension<CallContext>,
    PathId(id): PathId,
) -> Result<Json<PostResponse>, ApiError> {
    Ok(Json(posts.get_post(id, context).await?.into()))
}
