//! Creates the entries of sign-ins, uses of API keys and refusals, and limits their lines in the audit log.
//!
//! Strangers can cause these events, so their number must be limited. The limits on log lines are in this file,
//! and `sign_in_rows` has the limits on rows of the record.

use super::{AuditRow, Entry};
use crate::{tokens::TokenBearer, user::User};
use rolegate_http_server::clients::client_key;
use rolegate_program::{audit_line, log_limiter::LogLimiter, request_context::RequestContext};
use rolegate_proto::{Reason, http::HttpReason};
use serde_json::json;
use std::{net::IpAddr, time::Duration};

const MINUTE: Duration = Duration::from_mins(1);

/// Limits the lines about uses of valid keys, so that no flood fills the log or the memory. Each key has one
/// line a minute for each client (an IPv4 address or an IPv6 /64). All keys together have at most 1000 lines a
/// minute.
static KEY_USES: LogLimiter<(i64, IpAddr)> = LogLimiter::silent_when_full(1000, MINUTE);
/// Limits the lines about refused keys that exist, in the same way as `KEY_USES` limits those about valid keys.
static KEY_REFUSALS: LogLimiter<(i64, IpAddr)> = LogLimiter::silent_when_full(1000, MINUTE);
/// Limits the lines about unknown keys: one line a minute for each client, and at most 60 for all clients.
/// These lines have a limit of their own, because any client can present unknown keys in any number and must
/// not hide the refusals of known keys.
static UNKNOWN_KEYS: LogLimiter<IpAddr> = LogLimiter::silent_when_full(60, MINUTE);
/// Limits the lines about requests that pages of other sites may have caused: one line a minute for each client
/// and route, and at most 60 in all. Strangers can send such requests from many addresses and to any number of
/// paths.
static CROSS_SITE_DENIALS: LogLimiter<(String, String)> = LogLimiter::silent_when_full(60, MINUTE);

/// Logs that a password was correct, and returns the entry for the record. `method` is the purpose of the
/// check, such as `basic`.
pub(crate) fn log_login(user: &User, method: &'static str) -> Entry {
    let details = json!({ "method": method });
    let mut entry = Entry::in_current_request("login_ok", Some(user), details);
    entry.set_owner_as_actor();
    entry.log();
    entry
}

/// Logs that a password was wrong or was not checked, and returns the entry for the record.
pub(crate) fn log_login_failure(
    user: Option<&User>,
    method: &'static str,
    reason: &'static str,
) -> Entry {
    let details = json!({ "method": method, "reason": reason });
    let entry = Entry::in_current_request("login_failed", user, details);
    entry.log();
    entry
}

/// Logs the use of a valid key, unless [`KEY_USES`] suppresses the line. A use gets no row in the record.
pub(crate) fn log_api_key_use(key: &TokenBearer) {
    let client = client_key(RequestContext::client_address());
    if KEY_USES.claim((key.token_id, client)) {
        let details = json!({ "key_id": key.token_id });
        Entry::in_current_request("api_key_used", Some(&key.user), details).log();
    }
}

/// Returns the entry of a refused key, which the caller logs. `key` is `None` if the key is unknown.
pub(crate) fn api_key_refusal(key: Option<&TokenBearer>) -> Entry {
    let user = key.map(|key| &key.user);
    let reason = match user {
        None => "unknown",
        Some(user) if user.disabled => "disabled",
        Some(_) => "expired",
    };
    let key_id = key.map(|key| key.token_id);
    let details = json!({ "key_id": key_id, "reason": reason });
    Entry::in_current_request("api_key_refused", user, details)
}

/// Returns whether the limits allow a line about this refusal of the current request now. If so, counts the line as
/// written.
pub(crate) fn is_key_refusal_due(refusal: &Entry) -> bool {
    let client = client_key(RequestContext::client_address());
    match refusal.details["key_id"].as_i64() {
        Some(key_id) => KEY_REFUSALS.claim((key_id, client)),
        None => UNKNOWN_KEYS.claim(client),
    }
}

/// Logs that a password link was refused, without its token, and returns the entry for the record.
pub(crate) fn log_password_link_refusal(user: Option<&User>, reason: &'static str) -> Entry {
    let details = json!({ "reason": reason });
    let entry = Entry::in_current_request("password_link_refused", user, details);
    entry.log();
    entry
}

/// Returns the summary entry of `count` refusals that got no row. The caller logs it.
pub(crate) fn unrecorded_refusals(count: u64) -> Entry {
    let row = AuditRow {
        event: "refusals_not_recorded".to_owned(),
        ..AuditRow::default()
    };
    Entry::new(row, json!({ "count": count }))
}

/// Logs that Envoy had to refuse a request of `actor`, with the reason. `route` is the host and the path
/// without the query. `required_roles` and `required_groups` are the texts in the configuration of the route.
pub(crate) fn log_access_denial(
    actor: &User,
    method: &str,
    route: &str,
    required_roles: Option<&str>,
    required_groups: Option<&str>,
    reason: Reason,
) {
    audit_line!(
        "access_denied",
        actor_id = actor.id,
        actor = actor.username,
        method,
        route,
        required_roles,
        required_groups,
        reason = reason.as_str(),
    );
}

/// Logs that Envoy had to refuse a request that a page of another site may have caused, unless
/// [`CROSS_SITE_DENIALS`] suppresses the line. The line names no user, because the credentials of the request
/// were not checked. `route` is the host and the path without the query.
pub(crate) fn log_cross_site_denial(
    method: &str,
    route: &str,
    required_roles: Option<&str>,
    required_groups: Option<&str>,
) {
    let client = client_key(RequestContext::client_address()).to_string();
    if !CROSS_SITE_DENIALS.claim((client, format!("{method} {route}"))) {
        return;
    }
    let reason = HttpReason::CrossSite.as_str();
    audit_line!(
        "access_denied",
        method,
        route,
        required_roles,
        required_groups,
        reason
    );
}
