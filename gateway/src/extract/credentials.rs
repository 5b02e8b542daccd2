//! Credentials of either scheme, for the address of proxies.

use crate::state::GatewayState;
use http::{HeaderMap, header::AUTHORIZATION};
use rolegate_auth_client::{CallContext, CallError, Reason, Requirement, User, axum::ApiError};
use rolegate_proto::Authorization;

/// The user of the only `Authorization` header, `Bearer` or `Basic`, if the role stored now meets the
/// requirement.
pub(crate) async fn authenticate(
    state: &GatewayState,
    headers: &HeaderMap,
    context: CallContext,
    requirement: Requirement<'_>,
) -> Result<User, ApiError> {
    let mut values = headers.get_all(AUTHORIZATION).iter();
    let (Some(value), None) = (values.next(), values.next()) else {
        return Err(ApiError::not_authenticated());
    };
    match Authorization::parse(value.as_bytes()).ok_or_else(ApiError::not_authenticated)? {
        Authorization::Bearer(token) => {
            Ok(state.auth.authorize(&token, requirement, context).await?)
        }
        Authorization::Basic { username, password } => {
            let call = async || state.auth.verify_credentials(&username, &password, context).await;
            let user = state.refusals.verify(context, &username, call).await?;
            let is_admitted = match requirement {
                Requirement::AnyAuthenticated => true,
                Requirement::Roles(roles) => roles.contains(&user.role),
            };
            let denied = || CallError::local(Reason::RoleInsufficient).into();
            is_admitted.then_some(user).ok_or_else(denied)
        }
    }
}
