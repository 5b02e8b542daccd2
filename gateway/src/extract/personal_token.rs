//! The access token of a person.

use axum::extract::{FromRef, FromRequestParts};
use http::request::Parts;
use rolegate_auth_client::{
    AuthClient, CallError, Reason,
    axum::{ApiError, BearerToken, CurrentUser},
    is_api_key,
};
use secrecy::SecretString;

/// The valid access token of the request, for what no API key may do. Rejects as [`CurrentUser`] does,
/// and an API key with 403. Needs the request's head only, so it runs before the body is read;
/// auth-service refuses API keys again.
pub(crate) struct PersonalToken {
    pub(crate) token: SecretString,
    /// Its bearer.
    pub(crate) username: String,
}

impl<S> FromRequestParts<S> for PersonalToken
where
    S: Sync,
    AuthClient: FromRef<S>,
{
    type Rejection = ApiError;

    async fn from_request_parts(parts: &mut Parts, state: &S) -> Result<Self, ApiError> {
        let CurrentUser(user) = CurrentUser::from_request_parts(parts, state).await?;
        let BearerToken(token) = BearerToken::from_request_parts(parts, state).await?;
        if is_api_key(&token) {
            return Err(CallError::local(Reason::RoleInsufficient).into());
        }
        Ok(Self { token, username: user.username })
    }
}
