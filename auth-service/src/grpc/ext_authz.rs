//! `envoy.service.auth.v3.Authorization/Check`: Envoy asks whether a request may pass (`ext_authz`).
//!
//! Every outcome is an answer, and none a gRPC error: Envoy lets requests pass on an error if
//! `failure_mode_allow` is set.

mod cookie;
pub(crate) mod request;
mod response;

use super::{AuthGrpc, authorize::count_bearer, call_origin::read_origin};
use crate::{
    accounts::{AccountError, AuthenticatedUser, BasicCredentials, Requirement},
    audit,
    call_origin::CallOrigin,
    store::StoreError,
    user::User,
};
use request::{AuthorizationHeader, RequestAttributes, parse_requirement};
use response::Refusal;
use rolegate_grpc_server::is_trusted_caller;
use rolegate_http_server::ignored_address::AddressHeader;
use rolegate_proto::{
    Authorization, Reason,
    authorization::is_api_key,
    envoy_auth_v3::{CheckRequest, CheckResponse, authorization_server::Authorization as Check},
};
use rolegate_telemetry::{log_limiter::LogLimiter, request_context::RequestContext};
use secrecy::{ExposeSecret as _, SecretString};
use std::time::Duration;
use tokio::time::timeout_at;
use tonic::{Code, Request, Response, Status};

/// Warnings about routes whose configuration is not valid: clients can send any number of requests.
static INVALID_ROUTES: LogLimiter<()> = LogLimiter::silent_when_full(1, Duration::from_secs(1));

/// Denials in the audit log, by the id of the user and the requirement, so that a user cannot fill the log.
static DENIALS: LogLimiter<(i64, String)> =
    LogLimiter::evicting_when_full(10_000, Duration::from_mins(1));

/// Addresses of clients that an Envoy outside of `TRUSTED_GATEWAYS` reports.
static IGNORED: AddressHeader =
    AddressHeader::new("source.address", "TRUSTED_GATEWAYS", "proxy of yours");

#[tonic::async_trait]
impl Check for AuthGrpc {
    async fn check(
        &self,
        request: Request<CheckRequest>,
    ) -> Result<Response<CheckResponse>, Status> {
        let mut origin = read_origin(&request);
        let is_trusted = is_trusted_caller(request.extensions(), &self.trusted);
        let context = request.into_inner().attributes.unwrap_or_default();
        let attributes = RequestAttributes { context: &context };
        // The client is Envoy's client, if Envoy is trusted to report its address.
        match attributes.source_address() {
            Some(address) if is_trusted => origin.client_address = Some(address),
            Some(_) => IGNORED.ignore(origin.client_address),
            None => {}
        }
        // Answered before Envoy's own deadline, after which it has no answer.
        let decision = timeout_at(origin.deadline.into(), self.decide(attributes, origin))
            .await
            .unwrap_or_else(|_| Err(AccountError::from(StoreError::TimedOut).into()));
        Ok(Response::new(match decision {
            Ok(user) => response::allow(&user),
            Err(refusal) => response::deny(&refusal, self.allows_basic_challenge(attributes)),
        }))
    }
}

/// A request of Envoy's client to a route whose configuration names the required roles.
#[derive(Clone, Copy)]
struct RouteRequest<'r> {
    attributes: RequestAttributes<'r>,
    /// The required roles, as the configuration of the route names them.
    roles: &'r str,
    /// The requirement that `roles` names. The error of an invalid one comes after those of the credentials, as at the
    /// gateway.
    requirement: &'r Result<Requirement, AccountError>,
    origin: CallOrigin,
}

impl AuthGrpc {
    async fn decide(
        &self,
        attributes: RequestAttributes<'_>,
        origin: CallOrigin,
    ) -> Result<User, Refusal> {
        let Some(roles) = attributes.roles() else {
            warn_of_route(attributes);
            return Err(AccountError::from(Reason::RoleInsufficient).into());
        };
        let is_cookie_only = attributes
            .is_cookie_only()
            .inspect_err(|_| warn_of_route(attributes))?;
        let requirement = self.known_requirement(roles);
        let route = RouteRequest {
            attributes,
            roles,
            requirement: &requirement,
            origin,
        };
        // With cookies only, the header is for the application and does not count here.
        let authorization = if is_cookie_only {
            AuthorizationHeader::Missing
        } else {
            attributes.authorization()
        };
        // The rare ways are boxed, or the future of every check would be as large as that of a password.
        let authenticated = match authorization {
            AuthorizationHeader::Valid(Authorization::Bearer(token)) => {
                self.authorize_bearer(route, token.expose_secret()).await?
            }
            AuthorizationHeader::Valid(Authorization::Basic { username, password }) => {
                Box::pin(self.verify_basic(route, username, password)).await?
            }
            // An `Authorization` header comes before cookies, even an invalid one.
            AuthorizationHeader::Invalid => return Err(Refusal::NotAuthenticated),
            AuthorizationHeader::Missing => Box::pin(self.authenticate_by_cookie(route)).await?,
        };
        let required = match requirement {
            Ok(ref required) => required,
            Err(error) => {
                warn_of_route(attributes);
                return Err(error.into());
            }
        };
        let user = authenticated.user;
        if required.admits(user.role) {
            return Ok(user);
        }
        let reason = required.refusal(authenticated.ineffective_role);
        Err(Box::pin(self.refuse(route, &user, reason)).await)
    }

