//! The calls that decide whether the bearer of a token may do something, and the metrics of these decisions.

use super::{AuthGrpc, RpcResult};
use crate::{
    accounts::{AccountError, AuthenticatedUser, AuthorizationRequest, Requirement, TokenSource},
    actor::Actor,
    metrics,
};
use rolegate_grpc_server::Call;
use rolegate_program::request_context::RequestContext;
use rolegate_proto::{
    Role,
    auth_v1::{
        self as wire, AllowedRoles, AuthorizeOutcome, authorize_outcome::Outcome,
        authorize_request::Requirement as WireRequirement,
    },
    limits::MAX_AUTHORIZE_BATCH,
};
use std::sync::Arc;

/// Parses a requirement. A missing requirement is an error, because it must not admit every user. An invalid
/// name is an error, because it must not be ignored. `accounts` checks later whether the roles and groups exist.
///
/// Role numbers, which older clients send, count only if there are no names of roles or groups.
fn parse_requirement(wire: Option<WireRequirement>) -> Result<Requirement, AccountError> {
    let invalid = AccountError::invalid_request;
    match wire {
        None => Err(invalid("say what is required: any_authenticated or roles")),
        Some(WireRequirement::AnyAuthenticated(_)) => Ok(Requirement::AnyAuthenticated),
        Some(WireRequirement::Roles(AllowedRoles {
            roles,
            role_names,
            group_names,
        })) => {
            if !role_names.is_empty() || !group_names.is_empty() {
                return parse_names(&role_names, &group_names);
            }
            let roles = roles.iter().map(|&number| Role::from_message("", number));
            let roles: Result<Vec<Role>, _> = roles.collect();
            let roles = roles.map_err(|_| invalid("roles must be numbers of roles"))?;
            if roles.is_empty() {
                return Err(invalid(
                    "role_names or group_names must have at least one name",
                ));
            }
            Ok(Requirement::AnyOf {
                roles,
                groups: Vec::new(),
            })
        }
    }
}

/// Parses a requirement that names roles and groups. Without names, it is met by every user.
pub(super) fn parse_names(
    role_names: &[String],
    group_names: &[String],
) -> Result<Requirement, AccountError> {
    if role_names.is_empty() && group_names.is_empty() {
        return Ok(Requirement::AnyAuthenticated);
    }
    let invalid = AccountError::invalid_request;
    let roles: Result<_, _> = role_names.iter().map(|name| name.parse()).collect();
    let groups: Result<_, _> = group_names.iter().map(|name| name.parse()).collect();
    Ok(Requirement::AnyOf {
        roles: roles.map_err(|_| invalid("role_names must be names of roles"))?,
        groups: groups.map_err(|_| invalid("group_names must be names of groups"))?,
    })
}

/// Converts a message to the request for a decision. Fails if the requirement is invalid. The client
/// address in the message counts only if the caller is trusted to report it.
fn authorization_request(
    item: wire::AuthorizeRequest,
    call: &Call,
) -> Result<AuthorizationRequest, AccountError> {
    let mut client_address = None;
    if let Some(reported) = item.client_address
        && call.is_trusted()
    {
        client_address = reported.parse().ok();
    }
    Ok(AuthorizationRequest {
        credential: item.access_token,
        source: if item.from_cookie {
            TokenSource::Cookie
        } else {
            TokenSource::Bearer
        },
        requirement: parse_requirement(item.requirement)?,
        client_address,
    })
}

impl AuthGrpc {
    pub(super) async fn authorize(
        self: Arc<Self>,
        call: Call,
        message: wire::AuthorizeRequest,
    ) -> RpcResult<wire::AuthorizeResponse> {
        let asked = authorization_request(message, &call)?;
        let authorize = || {
            self.services.authorizer.authorize_from(
                asked.source,
                &asked.credential,
                &asked.requirement,
            )
        };
        let outcome = match asked.client_address {
            // This future is boxed, so that the future of a decision without a reported address stays small.
            address @ Some(_) => {
                Box::pin(RequestContext::with_client_address(address, authorize())).await
            }
            None => authorize().await,
        };
        metrics::count_authorization(outcome.as_ref().err().map(AccountError::reason));
        Ok(wire::AuthorizeResponse {
            user: Some(outcome?.into()),
        })
    }

