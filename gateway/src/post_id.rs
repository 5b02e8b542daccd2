//! The path parameter `id` of a post.

use crate::path_integer::parse;
use auth_client::axum::Problem;
use axum::extract::{FromRequestParts, Path};
use http::request::Parts;

/// The id of a post in the path. Rejects with 400 what is no integer.
///
/// Handlers that read a body take it as `Result<PostId, Problem>` and look into it after the body,
/// so that the answers keep their order.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) struct PostId(pub(crate) i64);

impl<S: Send + Sync> FromRequestParts<S> for PostId {
    type Rejection = Problem;

    async fn from_request_parts(parts: &mut Parts, state: &S) -> Result<Self, Problem> {
        // Rejected where the segment is not UTF-8.
        let segment = Path::<String>::from_request_parts(parts, state).await.ok();
        segment
            .and_then(|Path(segment)| parse(&segment).map(PostId))
            .ok_or_else(|| Problem::bad_request("Path parameter \"id\" must be an integer."))
    }
}