    /// Logs the denial of a user who is authenticated, and shows a person why.
    async fn refuse(&self, route: RouteRequest<'_>, user: &User, reason: Reason) -> Refusal {
        let log = async {
            if DENIALS.claim((user.id, route.roles.to_owned())) {
                let target = route.attributes.target();
                let shown = target.host_and_path();
                audit::log_access_denial(user, target.method, &shown, route.roles, reason);
            }
        };
        RequestContext::with_client_address(route.origin.client_address, log).await;
        let error = AccountError::from(reason);
        match self.interstitial(route.attributes, user, reason) {
            Some(page) => Refusal::Interstitial(error, page),
            None => error.into(),
        }
    }

    fn known_requirement(&self, roles: &str) -> Result<Requirement, AccountError> {
        let requirement = parse_requirement(roles)?;
        if let Requirement::Roles(required) = &requirement {
            self.accounts.require_known_roles(required)?;
        }
        Ok(requirement)
    }

    async fn authorize_bearer(
        &self,
        route: RouteRequest<'_>,
        token: &str,
    ) -> Result<AuthenticatedUser, AccountError> {
        // Any user, because the audit log names the one who is refused.
        let any = Requirement::AnyAuthenticated;
        let authorize = || self.accounts.authorize(token, &any);
        let bearer = if is_api_key(token) {
            let client = route.origin.client_address;
            Box::pin(RequestContext::with_client_address(client, authorize())).await
        } else {
            authorize().await
        };
        count_bearer(bearer, route.requirement)
    }

    /// Verifies a password. If it is wrong, and the browser of a person asks for a page with it, the session in the cookie
    /// counts.
    async fn verify_basic(
        &self,
        route: RouteRequest<'_>,
        username: String,
        password: SecretString,
    ) -> Result<AuthenticatedUser, Refusal> {
        if route.attributes.is_cross_site_change() {
            route.log_cross_site_denial().await;
            return Err(Refusal::CrossSite);
        }
        let verify = self.accounts.verify_credentials(BasicCredentials {
            username,
            password,
            accept_api_keys: true,
            origin: route.origin,
        });
        let client = route.origin.client_address;
        let error = match RequestContext::with_client_address(client, verify).await {
            Ok(user) => return Ok(user),
            Err(error) => error,
        };
        // The service may be busy, which says nothing about the credentials.
        let is_wrong = error.reason().code() == Code::Unauthenticated;
        if !is_wrong || !self.is_page_of_person(route.attributes) {
            return Err(error.into());
        }
        match Box::pin(self.user_in_cookie(route)).await {
            Err(refusal) if !matches!(refusal, Refusal::SignIn(_)) => Err(error.into()),
            outcome => outcome,
        }
    }

    async fn authenticate_by_cookie(
        &self,
        route: RouteRequest<'_>,
    ) -> Result<AuthenticatedUser, Refusal> {
        let outcome = self.user_in_cookie(route).await;
        if matches!(outcome, Err(Refusal::CrossSite)) {
            route.log_cross_site_denial().await;
        }
        outcome
    }
}

impl RouteRequest<'_> {
    /// Writes the line of a change that another site may have caused.
    async fn log_cross_site_denial(self) {
        let log = async {
            let target = self.attributes.target();
            audit::log_cross_site_denial(target.method, &target.host_and_path(), self.roles);
        };
        RequestContext::with_client_address(self.origin.client_address, log).await;
    }
}

/// Warns that the configuration of the route has no requirement, one of a role that does not exist, or unknown credentials.
fn warn_of_route(attributes: RequestAttributes<'_>) {
    if INVALID_ROUTES.claim(()) {
        let target = attributes.target();
        tracing::warn!(
            host = target.host,
            path = target.path,
            roles = attributes.roles(),
            credentials = attributes.credentials_setting(),
            "ext_authz: refused, because context_extensions of this route are not valid; set roles to \
             roles such as \"author,admin\", or \"*\" for any user, and credentials to nothing or \
             \"cookie\""
        );
    }
}
