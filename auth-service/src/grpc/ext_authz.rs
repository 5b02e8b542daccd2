//! `envoy.service.auth.v3.Authorization/Check`: Envoy asks whether a request may pass (`ext_authz`).
//!
//! Every outcome is an answer, and none a gRPC error: Envoy lets requests pass on an error if
//! `failure_mode_allow` is set.

pub(crate) mod cookie;
pub(crate) mod request;
mod response;

use super::{AuthGrpc, call_origin::origin_of};
use crate::{
    accounts::{AccountError, AuthenticatedUser, BasicCheck, Requirement},
    actor::Actor,
    audit,
    call_origin::CallOrigin,
    metrics,
    store::StoreError,
    user::User,
};
use cookie::has_authorization;
use response::Refusal;
use rolegate_grpc_server::is_trusted_caller;
use rolegate_http_server::ignored_address::AddressHeader;
use rolegate_proto::{
    Authorization, Reason,
    authorization::is_api_key,
    envoy_auth_v3::{
        AttributeContext, CheckRequest, CheckResponse, authorization_server::Authorization as Check,
    },
};
use rolegate_telemetry::{log_once::LogOnce, request_context::RequestContext};
use secrecy::ExposeSecret as _;
use std::{net::IpAddr, time::Duration};
use tonic::{Code, Request, Response, Status};

/// Warnings about routes whose configuration is not valid: clients can send any number of requests.
static INVALID_ROUTES: LogOnce<()> = LogOnce::at_most(1, Duration::from_secs(1));

/// Denials in the audit log, by the id of the user and the requirement, so that a user cannot fill the log.
static DENIALS: LogOnce<(i64, String)> = LogOnce::evicting(10_000, Duration::from_mins(1));

/// Addresses of clients that an Envoy outside of `TRUSTED_GATEWAYS` reports.
static IGNORED: AddressHeader =
    AddressHeader::new("source.address", "TRUSTED_GATEWAYS", "proxy of yours");

#[tonic::async_trait]
impl Check for AuthGrpc {
    async fn check(
        &self,
        request: Request<CheckRequest>,
    ) -> Result<Response<CheckResponse>, Status> {
        let origin = origin_of(&request);
        let is_trusted = is_trusted_caller(request.extensions(), &self.trusted);
        let attributes = request.into_inner().attributes.unwrap_or_default();
        // The client address is that of Envoy's client, if Envoy is trusted to report it.
        let origin = match request::source_address(&attributes) {
            Some(address) if is_trusted => CallOrigin {
                client_address: Some(address),
                ..origin
            },
            Some(_) => {
                IGNORED.ignore(origin.client_address);
                origin
            }
            None => origin,
        };
        // Answered before Envoy's own deadline, after which it has no answer.
        let decision = self.decide(&attributes, origin);
        let decision = tokio::time::timeout_at(origin.deadline.into(), decision).await;
        let late = |_elapsed| Err(AccountError::from(StoreError::TimedOut).into());
        Ok(Response::new(match decision.unwrap_or_else(late) {
            Ok(user) => response::allowed(&user),
            Err(refusal) => response::denied(&refusal, self.allows_basic_challenge(&attributes)),
        }))
    }
}

