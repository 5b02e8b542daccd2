//! Refusals of what a page of another site may have caused.

use rolegate_http_server::clients::client_key;
use rolegate_proto::http::HttpReason;
use rolegate_telemetry::{audit_line, log_once::LogOnce, request_context::RequestContext};
use std::time::Duration;

const MINUTE: Duration = Duration::from_mins(1);

/// Strangers have any number of addresses and paths, as at the gateway.
static DENIALS: LogOnce<(String, String)> = LogOnce::at_most(60, MINUTE);

/// Records in the log that a proxy was told to refuse such a request. Nobody is named, because the session in the cookie
/// was not looked up. `route` is host and path, without the query.
pub(crate) fn log_cross_site_denial(method: &str, route: &str, required_roles: &str) {
    let client = client_key(RequestContext::client_address()).to_string();
    if !DENIALS.is_due((client, format!("{method} {route}"))) {
        return;
    }
    let reason = HttpReason::CrossSite.as_str();
    audit_line!("access_denied", method, route, required_roles, reason);
}
