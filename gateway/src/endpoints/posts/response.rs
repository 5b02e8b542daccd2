//! Converts posts to the JSON of responses, and estimates its size.

use crate::endpoints::required_rfc3339;
use rolegate_auth_client::CallError;
use rolegate_proto::posts_v1::Post;
use serde::Serialize;
use utoipa::ToSchema;

/// A post.
#[derive(Serialize, ToSchema)]
#[schema(as = Post)]
pub(crate) struct PostResponse {
    #[schema(minimum = 1, example = 7)]
    id: i64,
    #[schema(example = "On roles")]
    title: String,
    #[schema(example = "A role counts from the next request.")]
    content: String,
    /// The id of the author. Null if that user was deleted.
    #[schema(required, minimum = 1, example = 2)]
    author_id: Option<i64>,
    /// The username of the author. Null if that user was deleted.
    #[schema(required, example = "ada")]
    author: Option<String>,
    /// When the post was created, as RFC 3339 in UTC, to the millisecond.
    #[schema(format = DateTime, example = "2026-11-21T06:00:00.000Z")]
    created_at: String,
    /// When the post was last updated, as RFC 3339 in UTC, to the millisecond. Every update increases it.
    #[schema(format = DateTime, example = "2026-11-21T06:00:00.000Z")]
    updated_at: String,
}

impl TryFrom<Post> for PostResponse {
    type Error = CallError;

    fn try_from(post: Post) -> Result<Self, CallError> {
        Ok(Self {
            id: post.id,
            title: post.title,
            content: post.content,
            author_id: Some(post.author_id).filter(|&id| id != 0),
            author: post.author,
            created_at: required_rfc3339(post.created_at)?,
            updated_at: required_rfc3339(post.updated_at)?,
        })
    }
}

impl PostResponse {
    /// Returns the size of the title and the content, in bytes.
    pub(super) fn text_size(&self) -> usize {
        self.title.len() + self.content.len()
    }

    /// Returns an upper bound for the size of the post's JSON, in bytes.
    pub(super) fn json_size(&self) -> usize {
        const NAMES_AND_NUMBERS: usize = 512;
        let author = self.author.as_deref().map_or(0, escaped_size);
        escaped_size(&self.title) + escaped_size(&self.content) + author + NAMES_AND_NUMBERS
    }
}

/// Returns an upper bound for the size of a text in JSON, in bytes. A control character takes six bytes (`\u0001`).
fn escaped_size(text: &str) -> usize {
    let size =
        |byte: u8| 1 + 5 * usize::from(byte < b' ') + usize::from(byte == b'"' || byte == b'\\');
    text.bytes().map(size).sum()
}

#[cfg(test)]
mod tests {
    use super::PostResponse;
    use prost_types::Timestamp;
    use rolegate_proto::posts_v1::Post;
    use serde_json::{Value, json};

    #[test]
    fn json_is_never_longer_than_its_size_says() {
        for character in (0..=0x80)
            .filter_map(char::from_u32)
            .chain(['\u{2028}', '\u{10ffff}'])
        {
            let text = character.to_string().repeat(10_000);
            let post = PostResponse {
                id: i64::MAX,
                title: text.clone(),
                content: text,
                author_id: Some(i64::MAX),
                author: Some("\"".repeat(255)),
                created_at: String::new(),
                updated_at: String::new(),
            };
            let json = serde_json::to_vec(&post).expect("JSON");
            assert!(json.len() <= post.json_size(), "{character:?}");
        }
    }

    #[test]
    fn times_are_rfc_3339_and_a_deleted_author_is_null() {
        let mut post = Post {
            id: 7,
            title: "t".to_owned(),
            content: "c".to_owned(),
            author_id: 2,
            author: None,
            created_at: Some(Timestamp::default()),
            updated_at: Some(Timestamp {
                seconds: 1_795_240_800,
                nanos: 70_000_000,
            }),
        };
        let json = |post| {
            let response = PostResponse::try_from(post).expect("a post");
            serde_json::to_value(response).expect("JSON")
        };
        let mut expected = json!({
            "id": 7, "title": "t", "content": "c", "author_id": 2, "author": null,
            "created_at": "1970-01-01T00:00:00.000Z", "updated_at": "2026-11-21T06:00:00.070Z",
        });
        assert_eq!(json(post.clone()), expected);
        (post.author_id, expected["author_id"]) = (0, Value::Null);
        assert_eq!(json(post), expected);
    }

    #[test]
    fn a_deleted_author_has_no_id() {
        let at = Some(Timestamp::default());
        for (author_id, expected) in [(0, None), (7, Some(7))] {
            let post = Post {
                author_id,
                created_at: at,
                updated_at: at,
                ..Default::default()
            };
            let post = PostResponse::try_from(post).map(|post| post.author_id);
            assert_eq!(post, Ok(expected));
        }
    }
}
