//! The query of `/authorize`, which the operator wrote into the configuration of a proxy.

use crate::extract::query_params::{QueryParams, invalid_query};
use http::StatusCode;
use rolegate_auth_client::axum::ApiError;
use rolegate_telemetry::log_once::LogOnce;
use std::time::Duration;

/// The greatest number of characters of the names in the log.
const MAX_LOGGED_CHARS: usize = 200;

/// Limits the log of lists with names of no role.
static UNKNOWN_ROLE_LISTS: LogOnce<String> = LogOnce::with_max_lines(10, Duration::from_mins(1));

/// The query of `/authorize`.
#[derive(Debug)]
pub(crate) struct AuthorizeQuery {
    /// The names of the roles of which one is required; `None` for any user.
    pub(crate) roles: Option<String>,
    /// The status of redirects.
    pub(crate) redirect_status: StatusCode,
    /// Whether only the session in the cookie counts.
    pub(crate) cookie_only: bool,
}

impl AuthorizeQuery {
    /// Reads the query. A misspelt parameter must not admit every user, so unknown ones are refused.
    pub(crate) fn read(query: &QueryParams) -> Result<Self, ApiError> {
        query.expect_only(&["roles", "redirect_status", "credentials"])?;
        let redirect_status = match query.one_of("redirect_status", ["303", "401"])? {
            Some("401") => StatusCode::UNAUTHORIZED,
            _ => StatusCode::SEE_OTHER,
        };
        let cookie_only = query.one_of("credentials", ["cookie"])?.is_some();
        Ok(Self {
            roles: query.get("roles")?.map(str::to_owned),
            redirect_status,
            cookie_only,
        })
    }

    /// The error for names of no role. They are a mistake in the configuration of a proxy, whose operator may see only
    /// the log.
    pub(super) fn roles_error(&self) -> ApiError {
        let names = self.roles.as_deref().unwrap_or_default();
        let names: String = names.chars().take(MAX_LOGGED_CHARS).collect();
        if UNKNOWN_ROLE_LISTS.is_due(names.clone()) {
            tracing::warn!(roles = ?names, "/authorize was asked for names of no role");
        }
        invalid_query("Query parameter \"roles\" must be names of roles, separated by commas.")
    }
}
