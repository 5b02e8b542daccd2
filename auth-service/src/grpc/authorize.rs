//! `Authorize` and `BatchAuthorize`.

use crate::{
    accounts::{AccountError, Accounts, Bearer, Requirement},
    metrics,
};
use rolegate_grpc_server::is_trusted_caller;
use rolegate_program::cidr_set::CidrSet;
use rolegate_proto::{
    Role,
    auth_v1::{
        AuthorizeOutcome, AuthorizeRequest, AuthorizeResponse, BatchAuthorizeRequest,
        BatchAuthorizeResponse, authorize_outcome::Outcome,
        authorize_request::Requirement as WireRequirement,
    },
    limits::MAX_AUTHORIZE_BATCH,
};
use rolegate_telemetry::request_context::RequestContext;
use std::net::IpAddr;
use tonic::{Extensions, Request, Response, Status};

/// `trusted` callers may report the client address of a decision.
pub(super) async fn one(
    accounts: &Accounts,
    trusted: &CidrSet,
    request: Request<AuthorizeRequest>,
) -> Result<Response<AuthorizeResponse>, Status> {
    let (_, call, item) = request.into_parts();
    let client_address = reported_address(&item, &call, trusted);
    let requirement = requirement(item.requirement)?;
    let authorize = || accounts.authorize(&item.access_token, &requirement);
    let outcome = match client_address {
        // Boxed, so that decisions about tokens are no larger.
        Some(_) => Box::pin(RequestContext::with_client_address(client_address, authorize())).await,
        None => authorize().await,
    };
    metrics::authorization(outcome.as_ref().err().map(AccountError::reason));
    Ok(Response::new(AuthorizeResponse { user: Some(outcome?.into()) }))
}

pub(super) async fn batch(
    accounts: &Accounts,
    trusted: &CidrSet,
    request: Request<BatchAuthorizeRequest>,
) -> Result<Response<BatchAuthorizeResponse>, Status> {
    let (_, call, BatchAuthorizeRequest { items }) = request.into_parts();
    if items.len() > MAX_AUTHORIZE_BATCH {
        return Err(AccountError::request("a batch has at most 256 items").into());
    }
    let bearer = |item: AuthorizeRequest| {
        let client_address = reported_address(&item, &call, trusted);
        let requirement = requirement(item.requirement)?;
        Ok(Bearer { access_token: item.access_token, requirement, client_address })
    };
    let bearers = items.into_iter().map(bearer).collect();
    let outcomes = accounts.authorize_batch(bearers).await?;
    let outcomes = outcomes
        .into_iter()
        .map(|outcome| outcome.map_err(|error| error.reason()))
        .inspect(|outcome| metrics::authorization(outcome.as_ref().err().copied()))
        .map(|outcome| match outcome {
            Ok(user) => Outcome::User(user.into()),
            Err(reason) => Outcome::RefusalReason(reason.as_str().to_owned()),
        })
        .map(|outcome| AuthorizeOutcome { outcome: Some(outcome) })
        .collect();
    Ok(Response::new(BatchAuthorizeResponse { outcomes }))
}

/// The client address that a trusted caller reports with this item.
fn reported_address(
    item: &AuthorizeRequest,
    call: &Extensions,
    trusted: &CidrSet,
) -> Option<IpAddr> {
    let address = item.client_address.as_ref()?.parse().ok()?;
    is_trusted_caller(call, trusted).then_some(address)
}

/// Rejects a missing requirement, which must not admit every user, and unknown roles, which must not
/// be ignored.
fn requirement(wire: Option<WireRequirement>) -> Result<Requirement, AccountError> {
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
