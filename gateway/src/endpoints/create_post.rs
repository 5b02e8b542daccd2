//! `POST /posts`.

use super::{
    post_request::{PostBody, PostRequest},
    post_response::PostResponse,
};
use crate::openapi::responses::ErrorBody;
use axum::{Extension, Json, extract::State, response::IntoResponse};
use http::{StatusCode, header::LOCATION};
use rolegate_auth_client::{
    CallContext,
    axum::{ApiError, BearerToken},
};
use rolegate_posts_client::PostsClient;

/// Write a post
///
/// Its author is the user who sends it.
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
            description = "A rule for titles or contents is broken, or the request body is malformed.",
            body = ErrorBody,
            example = json!({"detail": "Title must have 1 to 200 characters."})
        )
    )
)]
pub(crate) async fn create_post(
    State(posts): State<PostsClient>,
    Extension(context): Extension<CallContext>,
    BearerToken(actor): BearerToken,
    body: PostBody,
) -> Result<impl IntoResponse, ApiError> {
    let draft = PostRequest::read(body)?.into();
    // The route table lets authors and admins pass; posts-service has the actor checked once more,
    // because it trusts no caller with that.
    let post = posts.create(&actor, draft, context).await?;
    let location = [(LOCATION, format!("/posts/{}", post.id))];
    Ok((StatusCode::CREATED, location, Json(PostResponse::from(post))))
}