    pub(super) async fn batch_authorize(
        self: Arc<Self>,
        call: Call,
        message: wire::BatchAuthorizeRequest,
    ) -> RpcResult<wire::BatchAuthorizeResponse> {
        if message.items.len() > MAX_AUTHORIZE_BATCH {
            return Err(AccountError::invalid_request(
                "a batch has at most 256 items",
            ));
        }
        let requests = message
            .items
            .into_iter()
            .map(|item| authorization_request(item, &call))
            .collect();
        let outcomes = self.services.authorizer.authorize_batch(requests).await?;
        Ok(wire::BatchAuthorizeResponse {
            outcomes: outcomes.into_iter().map(count_outcome).collect(),
        })
    }

    pub(super) async fn get_current_user(
        self: Arc<Self>,
        call: Call,
        _: wire::GetCurrentUserRequest,
    ) -> RpcResult<wire::GetCurrentUserResponse> {
        let any = Requirement::AnyAuthenticated;
        let actor = self
            .services
            .authorizer
            .authorize(call.credential(), &any)
            .await?;
        Ok(actor.into())
    }
}

/// Counts the decision about one item of a batch, and converts it into a message.
fn count_outcome(outcome: Result<Actor, AccountError>) -> AuthorizeOutcome {
    metrics::count_authorization(outcome.as_ref().err().map(AccountError::reason));
    let outcome = match outcome {
        Ok(actor) => Outcome::User(actor.into()),
        Err(error) => Outcome::RefusalReason(error.reason().as_str().to_owned()),
    };
    AuthorizeOutcome {
        outcome: Some(outcome),
    }
}

/// Counts a decision for Envoy in the same way as one of `Authorize`. Returns the authenticated user even if
/// the user does not meet the requirement.
pub(super) fn count_bearer(
    bearer: Result<Actor, AccountError>,
    requirement: &Result<Requirement, AccountError>,
) -> Result<AuthenticatedUser, AccountError> {
    metrics::count_authorization(match (&bearer, requirement) {
        (Ok(bearer), Ok(required)) => required.refusal(&bearer.user, bearer.ineffective_role),
        (Err(error), _) | (_, Err(error)) => Some(error.reason()),
    });
    bearer.map(AuthenticatedUser::from)
}

#[cfg(test)]
mod tests {
    use super::{Requirement, WireRequirement, parse_requirement};
    use rolegate_proto::{
        Role,
        auth_v1::{AllowedRoles, AnyAuthenticated},
    };

    #[test]
    fn missing_empty_and_unknown_roles_are_rejected() {
        for roles in [vec![], vec![0], vec![2, 0], vec![4], vec![-1]] {
            let allowed = AllowedRoles {
                roles: roles.clone(),
                ..AllowedRoles::default()
            };
            assert!(
                parse_requirement(Some(WireRequirement::Roles(allowed))).is_err(),
                "{roles:?}"
            );
        }
        for names in [
            vec![""],
            vec!["author", ""],
            vec!["Admin"],
            vec!["author,admin"],
        ] {
            let role_names = names.iter().map(ToString::to_string).collect();
            // A valid role number, as clients of the previous release send it, does not make up for an invalid
            // name.
            let allowed = AllowedRoles {
                roles: vec![3],
                role_names,
                group_names: vec![],
            };
            assert!(
                parse_requirement(Some(WireRequirement::Roles(allowed))).is_err(),
                "{names:?}"
            );
        }
        assert!(parse_requirement(None).is_err());
    }

    #[test]
    fn valid_requirements_are_converted() {
        let any = WireRequirement::AnyAuthenticated(AnyAuthenticated {});
        assert_eq!(
            parse_requirement(Some(any)).expect("valid"),
            Requirement::AnyAuthenticated
        );
        let named = |names: &[&str]| names.iter().map(ToString::to_string).collect();
        let editor = "editor".parse().expect("a role");
        for (allowed, expected) in [
            (
                AllowedRoles {
                    roles: vec![2, 3],
                    role_names: vec![],
                    group_names: vec![],
                },
                [Role::AUTHOR, Role::ADMIN],
            ),
            (
                AllowedRoles {
                    roles: vec![3],
                    role_names: named(&["editor", "admin"]),
                    group_names: vec![],
                },
                [editor, Role::ADMIN],
            ),
        ] {
            let requirement =
                parse_requirement(Some(WireRequirement::Roles(allowed))).expect("valid");
            assert_eq!(
                requirement,
                Requirement::AnyOf {
                    roles: expected.to_vec(),
                    groups: Vec::new()
                }
            );
        }
    }
}
