//! Reads the record of changes, sign-ins and refusals.

use super::ActingClient;
use crate::connections::Client;
use rolegate_grpc_client::CallError;
use rolegate_proto::auth_v1::ListAuditRequest;

pub use rolegate_proto::auth_v1::AuditEntry;

/// Selects a page of the record. The default selects the newest entries about all users.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub struct AuditQuery {
    /// Restricts the page to entries about this user; `None` for all.
    pub user_id: Option<i64>,
    /// Restricts the page to events that this user caused; `None` for all.
    pub actor_id: Option<i64>,
    /// Restricts the page to the event with this name; empty for all events.
    pub event: String,
    /// The [`AuditPage::next`] of the previous page; `None` for the newest entries.
    pub after: Option<i64>,
    /// The size of the page, 1 to 200; `None` for 50.
    pub limit: Option<u16>,
    /// Restricts the page to entries about the bearer, who then need not be an admin.
    pub own: bool,
}

/// A page of the record, newest entries first.
#[derive(Clone, Debug, PartialEq)]
pub struct AuditPage {
    /// The entries by descending revision.
    pub entries: Vec<AuditEntry>,
    /// The value of `after` that requests the next page; `None` on the last page.
    pub next: Option<i64>,
    /// True if the first page may lack entries that were written before the request.
    pub incomplete: bool,
}

impl ActingClient {
    /// Returns a page of the record. The bearer must be an admin, unless [`AuditQuery::own`] is set.
    pub async fn list_audit(&self, query: AuditQuery) -> Result<AuditPage, CallError> {
        let request = ListAuditRequest {
            user_id: query.user_id,
            actor_id: query.actor_id,
            event: query.event,
            after: query.after,
            page_size: query.limit.map_or(0, i32::from),
            own: query.own,
        };
        let response = self.read(request, Client::list_audit).await?;
        Ok(AuditPage {
            entries: response.entries,
            next: response.next_after,
            incomplete: response.incomplete,
        })
    }
}
