//! The path parameter `user_id`.

use crate::path_integer::parse;
use axum::extract::{FromRequestParts, Path};
use http::request::Parts;
use rolegate_auth_client::axum::ApiError;

/// The id of a user in the path. Rejects with 400 what is no integer.
///
/// Handlers that read a body take it as `Result<UserId, ApiError>` and look into it after the body,
/// so that the answers keep their order.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) struct UserId(pub(crate) i64);

impl<S: Send + Sync> FromRequestParts<S> for UserId {
    type Rejection = ApiError;

    async fn from_request_parts(parts: &mut Parts, state: &S) -> Result<Self, ApiError> {
        // Rejected where the segment is not UTF-8.
        let segment = Path::<String>::from_request_parts(parts, state).await.ok();
        segment
            .and_then(|Path(segment)| parse(&segment).map(UserId))
            .ok_or_else(|| ApiError::bad_request("Path parameter \"user_id\" must be an integer."))
    }
}
