//! The calls that read the record, and the call that follows the changes of users.

use super::{AuthGrpc, RpcResult, message::timestamp};
use crate::{
    accounts::{AccountError, AuditRequest, WatchStart, Watcher},
    audit::AuditRow,
};
use futures_util::{Stream, StreamExt as _, stream};
use rolegate_grpc_server::Call;
use rolegate_proto::auth_v1 as wire;
use std::{future::ready, sync::Arc};
use tonic::Status;

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
    /// Returns the caller who wants to follow the changes of users: the bearer of the token in the call or,
    /// without a token, the service that the client certificate names. The token counts first, so that a
    /// service can use fewer permissions than its certificate gives it. A caller with neither has an empty
    /// token, which `accounts` refuses.
    fn watcher(&self, call: &Call) -> Watcher {
        let token = call.optional_credential();
        if token.is_none()
            && let Some(service) = call.caller_name(&self.watchers)
        {
            return Watcher::Service(service);
        }
        Watcher::Bearer(token.unwrap_or_default().to_owned().into())
    }

    pub(super) async fn list_audit(
        self: Arc<Self>,
        call: Call,
        message: wire::ListAuditRequest,
    ) -> RpcResult<wire::ListAuditResponse> {
        let request = AuditRequest {
            user_id: message.user_id,
            actor_id: message.actor_id,
            event: message.event,
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
        })
    }

    /// The stream ends only with an error.
    pub(super) async fn watch_users(
        self: Arc<Self>,
        call: Call,
        message: wire::WatchUsersRequest,
    ) -> RpcResult<impl Stream<Item = Result<wire::WatchUsersResponse, Status>>> {
        let watcher = self.watcher(&call);
        let seal = message
            .seal
            .map(|seal| seal.parse())
            .transpose()
            .map_err(|_| AccountError::invalid_request("seal must come from this service"))?;
        let start = WatchStart {
            revision: message.from_revision,
            seal,
        };
        let items = self.services.record.watch_users(watcher, start).await?;
        let messages = items.map(|item| Ok(item?.into()));
        let stopping = Status::unavailable("this replica is stopping; continue at another one");
        Ok(messages.chain(stream::once(ready(Err(stopping)))))
    }
}
