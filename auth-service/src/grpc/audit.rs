//! The call that reads the record.

use super::{AuthGrpc, RpcResult, message::timestamp};
use crate::{
    accounts::AuditRequest,
    audit::{AuditRow, EventGroup},
};
use rolegate_grpc_server::Call;
use rolegate_proto::{auth_v1 as wire, time::ceil_seconds};
use std::sync::Arc;

impl From<AuditRow> for wire::AuditEntry {
    fn from(row: AuditRow) -> Self {
        let details = row.readable_details();
        Self {
            revision: row.revision,
            time: Some(timestamp(row.at.try_into().unwrap_or_default())),
            event: row.event,
            user_id: row.user_id,
            username: row.username,
            actor_id: row.actor_id,
            actor: row.actor,
            actor_key: row.actor_key,
            actor_session: row.actor_session,
            client_address: row.client_address,
            request_id: row.request_id,
            details,
        }
    }
}

impl AuthGrpc {
    pub(super) async fn list_audit(
        self: Arc<Self>,
        call: Call,
        message: wire::ListAuditRequest,
    ) -> RpcResult<wire::ListAuditResponse> {
        let events = match message.event_group() {
            wire::EventGroup::Unspecified => None,
            wire::EventGroup::SignIns => Some(EventGroup::SignIns),
            wire::EventGroup::Changes => Some(EventGroup::Changes),
            wire::EventGroup::Refusals => Some(EventGroup::Refusals),
        };
        let request = AuditRequest {
            user_id: message.user_id,
            actor_id: message.actor_id,
            event: message.event,
            username: message.username,
            actor: message.actor_username,
            events,
            has_unknown_events: wire::EventGroup::try_from(message.event_group).is_err(),
            since: message.since.map(ceil_seconds),
            before: message.before.map(ceil_seconds),
            after: message.after,
            size: message.page_size,
            own: message.own,
        };
        let page = self
            .services
            .record
            .list_audit(call.credential(), request)
            .await?;
        Ok(wire::ListAuditResponse {
            entries: page.rows.into_iter().map(Into::into).collect(),
            next_after: page.next_after,
            incomplete: !page.is_complete,
            follows_request: true,
        })
    }
}
