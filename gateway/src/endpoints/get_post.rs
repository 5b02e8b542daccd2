//! `GET /posts/{id}`.

use super::shown_post::ShownPost;
use crate::{
    openapi::problem::{NoSuchPost, Outage},
    post_id::PostId,
};
use axum::{Extension, Json, extract::State};
use rolegate_auth_client::{CallContext, axum::ApiError};
use rolegate_posts_client::PostsClient;

/// Read a post
#[utoipa::path(
    get,
    path = "/posts/{id}",
    tag = "Posts",
    params(("id" = i64, Path, description = "An integer.")),
    responses(
        (status = 200, body = ShownPost),
        NoSuchPost,
        Outage
    )
)]
pub(crate) async fn get_post(
    State(posts): State<PostsClient>,
    Extension(context): Extension<CallContext>,
    PostId(id): PostId,
) -> Result<Json<ShownPost>, ApiError> {
    Ok(Json(posts.post(id, context).await?.into()))
}
