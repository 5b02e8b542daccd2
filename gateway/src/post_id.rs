//! The path parameter `id` of a post.

use crate::path_integer::parse;
use axum::extract::{FromRequestParts, Path};
use http::request::Parts;
use rolegate_auth_client::axum::ApiError;

/// The id of a post in the path. Rejects with 400 what is no integer.
///
/// Handlers that read a body take it as `Result<PostId, ApiError>` and look into it after the body,
/// so that the answers keep their order.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) struct PostId(pub(crate) i64);

impl<S: Send + Sync> FromRequestParts<S> for PostId {
    type Rejection = ApiError;

    async fn from_request_parts(parts: &mut Parts, state: &S) -> Result<Self, ApiError> {
        // Rejected where the segment is not UTF-8.
        let segment = Path::<String>::from_request_parts(parts, state).await.ok();
        segment
            .and_then(|Path(segment)| parse(&segment).map(PostId))
            .ok_or_else(|| ApiError::bad_request("Path parameter \"id\" must be an integer."))
    }
}
