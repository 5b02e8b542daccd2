//! `PUT /posts/{id}`.

use super::{
    post_request::{PostBody, PostRequest},
    post_response::PostResponse,
};
use crate::{
    extract::path_id::PostId,
    openapi::responses::{ErrorBody, NotPostOwner, PostNotFound},
};
use axum::{Extension, Json, extract::State};
use rolegate_auth_client::{
    CallContext,
    axum::{ApiError, BearerToken},
};
use rolegate_posts_client::PostsClient;

/// Rewrite a post
///
/// Authors rewrite their own posts, admins everybody's; the author stays who it was.
#[utoipa::path(
    put,
    path = "/posts/{id}",
    tag = "Posts",
    params(("id" = i64, Path, description = "An integer.")),
    request_body(content = PostRequest, description = "At most 1 MiB."),
    responses(
        (status = 200, body = PostResponse),
        (
            status = 400,
            description = "A rule for titles or contents is broken, or the id is no integer, or the \
                           request body is malformed.",
            body = ErrorBody,
            example = json!({"detail": "Title must have 1 to 200 characters."})
        ),
        NotPostOwner,
        PostNotFound
    )
)]
pub(crate) async fn update_post(
    State(posts): State<PostsClient>,
    Extension(context): Extension<CallContext>,
    BearerToken(actor): BearerToken,
    id: Result<PostId, ApiError>,
    body: PostBody,
) -> Result<Json<PostResponse>, ApiError> {
    let PostId(id) = id?;
    let draft = PostRequest::read(body)?.into();
    Ok(Json(posts.update(&actor, id, draft, context).await?.into()))
}
