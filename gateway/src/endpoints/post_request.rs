//! What is to stand in a post.

use crate::extract::json_body::{JsonBody, MAX_POST_BODY};
use rolegate_auth_client::axum::ApiError;
use rolegate_posts_client::PostInput;
use utoipa::ToSchema;

/// The body of a request that writes a post.
pub(crate) type PostBody = JsonBody<MAX_POST_BODY>;

/// What is to stand in a post; both taken exactly as sent.
#[derive(ToSchema)]
#[schema(as = PostDraft)]
pub(crate) struct PostRequest {
    /// 1 to 200 characters (Unicode scalar values), no control characters, not all white space.
    #[schema(
        min_length = 1,
        max_length = 200,
        pattern = r"^[^\u0000-\u001f\u007f-\u009f]*$",
        example = "On roles"
    )]
    title: String,
    /// 1 to 50,000 characters (Unicode scalar values), no NUL.
    #[schema(
        min_length = 1,
        max_length = 50_000,
        pattern = r"^[^\u0000]*$",
        example = "A role counts from the next request."
    )]
    content: String,
}

impl PostRequest {
    /// Takes both out of the body; posts-service judges them in its turn.
    pub(crate) fn read(mut body: PostBody) -> Result<Self, ApiError> {
        Ok(Self { title: body.text("title")?, content: body.text("content")? })
    }
}

impl From<PostRequest> for PostInput {
    fn from(draft: PostRequest) -> Self {
        Self { title: draft.title, content: draft.content }
    }
}
