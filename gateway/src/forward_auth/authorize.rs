//! Serves `/authorize`, which decides whether a request to an application may pass.

use super::{credential_check::CredentialCheck, refusal::CookieOnly};
use crate::{
    extract::query_params::{QueryParams, invalid_query},
    middleware::drain_body,
    state::GatewayState,
};
use axum::{
    Extension,
    body::HttpBody as _,
    extract::{Request, State},
    response::{AppendHeaders, IntoResponse as _, Response},
};
use http::{HeaderMap, HeaderValue, StatusCode, header::CONNECTION};
use rolegate_auth_client::{
    CallContext, CallError, GroupName, Reason, Requirement, Role,
    axum::{ApiError, RequiredGroups, RequiredRoles},
};
use rolegate_program::log_limiter::LogLimiter;
use rolegate_proto::identity_headers::identity_headers;
use std::time::Duration;

/// The maximum number of characters that are logged of a list with unknown names.
const MAX_LOGGED_CHARS: usize = 200;

/// Limits how often a list with unknown names is logged: each list once a minute, and at most ten lists.
static UNKNOWN_NAME_LISTS: LogLimiter<String> =
    LogLimiter::silent_when_full(10, Duration::from_mins(1));

/// The query of `/authorize`, which the operator wrote into the configuration of a proxy.
pub(crate) struct AuthorizeQuery {
    /// The names of roles, separated by commas. The user needs one of them. Without roles and groups, any user passes.
    pub(crate) roles: Option<String>,
    /// The names of groups, separated by commas. The user needs one of them, or one of the roles.
    pub(crate) groups: Option<String>,
    /// The status of a redirect to the sign-in page.
    pub(crate) redirect_status: StatusCode,
    /// True if only the session in the cookie counts, because `Authorization` is meant for the application.
    pub(crate) cookie_only: bool,
}

impl AuthorizeQuery {
    /// Parses the query. Fails if a parameter is repeated or invalid, and also if it is unknown, because a misspelled
    /// name must not admit every user.
    pub(crate) fn read(query: &QueryParams) -> Result<Self, ApiError> {
        query.expect_only(&["roles", "groups", "redirect_status", "credentials"])?;
        let redirect_status = match query.one_of("redirect_status", ["303", "401"])? {
            Some("401") => StatusCode::UNAUTHORIZED,
            _ => StatusCode::SEE_OTHER,
        };
        let cookie_only = query.one_of("credentials", ["cookie"])?.is_some();
        Ok(Self {
            roles: query.get("roles")?.map(str::to_owned),
            groups: query.get("groups")?.map(str::to_owned),
            redirect_status,
            cookie_only,
        })
    }

    /// Returns the error for malformed or unknown names of `parameter`, and logs it. The cause is a mistake in the
    /// configuration of a proxy. Its operator may see only the log, because the proxy may not show the response.
    fn names_error(&self, parameter: NameParameter) -> ApiError {
        let (name, names) = match parameter {
            NameParameter::Roles => ("roles", &self.roles),
            NameParameter::Groups => ("groups", &self.groups),
        };
        let names = names.as_deref().unwrap_or_default();
        let names: String = names.chars().take(MAX_LOGGED_CHARS).collect();
        if UNKNOWN_NAME_LISTS.claim(format!("{name}={names}")) {
            tracing::warn!(
                parameter = name,
                ?names,
                "the query of /authorize names unknown roles or groups"
            );
        }
        invalid_query(format!(
            "Query parameter \"{name}\" must be names of {name}, separated by commas."
        ))
    }

    /// Parses the names. The error is the parameter with a malformed name.
    fn required_names(&self) -> Result<RequiredNames, NameParameter> {
        let roles = self.roles.as_deref().map(Role::parse_list).transpose();
        let groups = self
            .groups
            .as_deref()
            .map(GroupName::parse_list)
            .transpose();
        Ok(RequiredNames {
            roles: roles.map_err(|_| NameParameter::Roles)?,
            groups: groups.map_err(|_| NameParameter::Groups)?,
        })
    }
}

/// A parameter of the query that has names.
#[derive(Clone, Copy)]
enum NameParameter {
    Roles,
    Groups,
}

/// The roles and groups of a query; `None` for a parameter that is missing.
#[derive(Default)]
struct RequiredNames {
    roles: Option<Vec<Role>>,
    groups: Option<Vec<GroupName>>,
}

impl RequiredNames {
    fn requirement(&self) -> Requirement<'_> {
        if self.roles.is_none() && self.groups.is_none() {
            return Requirement::AnyAuthenticated;
        }
        Requirement::RolesOrGroups {
            roles: self.roles.as_deref().unwrap_or_default(),
            groups: self.groups.as_deref().unwrap_or_default(),
        }
    }
}

