//! `Authorize`.

use super::{AuthGrpc, RpcResult, request_origin::with_client_address, status::reason_of};
use crate::{
    accounts::{AccountError, Requirement},
    metrics,
};
use rolegate_proto::{
    Role,
    auth_v1::{
        AuthorizeRequest, AuthorizeResponse, authorize_request::Requirement as WireRequirement,
    },
};
use tonic::{Request, Response};

pub(super) async fn call(
    service: &AuthGrpc,
    request: Request<AuthorizeRequest>,
) -> RpcResult<AuthorizeResponse> {
    let (_, call, item) = request.into_parts();
    let client_address = service.reported_address(&item, &call);
    let requirement = requirement(item.requirement)?;
    let authorize = || service.accounts.authorize(&item.access_token, &requirement);
    let outcome = match client_address {
        // Boxed, so that decisions about tokens are no larger.
        Some(_) => Box::pin(with_client_address(client_address, authorize())).await,
        None => authorize().await,
    };
    metrics::authorization(outcome.as_ref().err().map(reason_of));
    Ok(Response::new(AuthorizeResponse { user: Some(outcome?.into()) }))
}

/// Rejects a missing requirement, which must not admit every user, and unknown roles, which must not
/// be ignored.
pub(super) fn requirement(wire: Option<WireRequirement>) -> Result<Requirement, AccountError> {
    let invalid = AccountError::RequestInvalid;
    match wire {
        None => Err(invalid("say what is required: any_authenticated or roles")),
        Some(WireRequirement::AnyAuthenticated(_)) => Ok(Requirement::AnyAuthenticated),
        Some(WireRequirement::Roles(allowed)) if allowed.roles.is_empty() => {
            Err(invalid("roles must name at least one role"))
        }
        Some(WireRequirement::Roles(allowed)) => allowed
            .roles
            .into_iter()
            .map(|role| {
                Role::try_from(role).map_err(|_| invalid("roles must name known roles only"))
            })
            .collect::<Result<_, _>>()
            .map(Requirement::Roles),
    }
}

#[cfg(test)]
mod tests {
    use super::{Requirement, WireRequirement, requirement};
    use rolegate_proto::{
        Role,
        auth_v1::{AllowedRoles, AnyAuthenticated},
    };

    #[test]
    fn missing_empty_and_unknown_roles_are_rejected() {
        for roles in [vec![], vec![0], vec![2, 0], vec![4], vec![-1]] {
            let wire = WireRequirement::Roles(AllowedRoles { roles: roles.clone() });
            assert!(requirement(Some(wire)).is_err(), "{roles:?}");
        }
        assert!(requirement(None).is_err());
    }

    #[test]
    fn valid_requirements_are_converted() {
        let any = WireRequirement::AnyAuthenticated(AnyAuthenticated {});
        assert_eq!(requirement(Some(any)).expect("valid"), Requirement::AnyAuthenticated);
        let roles = WireRequirement::Roles(AllowedRoles { roles: vec![2, 3] });
        let expected = Requirement::Roles(vec![Role::Author, Role::Admin]);
        assert_eq!(requirement(Some(roles)).expect("valid"), expected);
    }
}
