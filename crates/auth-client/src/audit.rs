//! The record of what happened, as auth-service returns it.

use crate::session::time;
use rolegate_grpc_client::CallError;
use rolegate_proto::auth_v1;
use std::time::SystemTime;

/// Selects a page of the record; the default is the newest of all.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub struct AuditQuery {
    /// Only about this user.
    pub user_id: Option<i64>,
    /// Only by this user.
    pub actor_id: Option<i64>,
    /// Only this event; empty for all.
    pub event: String,
    /// The `next` of the page before.
    pub after: Option<i64>,
    /// 1 to 200; `None` for 50.
    pub limit: Option<u16>,
    /// Only about the bearer, who then need not be an admin.
    pub own: bool,
}

/// A page of the record, the newest first.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct AuditPage {
    /// By descending revision.
    pub entries: Vec<AuditEntry>,
    /// The `after` of the next page; `None` on the last page.
    pub next: Option<i64>,
}

/// What happened once. What is unknown, erased or not for the bearer is `None`.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct AuditEntry {
    /// In the order of the commits, without gaps.
    pub revision: i64,
    /// To the second.
    pub time: SystemTime,
    /// Such as `role_changed`.
    pub event: String,
    /// The user to whom it happened.
    pub user_id: Option<i64>,
    /// The name that the user had.
    pub username: Option<String>,
    /// Who did it.
    pub actor_id: Option<i64>,
    /// The name that the actor had.
    pub actor: Option<String>,
    /// The API key by which the actor did it.
    pub actor_key: Option<i64>,
    /// The session by which the actor did it.
    pub actor_session: Option<i64>,
    /// The address of the client.
    pub client_address: Option<String>,
    /// The id of the request; several, separated by commas, where requests shared a call.
    pub request_id: Option<String>,
    /// A JSON object of what changed.
    pub details: String,
}

impl TryFrom<auth_v1::ListAuditResponse> for AuditPage {
    type Error = CallError;

    fn try_from(response: auth_v1::ListAuditResponse) -> Result<Self, CallError> {
        let entries = response.entries.into_iter().map(TryInto::try_into);
        Ok(Self { entries: entries.collect::<Result<_, _>>()?, next: response.next_after })
    }
}

impl TryFrom<auth_v1::AuditEntry> for AuditEntry {
    type Error = CallError;

    fn try_from(entry: auth_v1::AuditEntry) -> Result<Self, CallError> {
        Ok(Self {
            revision: entry.revision,
            time: time(entry.time)?,
            event: entry.event,
            user_id: entry.user_id,
            username: entry.username,
            actor_id: entry.actor_id,
            actor: entry.actor,
            actor_key: entry.actor_key,
            actor_session: entry.actor_session,
            client_address: entry.client_address,
            request_id: entry.request_id,
            details: entry.details,
        })
    }
}
