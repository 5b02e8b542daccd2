//! A post in responses.

use humantime::format_rfc3339_millis;
use rolegate_posts_client::Post;
use serde::Serialize;
use utoipa::ToSchema;

/// A post.
#[derive(Debug, Serialize, ToSchema)]
#[schema(as = Post)]
pub(crate) struct PostResponse {
    #[schema(minimum = 1, example = 7)]
    id: i64,
    #[schema(example = "On roles")]
    title: String,
    #[schema(example = "A role counts from the next request.")]
    content: String,
    /// The id of the author.
    #[schema(minimum = 1, example = 2)]
    author_id: i64,
    /// The username of the author, null if that user is deleted.
    #[schema(required, example = "ada")]
    author: Option<String>,
    /// RFC 3339 in UTC, to the millisecond.
    #[schema(format = DateTime, example = "2026-11-21T06:00:00.000Z")]
    created_at: String,
    /// RFC 3339 in UTC, to the millisecond; increases with every update.
    #[schema(format = DateTime, example = "2026-11-21T06:00:00.000Z")]
    updated_at: String,
}

impl From<Post> for PostResponse {
    fn from(post: Post) -> Self {
        Self {
            id: post.id,
            title: post.title,
            content: post.content,
            author_id: post.author_id,
            author: post.author,
            created_at: format_rfc3339_millis(post.created_at).to_string(),
            updated_at: format_rfc3339_millis(post.updated_at).to_string(),
        }
    }
}

impl PostResponse {
    /// About the bytes of its JSON.
    pub(super) fn json_size(&self) -> usize {
        const NAMES_AND_NUMBERS: usize = 512;
        self.title.len() + self.content.len() + NAMES_AND_NUMBERS
    }
}

#[cfg(test)]
mod tests {
    use super::PostResponse;
    use rolegate_posts_client::Post;
    use serde_json::json;
    use std::time::{Duration, UNIX_EPOCH};

    #[test]
    fn times_are_rfc_3339_and_a_deleted_author_is_null() {
        let post = Post {
            id: 7,
            title: "t".to_owned(),
            content: "c".to_owned(),
            author_id: 2,
            author: None,
            created_at: UNIX_EPOCH,
            updated_at: UNIX_EPOCH + Duration::from_millis(1_795_240_800_070),
        };
        let response = serde_json::to_value(PostResponse::from(post)).expect("JSON");
        let expected = json!({
            "id": 7, "title": "t", "content": "c", "author_id": 2, "author": null,
            "created_at": "1970-01-01T00:00:00.000Z", "updated_at": "2026-11-21T06:00:00.070Z",
        });
        assert_eq!(response, expected);
    }
}
