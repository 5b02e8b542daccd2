//! Protects the endpoints of axum services.
//!
//! [`RequireRole`] is a layer, and [`CurrentUser`] and [`ActingClient`] are extractors. They read the header
//! `Authorization` as [`BearerToken`] does, and call auth-service through the [`AuthClient`] in the state. If a
//! proxy in front of the service has already asked Rolegate, the service uses [`ProxyUser`] instead
//! (`proxy_user.rs`). It reads the proxy's headers and makes no call. Every refusal is an [`ApiError`]
//! (`api_error.rs`), which has the same form as the errors of Rolegate's own HTTP API. `log_limit.rs` limits
//! how often clients can cause the same log line.

mod api_error;
mod log_limit;
mod proxy_user;

pub use api_error::{ApiError, RequiredGroups, RequiredRoles};
pub use ipnet::IpNet;
pub use proxy_user::{ProxyPeers, ProxyUser};

use crate::{
    acting_client::ActingClient, client::AuthClient, requirement::Requirement, user::User,
};
use axum::{
    extract::{FromRef, FromRequestParts},
    middleware::{FromExtractorLayer, from_extractor_with_state},
};
use http::{HeaderMap, header::AUTHORIZATION, request::Parts};
use rolegate_grpc_client::CallContext;
use rolegate_proto::{GroupName, Role, authorization::bearer_token, metadata::only_value};
use secrecy::SecretString;
use std::sync::Arc;

/// The bearer token of a request, which is not verified yet. If the header `Authorization` is missing, repeated
/// or not of the form `Bearer <token>`, the extractor rejects the request with 401 `Not authenticated.`
#[derive(Clone, Debug)]
pub struct BearerToken(pub SecretString);

impl BearerToken {
    /// Reads the token from the header, or returns `None` where the extractor would reject the request.
    #[must_use]
    pub fn from_headers(headers: &HeaderMap) -> Option<Self> {
        let value = only_value(headers.get_all(AUTHORIZATION))?;
        bearer_token(value.as_bytes()).map(|token| Self(SecretString::from(token)))
    }
}

impl<S: Sync> FromRequestParts<S> for BearerToken {
    type Rejection = ApiError;

    async fn from_request_parts(parts: &mut Parts, _: &S) -> Result<Self, ApiError> {
        Self::from_headers(&parts.headers).ok_or_else(ApiError::not_authenticated)
    }
}

/// Returns the [`CallContext`] that an outer layer put into the extensions, or an empty one.
fn call_context(parts: &Parts) -> CallContext {
    parts.extensions.get().copied().unwrap_or_default()
}

/// Extracts a client for the bearer of the request's token. It rejects requests as [`BearerToken`] does;
/// auth-service verifies the token with each call.
impl<S> FromRequestParts<S> for ActingClient
where
    S: Sync,
    AuthClient: FromRef<S>,
{
    type Rejection = ApiError;

    async fn from_request_parts(parts: &mut Parts, state: &S) -> Result<Self, ApiError> {
        let BearerToken(token) = BearerToken::from_request_parts(parts, state).await?;
        Ok(AuthClient::from_ref(state).acting_for(token, call_context(parts)))
    }
}

/// The bearer of the request's access token, with the role that is stored now.
///
/// Behind [`RequireRole`] it is the user whom the layer authorized; elsewhere it costs a call to
/// auth-service. The extractor needs only the head of the request, so it runs before the body is read.
#[derive(Clone, Debug)]
pub struct CurrentUser(pub User);

