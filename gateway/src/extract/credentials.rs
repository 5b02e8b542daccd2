//! Reads the credentials that a caller presents, and finds the user to whom they belong.

use crate::state::GatewayState;
use axum::{
    Extension,
    extract::{FromRef, FromRequestParts},
    response::{IntoResponse as _, Response},
};
use base64::{Engine as _, engine::general_purpose::URL_SAFE_NO_PAD};
use http::{HeaderMap, header::AUTHORIZATION, request::Parts};
use rolegate_auth_client::{
    AcceptedPassword, ActingClient, AuthClient, CallContext, CallError, Reason, Requirement, User,
    axum::{ApiError, CurrentUser},
};
use rolegate_proto::{Authorization, http::HttpReason, metadata::only_value};
use rolegate_sign_in::request::BrowserRequest;
use secrecy::SecretString;
use serde::de::DeserializeOwned;

/// Returns the credentials in `Authorization`, of either scheme. Rejects a missing, repeated or malformed header with
/// 401.
pub(crate) fn authorization(headers: &HeaderMap) -> Result<Authorization, ApiError> {
    only_value(headers.get_all(AUTHORIZATION))
        .and_then(|value| Authorization::parse(value.as_bytes()))
        .ok_or_else(ApiError::not_authenticated)
}

/// The valid access token or session of the request, for endpoints that no API key may use. The extractor rejects
/// invalid tokens as [`CurrentUser`] does, and an API key with 403.
///
/// The extractor needs only the head of the request, so it runs before the body is read. auth-service checks again that
/// the token is no API key.
pub(crate) struct PersonalToken {
    pub(crate) client: ActingClient,
    /// The name of the user to whom the token belongs.
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
        let client = ActingClient::from_request_parts(parts, state).await?;
        if client.has_api_key() {
            return Err(CallError::local(Reason::RoleInsufficient).into());
        }
        Ok(Self {
            client,
            username: user.username,
        })
    }
}

/// Returns the 403 for a request that a page of another site may have caused.
pub(crate) fn cross_site() -> ApiError {
    ApiError::http(HttpReason::CrossSite, "Cross-site request.")
}

/// Returns the user whose credentials are in `Authorization`, with the scheme `Bearer` or `Basic`. Refuses a missing or
/// repeated header, invalid credentials, and a user whose stored role does not meet the requirement. Also refuses a
/// password with a change that another site may have caused.
pub(crate) async fn authenticate_header(
    state: &GatewayState,
    headers: &HeaderMap,
    context: CallContext,
    requirement: Requirement<'_>,
) -> Result<User, Response> {
    match authorization(headers).map_err(ApiError::into_response)? {
        Authorization::Bearer(token) => {
            let authorized = state.auth.authorize(&token, requirement, context).await;
            authorized.map_err(|error| ApiError::from(error).into_response())
        }
        Authorization::Basic { username, password } => {
            // A browser adds a remembered password even to a request that another site causes, so the password must not
            // authorize a change. It is refused without a check.
            if BrowserRequest::forwarded(headers).is_cross_site_change() {
                return Err(cross_site().into_response());
            }
            authenticate_basic(state, &username, &password, context, requirement).await
        }
    }
}

/// Returns the user with this name and this password. Refuses a wrong password, and a user who does not meet the
/// requirement.
///
/// The password may be an API key, because programs such as git cannot send a key in any other way. A denial has the
/// [`User`] in its extensions, for the audit log.
async fn authenticate_basic(
    state: &GatewayState,
    username: &str,
    password: &SecretString,
    context: CallContext,
    requirement: Requirement<'_>,
) -> Result<User, Response> {
    let accepted = AcceptedPassword::PasswordOrApiKey;
    let verified = state
        .auth
        .verify_credentials_for(username, password, accepted, requirement, context)
        .await;
    let verified = state.refusals.pace(context, verified).await;
    let user = verified.map_err(ApiError::into_response)?;
    let roles = requirement.roles();
    let is_member = requirement
        .groups()
        .iter()
        .any(|group| user.groups.iter().any(|name| name == group.as_str()));
    if requirement == Requirement::AnyAuthenticated || is_member || roles.contains(&user.role) {
        return Ok(user);
    }
    // `unknown_role` is a stored role that grants nothing. If it is one of `roles`, it is `admin`, and the user lacks
    // the second factor that admins need.
    let lacks_second_factor = user.unknown_role.is_some_and(|role| roles.contains(&role));
    let reason = if lacks_second_factor {
        Reason::SecondFactorRequired
    } else {
        Reason::RoleInsufficient
    };
    let denial = ApiError::from(CallError::local(reason));
    Err((Extension(user), denial).into_response())
}

/// Reads the claims of an access token without verifying it. They may be used only after auth-service has verified the
/// token. Returns `None` if the token is no JWT, or lacks a claim of `T`.
pub(crate) fn unverified_claims<T: DeserializeOwned>(token: &str) -> Option<T> {
    let claims = URL_SAFE_NO_PAD.decode(token.split('.').nth(1)?).ok()?;
    serde_json::from_slice(&claims).ok()
}

#[cfg(test)]
mod tests;
