//! The arguments of `Authorize` and `BatchAuthorize`.

use crate::accounts::{AccountError, Requirement};
use rolegate_grpc_server::is_trusted_caller;
use rolegate_program::cidr_set::CidrSet;
use rolegate_proto::{
    Role,
    auth_v1::{AuthorizeRequest, authorize_request::Requirement as WireRequirement},
};
use std::net::IpAddr;
use tonic::Extensions;

/// The client address that a trusted caller reports with this item.
pub(super) fn reported_address(
    item: &AuthorizeRequest,
    call: &Extensions,
    trusted: &CidrSet,
) -> Option<IpAddr> {
    let address = item.client_address.as_ref()?.parse().ok()?;
    is_trusted_caller(call, trusted).then_some(address)
}

/// Rejects a missing requirement, which must not admit every user, and unknown roles, which must not
/// be ignored.
pub(super) fn requirement(wire: Option<WireRequirement>) -> Result<Requirement, AccountError> {
    let invalid = AccountError::request;
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
