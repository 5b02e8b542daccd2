//! `/authorize`: whether the user of a request may pass, with any method.

use crate::{
    extract::{credentials::authenticate, pagination::QueryParams},
    state::GatewayState,
};
use axum::{
    Extension,
    extract::State,
    response::{IntoResponse as _, Response},
};
use http::{HeaderMap, HeaderName, HeaderValue};
use rolegate_auth_client::{
    CallContext, Requirement, Role, User,
    axum::{ApiError, RequiredRoles},
};
use rolegate_proto::identity_headers::identity_headers;

/// 200 with the identity headers and no body, or an error. `?roles=author,admin` are the roles of which
/// one is required; without it any user passes.
pub(super) async fn authorize(
    State(state): State<GatewayState>,
    Extension(context): Extension<CallContext>,
    query: QueryParams,
    headers: HeaderMap,
) -> Result<Response, Response> {
    let roles = required_roles(&query).map_err(ApiError::into_response)?;
    let requirement = roles.as_deref().map_or(Requirement::AnyAuthenticated, Requirement::Roles);
    match authenticate(&state, &headers, context, requirement).await {
        Ok(user) => Ok(identity(&user).into_response()),
        Err(mut response) => {
            let roles = roles.map(|roles| RequiredRoles(roles.into()));
            roles.map(|roles| response.extensions_mut().insert(roles));
            Err(response)
        }
    }
}

/// A misspelt parameter must not admit every user, so unknown ones are refused.
fn required_roles(query: &QueryParams) -> Result<Option<Vec<Role>>, ApiError> {
    query.expect_only(&["roles"])?;
    let parse = |names| {
        let invalid = "Query parameter \"roles\" must be user, author or admin, or several of them \
                       separated by commas.";
        Role::parse_list(names).map_err(|_| ApiError::bad_request(invalid))
    };
    query.get("roles")?.map(parse).transpose()
}

/// All three headers, always, so that a proxy that copies them overwrites those of a client.
fn identity(user: &User) -> HeaderMap {
    let headers = identity_headers(user.id, &user.username, user.role);
    // Never invalid: the values are visible ASCII.
    let value =
        |text: String| HeaderValue::from_str(&text).unwrap_or(HeaderValue::from_static("-"));
    headers.map(|(name, text)| (HeaderName::from_static(name), value(text))).into_iter().collect()
}
