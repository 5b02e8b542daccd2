//! `DELETE /posts/{id}`.

use super::message::{Message, message};
use crate::{extract::path_id::PathId, openapi::responses::NotPostOwner};
use axum::{Extension, Json, extract::State};
use rolegate_auth_client::{
    CallContext,
    axum::{ApiError, BearerToken},
};
use rolegate_posts_client::PostsClient;

/// Delete a post
///
/// Authors delete their own posts, admins any post.
#[utoipa::path(
    delete,
    path = "/posts/{id}",
    tag = "Posts",
    params(("id" = i64, Path, description = "An integer.")),
    responses(
        (status = 200, body = Message, example = json!({"message": "Post deleted successfully."})),
        NotPostOwner
    )
)]
pub(crate) async fn delete_post(
    State(posts): State<PostsClient>,
    Extension(context): Extension<CallContext>,
    BearerToken(actor): BearerToken,
    PathId(id): PathId,
) -> Result<Json<Message>, ApiError> {
    posts.delete(&actor, id, context).await?;
    Ok(message("Post deleted successfully."))
}
