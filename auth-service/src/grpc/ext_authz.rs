//! Implements `envoy.service.auth.v3.Authorization/Check` (`ext_authz`), by which Envoy asks whether a request
//! may pass.
//!
//! - `request` reads Envoy's description of the request, and the requirement in the configuration of the route.
//! - `cookie` authenticates browsers by the session in their cookie, and redirects people to the sign-in page.
//! - `response` writes the answer: identity headers, a redirect, or the same error as the gateway's.
//!
//! Every outcome is sent as a `CheckResponse`, even an internal error. A gRPC error would let requests pass if
//! Envoy is configured with `failure_mode_allow`.

mod cookie;
pub(crate) mod request;
mod response;

use super::{AuthGrpc, RpcResult, authorize::count_bearer};
use crate::{
    accounts::{AccountError, AuthenticatedUser, BasicCredentials, Requirement, TokenSource},
    audit,
    call_origin::CallOrigin,
    store::StoreError,
    user::User,
};
use request::{AuthorizationHeader, RequestAttributes, RequiredNames, parse_requirement};
use response::{Refusal, is_unauthenticated};
use rolegate_grpc_server::Call;
use rolegate_http_server::ignored_address::AddressHeader;
use rolegate_program::{log_limiter::LogLimiter, request_context::RequestContext};
use rolegate_proto::{
    Authorization, Reason,
    envoy_auth_v3::{CheckRequest, CheckResponse},
};
use secrecy::{ExposeSecret as _, SecretString};
use std::{sync::Arc, time::Duration};
use tokio::time::timeout_at;

/// Limits how often a warning about an invalid route is logged, because clients can send any number of requests
/// to such a route.
static INVALID_ROUTES: LogLimiter<()> = LogLimiter::silent_when_full(1, Duration::from_secs(1));

/// Limits the denials in the audit log to one line a minute for each user id and requirement, so that no user
/// can fill the log.
static DENIALS: LogLimiter<(i64, String)> =
    LogLimiter::evicting_when_full(10_000, Duration::from_mins(1));

/// Warns about client addresses that are ignored, because they come from an Envoy outside of
/// `TRUSTED_GATEWAYS`.
static IGNORED: AddressHeader =
    AddressHeader::new("source.address", "TRUSTED_GATEWAYS", "proxy of yours");

/// A request of Envoy's client, with the roles and groups that the configuration of its route requires.
#[derive(Clone, Copy)]
struct RouteRequest<'r> {
    attributes: RequestAttributes<'r>,
    /// The required roles and groups, as text from the configuration of the route.
    names: RequiredNames<'r>,
    /// The parsed `names`. If they are malformed, the request is refused only after its credentials were checked,
    /// as at the gateway.
    requirement: &'r Result<Requirement, AccountError>,
    origin: CallOrigin,
}

impl AuthGrpc {
    pub(super) async fn check(
        self: Arc<Self>,
        call: Call,
        message: CheckRequest,
    ) -> RpcResult<CheckResponse> {
        let mut origin = CallOrigin::from(&call);
        let context = message.attributes.unwrap_or_default();
        let attributes = RequestAttributes { context: &context };
        // The client of this check is Envoy's client, if Envoy is trusted to report its address.
        match attributes.source_address() {
            Some(address) if call.is_trusted() => origin.client_address = Some(address),
            Some(_) => IGNORED.ignore(origin.client_address),
            None => {}
        }
        let decide = RequestContext::with_client_address(
            origin.client_address,
            self.decide(attributes, origin),
        );
        // The answer must come before Envoy's own deadline, after which Envoy treats the check as failed.
        let decision = timeout_at(origin.deadline.into(), decide)
            .await
            .unwrap_or_else(|_| Err(AccountError::from(StoreError::TimedOut).into()));
        Ok(match decision {
            Ok(user) => response::allow(&user),
            Err(refusal) => response::deny(&refusal, self.allows_basic_challenge(attributes)),
        })
    }

