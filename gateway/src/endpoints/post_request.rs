//! The content of a post in requests.

use rolegate_posts_client::PostInput;
use serde::Deserialize;
use utoipa::ToSchema;

/// The content of a post; both fields are stored exactly as sent.
// posts-service checks the rules.
#[derive(Deserialize, ToSchema)]
#[schema(as = PostDraft)]
pub(crate) struct PostRequest {
    /// 1 to 200 characters (Unicode scalar values), no control or invisible characters, not
    /// only white space.
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

impl From<PostRequest> for PostInput {
    fn from(request: PostRequest) -> Self {
        Self { title: request.title, content: request.content }
    }
}
