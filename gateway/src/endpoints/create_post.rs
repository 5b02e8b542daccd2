//! `POST /posts`.

use super::{post_request::PostRequest, post_response::PostResponse};
use crate::{
    extract::json_body::{JsonBody, MAX_POST_BODY},
    openapi::responses::ErrorBody,
};
use axum::{Extension, Json, extract::State, response::IntoResponse};
use http::{StatusCode, header::LOCATION};
use rolegate_auth_client::{
    CallContext,
    axum::{ApiError, BearerToken},
};
use rolegate_posts_client::PostsClient;

/// Create a post
///
/// The caller becomes its author.
#[utoipa::path(
    post,
    path = "/posts",
    tag = "Posts",
    request_body(content = PostRequest, description = "At most 1 MiB."),
    responses(
        (
            status = 201,
            description = "The new post.",
            body = PostResponse,
            headers(("Location" = String, description = "`/posts/{id}`"))
        ),
        (
            status = 400,
            description = "The title or content breaks a rule, or the request body is malformed.",
            body = ErrorBody,
            example = json!({"detail": "Title must have 1 to 200 characters."})
        )
    )
)]
pub(crate) async fn create_post(
    State(posts): State<PostsClient>,
    Extension(context): Extension<CallContext>,
    BearerToken(actor): BearerToken,
    JsonBody(request): JsonBody<PostRequest, MAX_POST_BODY>,
) -> Result<impl IntoResponse, ApiError> {
    let post = posts.create(&actor, request?.into(), context).await?;
    let location = [(LOCATION, format!("/posts/{}", post.id))];
    Ok((StatusCode::CREATED, location, Json(PostResponse::from(post))))
}