    async fn decide(
        &self,
        attributes: RequestAttributes<'_>,
        origin: CallOrigin,
    ) -> Result<User, Refusal> {
        let names = attributes.required_names();
        if names.is_missing() {
            warn_of_route(attributes);
            return Err(AccountError::from(Reason::RoleInsufficient).into());
        }
        let is_cookie_only = attributes
            .is_cookie_only()
            .inspect_err(|_| warn_of_route(attributes))?;
        let requirement = parse_requirement(names);
        let route = RouteRequest {
            attributes,
            names,
            requirement: &requirement,
            origin,
        };
        // If only cookies count on this route, the header is meant for the application and is ignored here.
        let authorization = if is_cookie_only {
            AuthorizationHeader::Missing
        } else {
            attributes.authorization()
        };
        // The rare branches are boxed. Otherwise, the future of every check would be as large as the future of
        // a password check.
        let authenticated = match authorization {
            AuthorizationHeader::Valid(Authorization::Bearer(token)) => self
                .authenticate(route, TokenSource::Bearer, token.expose_secret())
                .await
                .map_err(Refusal::from),
            AuthorizationHeader::Valid(Authorization::Basic { username, password }) => {
                Box::pin(self.verify_basic(route, username, password)).await
            }
            // An `Authorization` header takes precedence over cookies, even if it is invalid.
            AuthorizationHeader::Invalid => return Err(Refusal::NotAuthenticated),
            AuthorizationHeader::Missing => Box::pin(self.authenticate_by_cookie(route)).await,
        };
        if let Err(Refusal::Error(error)) = &authenticated
            && error.reason() == Reason::RequestInvalid
        {
            // The requirement names a role or a group that does not exist.
            warn_of_route(attributes);
        }
        let authenticated = authenticated?;
        let required = match requirement {
            Ok(ref required) => required,
            Err(error) => {
                warn_of_route(attributes);
                return Err(error.into());
            }
        };
        let user = authenticated.user;
        match required.refusal(&user, authenticated.ineffective_role) {
            None => Ok(user),
            Some(reason) => Err(self.refuse(route, &user, reason)),
        }
    }

    /// Logs the denial of an authenticated user, unless [`DENIALS`] suppresses the line, and returns the
    /// refusal. If a browser opens a page, the refusal is a page that explains the reason.
    fn refuse(&self, route: RouteRequest<'_>, user: &User, reason: Reason) -> Refusal {
        if DENIALS.claim((user.id, format!("{:?}", route.names))) {
            let target = route.attributes.target();
            let shown = target.host_and_path();
            let RequiredNames { roles, groups } = route.names;
            audit::log_access_denial(user, target.method, &shown, roles, groups, reason);
        }
        let error = AccountError::from(reason);
        match self.interstitial(route.attributes, user, reason) {
            Some(page) => Refusal::Interstitial(error, page),
            None => error.into(),
        }
    }

    /// Checks a token, and that the names in the requirement exist. Whether the bearer meets the requirement is
    /// checked later, so that the audit log can name a bearer who does not.
    async fn authenticate(
        &self,
        route: RouteRequest<'_>,
        source: TokenSource,
        token: &str,
    ) -> Result<AuthenticatedUser, AccountError> {
        let requirement = route.parsed_requirement();
        let authorizer = &self.services.authorizer;
        let bearer = authorizer.authenticate(source, token, requirement).await;
        count_bearer(bearer, route.requirement)
    }

    /// Verifies the credentials of HTTP Basic. A browser sends a remembered password with every request, even a
    /// wrong one. If a browser opens a page with a wrong password, the session in the cookie counts instead.
    async fn verify_basic(
        &self,
        route: RouteRequest<'_>,
        username: String,
        password: SecretString,
    ) -> Result<AuthenticatedUser, Refusal> {
        if route.attributes.is_cross_site_change() {
            route.log_cross_site_denial();
            return Err(Refusal::CrossSite);
        }
        let verify = self
            .services
            .authenticator
            .verify_credentials(BasicCredentials {
                username,
                password,
                accept_api_keys: true,
                requirement: route.parsed_requirement().clone(),
                origin: route.origin,
            });
        let error = match verify.await {
            Ok(user) => return Ok(user),
            Err(error) => error,
        };
        if !is_unauthenticated(&error) || !self.is_page_of_person(route.attributes) {
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
            route.log_cross_site_denial();
        }
        outcome
    }
}

impl RouteRequest<'_> {
    /// Returns the requirement for the check of the credentials. A malformed one is reported after this check.
    fn parsed_requirement(&self) -> &Requirement {
        match self.requirement {
            Ok(requirement) => requirement,
            Err(_) => &Requirement::AnyAuthenticated,
        }
    }

    /// Logs the refusal of a request that changes something and that another site may have caused.
    fn log_cross_site_denial(self) {
        let target = self.attributes.target();
        let RequiredNames { roles, groups } = self.names;
        audit::log_cross_site_denial(target.method, &target.host_and_path(), roles, groups);
    }
}

/// Warns, at most once a second, that the configuration of the route is invalid: `roles` and `groups` are missing or
/// name one that does not exist, or `credentials` has an unknown value.
fn warn_of_route(attributes: RequestAttributes<'_>) {
    if INVALID_ROUTES.claim(()) {
        let target = attributes.target();
        tracing::warn!(
            host = target.host,
            path = target.path,
            roles = attributes.required_names().roles,
            groups = attributes.required_names().groups,
            credentials = attributes.credentials_setting(),
            "ext_authz: refused, because the context_extensions of this route are invalid: set roles to \
             names such as \"author,admin\", or to \"*\" for any user, or set groups to names of groups; \
             leave credentials out, or set it to \"cookie\""
        );
    }
}
