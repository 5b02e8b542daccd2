//! The calls that read the record, and the call that follows the changes of users.

use super::{
    AuthGrpc, RpcResult, call_origin::Call, message::timestamp, user_changes::UserChanges,
};
use crate::{
    accounts::{AuditPage, AuditRequest, Watcher},
    audit::AuditRow,
};
use rolegate_grpc_server::{actor, named_caller};
use rolegate_proto::auth_v1 as wire;
use tonic::Request;

impl From<wire::ListAuditRequest> for AuditRequest {
    fn from(request: wire::ListAuditRequest) -> Self {
        Self {
            user_id: request.user_id,
            actor_id: request.actor_id,
            event: request.event,
            after: request.after,
            size: request.page_size,
            own: request.own,
        }
    }
}

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

impl From<AuditPage> for wire::ListAuditResponse {
    fn from(page: AuditPage) -> Self {
        Self {
            entries: page.rows.into_iter().map(Into::into).collect(),
            next_after: page.next_after,
            incomplete: !page.is_complete,
        }
    }
}

impl AuthGrpc {
    /// Returns the caller who wants to follow the changes of users: the bearer of the token in the call or,
    /// without a token, the service that the client certificate names. The token counts first, so that a
    /// service can use fewer permissions than its certificate gives it. A caller with neither has an empty
    /// token, which `accounts` refuses.
    fn watcher<M>(&self, request: &Request<M>) -> Watcher {
        let token = actor::optional_token(request.metadata());
        if token.is_none()
            && let Some(service) = named_caller(request.extensions(), &self.watchers)
        {
            return Watcher::Service(service);
        }
        Watcher::Bearer(token.unwrap_or_default().to_owned().into())
    }

    pub(super) async fn list_audit(
        &self,
        call: &Call,
        message: wire::ListAuditRequest,
    ) -> RpcResult<AuditPage> {
        self.accounts.list_audit(call.actor(), message.into()).await
    }

    pub(super) async fn watch_users(
        &self,
        request: Request<wire::WatchUsersRequest>,
    ) -> RpcResult<UserChanges> {
        let watcher = self.watcher(&request);
        let start = request.get_ref().try_into();
        let items = self.accounts.watch_users(watcher, start?).await?;
        Ok(UserChanges::new(items))
    }
}