impl AuthGrpc {
    async fn decide(
        &self,
        attributes: &AttributeContext,
        origin: CallOrigin,
    ) -> Result<User, Refusal> {
        let Some(roles) = request::roles(&attributes.context_extensions) else {
            warn_of_route(attributes);
            return Err(AccountError::from(Reason::RoleInsufficient).into());
        };
        let is_cookie_only = request::is_cookie_only(&attributes.context_extensions)
            .inspect_err(|_| warn_of_route(attributes))?;
        let requirement = self.requirement(roles);
        let client = origin.client_address;
        let authorization = request::authorization(attributes).filter(|_| !is_cookie_only);
        let authenticated = match authorization {
            Some(Authorization::Bearer(token)) => {
                // Any user, because the audit log names the one who is refused.
                let any = Requirement::AnyAuthenticated;
                let authorize = || self.accounts.authorize(token.expose_secret(), &any);
                // What is rare is boxed, or every check would be as large as that of a password.
                let bearer = if is_api_key(token.expose_secret()) {
                    Box::pin(RequestContext::with_client_address(client, authorize())).await
                } else {
                    authorize().await
                };
                counted(bearer, &requirement)?
            }
            Some(Authorization::Basic { .. }) if cookie::is_cross_site_change(attributes) => {
                Box::pin(record_cross_site(attributes, roles, client)).await;
                return Err(Refusal::CrossSite);
            }
            Some(Authorization::Basic { username, password }) => {
                let verify = self.accounts.verify_credentials(BasicCheck {
                    username,
                    password,
                    accept_api_keys: true,
                    origin,
                });
                let verified = Box::pin(RequestContext::with_client_address(client, verify)).await;
                match verified {
                    Err(error) if is_wrong(&error) && self.is_by_person(attributes) => {
                        match Box::pin(self.user_in_cookie(attributes, &requirement)).await {
                            Ok(verified) => verified,
                            Err(page @ Refusal::SignIn(_)) => return Err(page),
                            Err(_) => return Err(error.into()),
                        }
                    }
                    verified => verified?,
                }
            }
            None => {
                // Credentials come before cookies, also malformed ones.
                if !is_cookie_only && has_authorization(attributes) {
                    return Err(Refusal::NotAuthenticated);
                }
                let user = Box::pin(self.user_in_cookie(attributes, &requirement)).await;
                if matches!(user, Err(Refusal::CrossSite)) {
                    Box::pin(record_cross_site(attributes, roles, client)).await;
                }
                user?
            }
        };
        // After the credentials, as at the gateway.
        let requirement = requirement.inspect_err(|_| warn_of_route(attributes))?;
        let user = authenticated.user;
        if requirement.admits(user.role) {
            return Ok(user);
        }
        let reason = requirement.refusal(authenticated.ineffective_role);
        Box::pin(RequestContext::with_client_address(client, async {
            if DENIALS.is_due((user.id, roles.to_owned())) {
                let (method, host, path) = request::route(attributes);
                audit::log_access_denial(&user, method, &format!("{host}{path}"), roles, reason);
            }
        }))
        .await;
        let error = AccountError::from(reason);
        Err(match self.interstitial(attributes, &user, reason) {
            Some(page) => Refusal::Interstitial(error, page),
            None => error.into(),
        })
    }

    fn requirement(&self, roles: &str) -> Result<Requirement, AccountError> {
        let requirement = request::requirement(roles)?;
        if let Requirement::Roles(required) = &requirement {
            self.accounts.expect_known(required)?;
        }
        Ok(requirement)
    }
}

/// Whether the credentials were refused, and not the service busy.
fn is_wrong(error: &AccountError) -> bool {
    error.reason().code() == Code::Unauthenticated
}

/// Writes the line of a change that another site may have caused.
async fn record_cross_site(attributes: &AttributeContext, roles: &str, client: Option<IpAddr>) {
    let record = async {
        let (method, host, path) = request::route(attributes);
        audit::log_cross_site_denial(method, &format!("{host}{path}"), roles);
    };
    RequestContext::with_client_address(client, record).await;
}

/// The user of this bearer, who is counted as admitted or not.
fn counted(
    bearer: Result<Actor, AccountError>,
    requirement: &Result<Requirement, AccountError>,
) -> Result<AuthenticatedUser, AccountError> {
    metrics::count_authorization(match (&bearer, requirement) {
        (Ok(bearer), Ok(required)) if required.admits(bearer.user.role) => None,
        (Ok(bearer), Ok(required)) => Some(required.refusal(bearer.ineffective_role)),
        (Err(error), _) | (_, Err(error)) => Some(error.reason()),
    });
    bearer.map(AuthenticatedUser::from)
}

/// The configuration of the route has no requirement, one of a role that does not exist, or unknown credentials.
fn warn_of_route(attributes: &AttributeContext) {
    if INVALID_ROUTES.is_due(()) {
        let (_, host, path) = request::route(attributes);
        let extensions = &attributes.context_extensions;
        tracing::warn!(
            host,
            path,
            roles = request::roles(extensions),
            credentials = extensions.get("credentials"),
            "ext_authz: refused, because context_extensions of this route are not valid; set roles to \
             roles such as \"author,admin\", or \"*\" for any user, and credentials to nothing or \
             \"cookie\""
        );
    }
}