impl CurrentUser {
    async fn authorize(
        parts: &Parts,
        client: &AuthClient,
        requirement: Requirement<'_>,
    ) -> Result<Self, ApiError> {
        let BearerToken(token) =
            BearerToken::from_headers(&parts.headers).ok_or_else(ApiError::not_authenticated)?;
        let user = client
            .authorize(&token, requirement, call_context(parts))
            .await?;
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

/// Lets a request pass if its user has one of some roles now. Otherwise, it rejects the request with 401 or 403,
/// or with a 5xx status if auth-service cannot decide.
///
/// Handlers behind the layer get the user as [`CurrentUser`].
///
/// ```
/// # use rolegate_auth_client::{AuthClient, Role, axum::{CurrentUser, RequireRole}};
/// # use axum::{Router, routing::get};
/// # fn routes(auth: AuthClient) -> Router<AuthClient> {
/// Router::new().route(
///     "/reports",
///     get(async |CurrentUser(user): CurrentUser| format!("Hello {}", user.username))
///         .route_layer(RequireRole::any_of(auth, [Role::AUTHOR, Role::ADMIN])),
/// )
/// # }
/// ```
#[derive(Clone, Debug)]
pub struct RequireRole {
    client: AuthClient,
    roles: Arc<[Role]>,
    groups: Arc<[GroupName]>,
}

/// The layer of [`RequireRole::any_of`].
pub type RequireRoleLayer = FromExtractorLayer<RoleMet, RequireRole>;

impl RequireRole {
    /// Returns a layer that lets users with any of these roles pass.
    pub fn any_of(client: AuthClient, roles: impl IntoIterator<Item = Role>) -> RequireRoleLayer {
        Self::any_of_or_groups(client, roles, [])
    }

    /// Returns a layer that lets users pass who have any of these roles or are in any of these groups.
    pub fn any_of_or_groups(
        client: AuthClient,
        roles: impl IntoIterator<Item = Role>,
        groups: impl IntoIterator<Item = GroupName>,
    ) -> RequireRoleLayer {
        from_extractor_with_state(Self {
            client,
            roles: roles.into_iter().collect(),
            groups: groups.into_iter().collect(),
        })
    }
}

/// Proves that [`RequireRole`] let the request pass.
#[derive(Clone, Copy, Debug)]
pub struct RoleMet;

impl FromRequestParts<RequireRole> for RoleMet {
    type Rejection = ApiError;

    async fn from_request_parts(parts: &mut Parts, layer: &RequireRole) -> Result<Self, ApiError> {
        let RequireRole {
            client,
            roles,
            groups,
        } = layer;
        let requirement = Requirement::RolesOrGroups { roles, groups };
        let current_user = CurrentUser::authorize(parts, client, requirement)
            .await
            .map_err(|error| {
                error
                    .requiring(RequiredRoles::of(roles))
                    .requiring_groups(RequiredGroups::of(groups))
            })?;
        parts.extensions.insert(current_user);
        Ok(Self)
    }
}

#[cfg(test)]
mod tests {
    use super::BearerToken;
    use http::{HeaderMap, HeaderValue, header::AUTHORIZATION};
    use secrecy::ExposeSecret;

    fn token_of(values: &[&str]) -> Option<String> {
        let mut headers = HeaderMap::new();
        for value in values {
            headers.append(
                AUTHORIZATION,
                HeaderValue::from_str(value).expect("a header value"),
            );
        }
        BearerToken::from_headers(&headers).map(|token| token.0.expose_secret().to_owned())
    }

    #[test]
    fn scheme_is_case_insensitive_and_token_is_unchanged() {
        for value in ["Bearer a.B-_c", "bearer a.B-_c", "BEARER  a.B-_c"] {
            assert_eq!(token_of(&[value]).as_deref(), Some("a.B-_c"), "{value}");
        }
    }

    #[test]
    fn every_other_form_is_rejected() {
        for value in [
            "",
            "Bearer",
            "Bearer ",
            "Bearer a b",
            "Basic YTpi",
            "Bearera",
            "Bearer\ta",
            "a",
        ] {
            assert_eq!(token_of(&[value]), None, "{value:?}");
        }
        assert_eq!(token_of(&[]), None);
        assert_eq!(
            token_of(&["Bearer a", "Bearer a"]),
            None,
            "two headers are ambiguous"
        );
    }
}
