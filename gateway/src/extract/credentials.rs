//! Credentials of either scheme, for the address of proxies.

use crate::{middleware::denial_audit::Actor, state::GatewayState};
use axum::response::{IntoResponse as _, Response};
use http::{HeaderMap, header::AUTHORIZATION};
use rolegate_auth_client::{CallContext, CallError, Reason, Requirement, User, axum::ApiError};
use rolegate_proto::Authorization;

/// The user of the only `Authorization` header, `Bearer` or `Basic`, if the role stored now meets the
/// requirement. The denial of a Basic user has the [`Actor`] in its extensions, for the audit log.
pub(crate) async fn authenticate(
    state: &GatewayState,
    headers: &HeaderMap,
    context: CallContext,
    requirement: Requirement<'_>,
) -> Result<User, Response> {
    let not_authenticated = || ApiError::not_authenticated().into_response();
    let mut values = headers.get_all(AUTHORIZATION).iter();
    let (Some(value), None) = (values.next(), values.next()) else {
        return Err(not_authenticated());
    };
    match Authorization::parse(value.as_bytes()).ok_or_else(not_authenticated)? {
        Authorization::Bearer(token) => {
            let authorized = state.auth.authorize(&token, requirement, context).await;
            authorized.map_err(|error| ApiError::from(error).into_response())
        }
        Authorization::Basic { username, password } => {
            let call = async || state.auth.verify_credentials(&username, &password, context).await;
            let verified = state.refusals.verify(context, &username, call).await;
            let user = verified.map_err(ApiError::into_response)?;
            let is_admitted = match requirement {
                Requirement::AnyAuthenticated => true,
                Requirement::Roles(roles) => roles.contains(&user.role),
            };
            if is_admitted {
                return Ok(user);
            }
            let denied = ApiError::from(CallError::local(Reason::RoleInsufficient));
            let mut denied = denied.into_response();
            denied.extensions_mut().insert(Actor::from(user));
            Err(denied)
        }
    }
}