/// Decides whether a request may pass, whatever its method.
///
/// A request that may pass gets 200 with the identity headers and without a body. A browser without a valid credential
/// is redirected to the sign-in page. Every other request gets an error. The query has four optional parameters:
///
/// - `roles=author,admin`: the user needs one of these roles. Without roles and groups, any user passes.
/// - `groups=crew,staff`: the user needs to be in one of these groups, or to have one of the roles.
/// - `redirect_status=401`: a redirect is a 401 with `Location`, for proxies that pass on no other refusal.
/// - `credentials=cookie`: `Authorization` is ignored, and only the session in the cookie counts.
pub(super) async fn authorize(
    State(state): State<GatewayState>,
    Extension(context): Extension<CallContext>,
    query: Result<QueryParams, ApiError>,
    request: Request,
) -> Response {
    let mut response = match query.and_then(|query| AuthorizeQuery::read(&query)) {
        Ok(query) => decide(&state, context, &query, request.headers()).await,
        Err(error) => error.into_response(),
    };
    let body = request.into_body();
    if !body.is_end_stream() {
        // A proxy may announce the body of its client and never send it. The response does not wait for the body, and
        // bytes that arrive later must not be taken for the next request.
        response
            .headers_mut()
            .insert(CONNECTION, HeaderValue::from_static("close"));
        tokio::spawn(drain_body::drain(body, drain_body::DRAIN_TIMEOUT));
    }
    response
}

/// Checks the credentials of a request with a valid query, and returns the response.
///
/// The status of a refusal by auth-service follows from its reason, by [`Reason::http_status`]. For example, a disabled
/// user is refused like an unknown one, with 401.
///
/// With a malformed list of names, the credentials are checked first, and then every user is refused. auth-service
/// treats a name that is well-formed but unknown in the same way.
async fn decide(
    state: &GatewayState,
    context: CallContext,
    query: &AuthorizeQuery,
    headers: &HeaderMap,
) -> Response {
    let parsed = query.required_names();
    let malformed = parsed.as_ref().err().copied();
    let names = parsed.unwrap_or_default();
    let check = CredentialCheck {
        state,
        context,
        headers,
        cookie_only: query.cookie_only,
        redirect_status: query.redirect_status,
        requirement: names.requirement(),
        has_valid_names: malformed.is_none(),
    };
    match (check.run().await, malformed) {
        (Ok(_), Some(parameter)) => query.names_error(parameter).into_response(),
        // A proxy copies these headers to the application in place of the client's. `Remote-Email` is missing if the
        // username is not an email address. The proxy must then remove the client's header, as the shipped
        // configurations do. The values are printable ASCII, so none is invalid.
        (Ok(user), None) => {
            let identity = identity_headers(user.id, &user.username, user.role, &user.groups);
            AppendHeaders(identity).into_response()
        }
        (Err(mut refusal), _) => {
            // auth-service reports an unknown name as an invalid request.
            if is_invalid_request(&refusal) {
                let parameter = find_unknown_names(&check, &names).await;
                return query.names_error(parameter).into_response();
            }
            let extensions = refusal.extensions_mut();
            // `refusal::complete` reads this mark, and then adds no `Basic` challenge.
            if query.cookie_only {
                extensions.insert(CookieOnly);
            }
            // `denial_audit::record` reads the roles and groups for the audit log.
            if let Some(roles) = &names.roles {
                extensions.insert(RequiredRoles::of(roles));
            }
            if let Some(groups) = names.groups.as_deref().and_then(RequiredGroups::of) {
                extensions.insert(groups);
            }
            refusal
        }
    }
}

fn is_invalid_request(refusal: &Response) -> bool {
    let error = refusal.extensions().get::<CallError>();
    error.and_then(CallError::reason) == Some(Reason::RequestInvalid)
}

/// Finds out which parameter of a refused query has an unknown name. If the query has both, the decision is requested
/// once more with the roles alone, because auth-service does not tell which name is unknown.
async fn find_unknown_names(check: &CredentialCheck<'_>, names: &RequiredNames) -> NameParameter {
    let (Some(roles), Some(_)) = (&names.roles, &names.groups) else {
        return match names.roles {
            Some(_) => NameParameter::Roles,
            None => NameParameter::Groups,
        };
    };
    let check = CredentialCheck {
        requirement: Requirement::Roles(roles),
        ..*check
    };
    match check.run().await {
        Err(refusal) if is_invalid_request(&refusal) => NameParameter::Roles,
        _ => NameParameter::Groups,
    }
}
