//! Who makes a request.

use super::{ApiError, BearerToken};
use crate::{AuthClient, CallContext, Requirement, User};
use axum::extract::{FromRef, FromRequestParts};
use http::request::Parts;

/// The user who makes the request: the bearer of a good access token, with the role stored now.
/// Behind [`RequireRole`](super::RequireRole) it is the user whom the layer let pass; elsewhere
/// auth-service is asked. Extracted from the head, so nothing is read of a body before it.
#[derive(Clone, Debug)]
pub struct CurrentUser(pub User);

impl CurrentUser {
    /// Asks auth-service for the bearer of the token in `parts`, in the [`CallContext`] that an outer
    /// layer may have left there.
    pub(super) async fn authorize(
        parts: &Parts,
        client: &AuthClient,
        requirement: Requirement<'_>,
    ) -> Result<Self, ApiError> {
        let token =
            BearerToken::from_headers(&parts.headers).ok_or_else(ApiError::not_authenticated)?;
        let context = parts.extensions.get::<CallContext>().copied().unwrap_or_default();
        let user = client.authorize(&token.0, requirement, context).await?;
        Ok(Self(user))
    }
}

impl<S> FromRequestParts<S> for CurrentUser
where
    S: Sync,
    AuthClient: FromRef<S>,
{
    type Rejection = ApiError;

    async fn from_request_parts(parts: &mut Parts, state: &S) -> Result<Self, ApiError> {
        if let Some(current) = parts.extensions.get::<Self>() {
            return Ok(current.clone());
        }
        let client = AuthClient::from_ref(state);
        Self::authorize(parts, &client, Requirement::AnyAuthenticated).await
    }
}
