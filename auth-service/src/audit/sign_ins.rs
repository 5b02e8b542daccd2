//! The events of sign-ins, uses of API keys and refusals, which strangers can cause. Their log lines are bounded
//! here, their rows of the record by `sign_in_rows`.

use super::{Details, Entry};
use crate::{opaque_token::TokenBearer, user::User};
use rolegate_http_server::clients::client_key;
use rolegate_proto::{Reason, http::HttpReason};
use rolegate_telemetry::{audit_line, log_limiter::LogLimiter, request_context::RequestContext};
use std::{net::IpAddr, time::Duration};

const MINUTE: Duration = Duration::from_mins(1);

/// A key has one line in a minute for each client: an IPv4 address or an IPv6 /64. A minute has this many lines at
/// most, so that no flood fills the log or the memory.
static KEY_USES: LogLimiter<(i64, IpAddr)> = LogLimiter::silent_when_full(1000, MINUTE);
static KEY_REFUSALS: LogLimiter<(i64, IpAddr)> = LogLimiter::silent_when_full(1000, MINUTE);
/// Any client can present unknown keys, which must not hide refusals of the others.
static UNKNOWN_KEYS: LogLimiter<IpAddr> = LogLimiter::silent_when_full(60, MINUTE);
/// Limits the lines about requests from pages of other sites: strangers have any number of addresses and paths, as at the
/// gateway.
static CROSS_SITE_DENIALS: LogLimiter<(String, String)> = LogLimiter::silent_when_full(60, MINUTE);

/// Logs a correct password. `method` is what it was checked for.
pub(crate) fn log_login(user: &User, method: &'static str) -> Entry {
    let details = Details {
        method: Some(method),
        ..Details::default()
    };
    let mut entry = Entry::in_current_request("login_ok", Some(user), details);
    entry.by_owner = true;
    entry.log();
    entry
}

/// Logs a password that was wrong or not checked.
pub(crate) fn log_login_failure(
    user: Option<&User>,
    method: &'static str,
    reason: &'static str,
) -> Entry {
    let details = Details {
        method: Some(method),
        reason: Some(reason),
        ..Details::default()
    };
    let entry = Entry::in_current_request("login_failed", user, details);
    entry.log();
    entry
}

/// Logs the use of a valid key, which gets no row.
pub(crate) fn log_api_key_use(key: &TokenBearer) {
    let client = client_key(RequestContext::client_address());
    if KEY_USES.claim((key.token_id, client)) {
        let details = Details {
            key_id: Some(key.token_id),
            ..Details::default()
        };
        Entry::in_current_request("api_key_used", Some(&key.user), details).log();
    }
}

/// The refusal of a key; `None` for an unknown one. It is for the caller to log.
pub(crate) fn api_key_refusal(key: Option<&TokenBearer>) -> Entry {
    let user = key.map(|key| &key.user);
    let reason = match user {
        None => "unknown",
        Some(user) if user.disabled => "disabled",
        Some(_) => "expired",
    };
    let details = Details {
        key_id: key.map(|key| key.token_id),
        reason: Some(reason),
        ..Details::default()
    };
    Entry::in_current_request("api_key_refused", user, details)
}

/// Whether the line of this refusal of a key is due, which counts it as written.
pub(crate) fn is_key_refusal_due(refusal: &Entry) -> bool {
    let client = client_key(refusal.client_address);
    match refusal.details.key_id {
        Some(key_id) => KEY_REFUSALS.claim((key_id, client)),
        None => UNKNOWN_KEYS.claim(client),
    }
}

/// Logs the refusal of a password link, without its token.
pub(crate) fn log_password_link_refusal(user: Option<&User>, reason: &'static str) -> Entry {
    let details = Details {
        reason: Some(reason),
        ..Details::default()
    };
    let entry = Entry::in_current_request("password_link_refused", user, details);
    entry.log();
    entry
}

/// The number of refusals that are not rows of the record. It is for the caller to log.
pub(crate) fn unrecorded_refusals(count: u64) -> Entry {
    Entry {
        event: "refusals_not_recorded",
        details: Details {
            count: Some(count),
            ..Details::default()
        },
        ..Entry::default()
    }
}

/// Records in the log that a proxy was told to refuse a request of this user, and why. `route` is host and path,
/// without the query.
pub(crate) fn log_access_denial(
    actor: &User,
    method: &str,
    route: &str,
    required_roles: &str,
    reason: Reason,
) {
    audit_line!(
        "access_denied",
        actor_id = actor.id,
        actor = actor.username,
        method,
        route,
        required_roles,
        reason = reason.as_str(),
    );
}

/// Records in the log that a proxy was told to refuse a request that a page of another site may have caused. Nobody is
/// named, because the session in the cookie was not looked up. `route` is host and path, without the query.
pub(crate) fn log_cross_site_denial(method: &str, route: &str, required_roles: &str) {
    let client = client_key(RequestContext::client_address()).to_string();
    if !CROSS_SITE_DENIALS.claim((client, format!("{method} {route}"))) {
        return;
    }
    let reason = HttpReason::CrossSite.as_str();
    audit_line!("access_denied", method, route, required_roles, reason);
}
