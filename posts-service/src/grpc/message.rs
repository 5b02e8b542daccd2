//! Converts posts to protobuf messages, and errors of the use cases to gRPC statuses.

use crate::{post::PostWithAuthor, posts::PostError};
use prost_types::Timestamp;
use rolegate_grpc_server::error_status;
use rolegate_proto::posts_v1;
use tonic::Status;

impl From<PostWithAuthor> for posts_v1::Post {
    fn from(PostWithAuthor { post, author }: PostWithAuthor) -> Self {
        Self {
            id: post.id,
            title: post.title,
            content: post.content,
            author_id: post.author_id,
            author,
            created_at: Some(timestamp(post.created_at)),
            updated_at: Some(timestamp(post.updated_at)),
        }
    }
}

fn timestamp(unix_millis: i64) -> Timestamp {
    let nanos = i32::try_from(unix_millis.rem_euclid(1000) * 1_000_000).unwrap_or_default();
    Timestamp {
        seconds: unix_millis.div_euclid(1000),
        nanos,
    }
}

impl From<PostError> for Status {
    fn from(error: PostError) -> Self {
        error_status(error.reason(), &error, None)
    }
}

#[cfg(test)]
mod tests {
    use super::timestamp;

    #[test]
    fn milliseconds_are_seconds_and_nanoseconds() {
        for (millis, seconds, nanos) in [
            (0, 0, 0),
            (1_999, 1, 999_000_000),
            (1_000, 1, 0),
            (-1, -1, 999_000_000),
        ] {
            let timestamp = timestamp(millis);
            assert_eq!(
                (timestamp.seconds, timestamp.nanos),
                (seconds, nanos),
                "{millis}"
            );
        }
    }
}
