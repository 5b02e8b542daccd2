//! The user of a request.

use super::{ApiError, BearerToken};
use crate::{AuthClient, CallContext, Requirement, User};
use axum::extract::{FromRef, FromRequestParts};
use http::request::Parts;

/// The bearer of the request's access token, with the role stored now. Behind
/// [`RequireRole`](super::RequireRole) it is the user that the layer authorized; elsewhere it costs a
/// call to auth-service. Needs the request's head only, so it runs before the body is read.
#[derive(Clone, Debug)]
pub struct CurrentUser(pub User);

impl CurrentUser {
    /// Authorizes the bearer of the token in `parts`, with the [`CallContext`] that an outer layer may
    /// have put into the extensions.
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
