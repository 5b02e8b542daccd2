//! Sign-ins, uses of API keys, and refusals: outside of transactions, and bounded.

use super::{Details, Entry};
use crate::{opaque_token::TokenBearer, user::User};
use rolegate_proto::Reason;
use rolegate_telemetry::{audit_line, log_once::LogOnce, request_context::RequestContext};
use std::{net::IpAddr, time::Duration};

const MINUTE: Duration = Duration::from_mins(1);

/// Keys have one line in a minute for each key and client address, if that is known. A minute has this many
/// lines at most, so that no flood fills the log or the memory.
static KEY_USES: LogOnce<(i64, Option<IpAddr>)> = LogOnce::at_most(1000, MINUTE);
static KEY_REFUSALS: LogOnce<(i64, Option<IpAddr>)> = LogOnce::at_most(1000, MINUTE);
/// Any client can present unknown keys, which must not hide refusals of the others.
static UNKNOWN_KEYS: LogOnce<Option<IpAddr>> = LogOnce::at_most(60, MINUTE);
/// Rows of the record stay for months: a flood of refusals must not fill the disk, nor those without a user
/// hide the others.
static LOGIN_ROWS: LogOnce<(i64, Option<IpAddr>, &str)> = LogOnce::at_most(3000, MINUTE);
static REFUSAL_ROWS: LogOnce<(i64, Option<IpAddr>, &str)> = LogOnce::at_most(60, MINUTE);
static UNKNOWN_ROWS: LogOnce<(Option<IpAddr>, &str)> = LogOnce::at_most(60, MINUTE);

/// Records a right password; the row, if one is due. `method` is what it was checked for.
pub(crate) fn login_ok(user: &User, method: &'static str) -> Option<Entry> {
    let details = Details {
        method: Some(method),
        ..Details::default()
    };
    let entry = Entry {
        by_owner: true,
        ..Entry::now("login_ok", Some(user), details)
    };
    entry.log();
    LOGIN_ROWS
        .is_due((user.id, entry.client_address, method))
        .then_some(entry)
}

/// Records a password that was wrong or not checked; the row, if one is due.
pub(crate) fn login_failed(
    user: Option<&User>,
    method: &'static str,
    reason: &'static str,
) -> Option<Entry> {
    let details = Details {
        method: Some(method),
        reason: Some(reason),
        ..Details::default()
    };
    refused(Entry::now("login_failed", user, details), reason)
}

fn refused(entry: Entry, reason: &'static str) -> Option<Entry> {
    entry.log();
    let client = entry.client_address;
    let is_due = match entry.user_id {
        Some(id) => REFUSAL_ROWS.is_due((id, client, reason)),
        None => UNKNOWN_ROWS.is_due((client, reason)),
    };
    is_due.then_some(entry)
}

/// Records the use of a good key, in the log only.
pub(crate) fn api_key_used(key: &TokenBearer) {
    if KEY_USES.is_due((key.token_id, RequestContext::client_address())) {
        let details = Details {
            key_id: Some(key.token_id),
            ..Details::default()
        };
        Entry::now("api_key_used", Some(&key.user), details).log();
    }
}

/// Records the refusal of a key; `None` for an unknown one. The row, if one is due.
pub(crate) fn api_key_refused(key: Option<&TokenBearer>) -> Option<Entry> {
    let client = RequestContext::client_address();
    let is_due = match key {
        Some(key) => KEY_REFUSALS.is_due((key.token_id, client)),
        None => UNKNOWN_KEYS.is_due(client),
    };
    let user = key.map(|key| &key.user);
    let reason = match user {
        None => "unknown",
        Some(User { disabled: true, .. }) => "disabled",
        Some(_) => "expired",
    };
    let key_id = key.map(|key| key.token_id);
    let details = Details {
        key_id,
        reason: Some(reason),
        ..Details::default()
    };
    is_due
        .then(|| Entry::now("api_key_refused", user, details))
        .and_then(|it| refused(it, reason))
}

/// Records that a password link was refused; the row, if one is due. The token is in neither.
pub(crate) fn password_link_refused(user: Option<&User>, reason: &'static str) -> Option<Entry> {
    let event = "password_link_refused";
    let details = Details {
        reason: Some(reason),
        ..Details::default()
    };
    // The rows are counted by event: an unknown key of the same client must not hide an unknown link.
    refused(Entry::now(event, user, details), event)
}

/// Records in the log that a proxy was told to refuse a request of this user, and why. `route` is host and path,
/// without the query.
pub(crate) fn access_denied(
    actor: &User,
    method: &str,
    route: &str,
    required_roles: &str,
    reason: Reason,
) {
    let reason = reason.as_str();
    let (actor_id, actor) = (actor.id, &*actor.username);
    audit_line!(
        "access_denied",
        actor_id,
        actor,
        method,
        route,
        required_roles,
        reason
    );
}
