//! `PUT /posts/{id}`.

use super::{post_request::PostRequest, post_response::PostResponse};
use crate::{
    extract::{
        json_body::{JsonBody, MAX_POST_BODY},
        path_id::PathId,
    },
    openapi::responses::{ErrorBody, NotPostOwner},
};
use axum::{Extension, Json, extract::State};
use rolegate_auth_client::{
    CallContext,
    axum::{ApiError, BearerToken},
};
use rolegate_posts_client::PostsClient;

/// Update a post
///
/// Authors update their own posts, admins any post. The author does not change.
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
            description = "The title or content breaks a rule, the id is not an integer, or the \
                           request body is malformed.",
            body = ErrorBody,
            example = json!({"detail": "Title must have 1 to 200 characters."})
        ),
        NotPostOwner
    )
)]
pub(crate) async fn update_post(
    State(posts): State<PostsClient>,
    Extension(context): Extension<CallContext>,
    BearerToken(actor): BearerToken,
    id: Result<PathId, ApiError>,
    JsonBody(request): JsonBody<PostRequest, MAX_POST_BODY>,
) -> Result<Json<PostResponse>, ApiError> {
    let PathId(id) = id?;
    Ok(Json(posts.update(&actor, id, request?.into(), context).await?.into()))
}
