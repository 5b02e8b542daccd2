//! The record of what happened, and the changes of users, as messages.

use super::{
    AuthGrpc, RpcResult,
    message::{seconds, timestamp},
};
use crate::{
    accounts::{AccountError, AuditPage, AuditRequest, WatchItem, WatchItems, WatchStart, Watcher},
    store::AuditRow,
};
use futures_util::Stream;
use rolegate_grpc_server::{actor, named_caller};
use rolegate_proto::auth_v1::{self as wire, watch_users_response::Item};
use std::{
    pin::Pin,
    task::{Context, Poll, ready},
};
use tonic::{Request, Response, Status};

impl From<wire::ListAuditRequest> for AuditRequest {
    fn from(request: wire::ListAuditRequest) -> Self {
        let wire::ListAuditRequest {
            user_id,
            actor_id,
            event,
            after,
            page_size,
            own,
        } = request;
        Self {
            user_id,
            actor_id,
            event,
            after,
            size: page_size,
            own,
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

pub(super) fn page(page: AuditPage) -> wire::ListAuditResponse {
    wire::ListAuditResponse {
        entries: page.rows.into_iter().map(Into::into).collect(),
        next_after: page.next_after,
        incomplete: !page.is_complete,
    }
}

impl From<WatchItem> for wire::WatchUsersResponse {
    fn from(item: WatchItem) -> Self {
        let item = match item {
            WatchItem::Change(change) => Item::Change(wire::UserChange {
                revision: change.revision,
                user_id: change.user_id,
                username: change.username,
                role_name: change.role.to_string(),
                disabled: change.disabled,
                deleted: change.deleted,
                seal: change.seal.map(|seal| seal.to_string()),
                created_at: change.created_at.map(seconds),
            }),
            WatchItem::Progress { revision, seal } => Item::Progress(wire::WatchProgress {
                revision,
                seal: seal.map(|seal| seal.to_string()),
            }),
        };
        Self { item: Some(item) }
    }
}

impl TryFrom<&wire::WatchUsersRequest> for WatchStart {
    type Error = AccountError;

    fn try_from(request: &wire::WatchUsersRequest) -> Result<Self, AccountError> {
        let rule = "seal must be one of this service";
        let seal = request.seal.as_ref().map(|seal| seal.parse());
        Ok(Self {
            revision: request.from_revision,
            seal: seal.transpose().map_err(|_| AccountError::request(rule))?,
        })
    }
}

impl AuthGrpc {
    /// A token that is sent counts, so that a service can act for less than it may.
    pub(super) fn watcher<M>(&self, request: &Request<M>) -> Watcher {
        let token = actor::optional_token(request.metadata());
        match (token, named_caller(request.extensions(), &self.watchers)) {
            (None, Some(service)) => Watcher::Service(service),
            (token, _) => Watcher::Bearer(token.unwrap_or_default().to_owned().into()),
        }
    }

    pub(super) async fn list_audit(
        &self,
        request: Request<wire::ListAuditRequest>,
    ) -> RpcResult<wire::ListAuditResponse> {
        let (metadata, _, message) = request.into_parts();
        let found = self
            .accounts
            .list_audit(actor::token(&metadata), message.into())
            .await?;
        Ok(Response::new(page(found)))
    }

    pub(super) async fn watch_users(
        &self,
        request: Request<wire::WatchUsersRequest>,
    ) -> RpcResult<UserChanges> {
        let watcher = self.watcher(&request);
        let start = request.get_ref().try_into();
        let items = self.accounts.watch_users(watcher, start?).await?;
        Ok(Response::new(UserChanges::new(items)))
    }
}

/// The items of a stream. It ends only with an error.
pub(crate) struct UserChanges(Option<WatchItems>);

impl UserChanges {
    pub(super) fn new(items: WatchItems) -> Self {
        Self(Some(items))
    }
}

impl Stream for UserChanges {
    type Item = Result<wire::WatchUsersResponse, Status>;

    fn poll_next(mut self: Pin<&mut Self>, cx: &mut Context<'_>) -> Poll<Option<Self::Item>> {
        let Some(items) = &mut self.0 else {
            return Poll::Ready(None);
        };
        let item = ready!(items.poll_next(cx));
        Poll::Ready(Some(match item {
            Some(Ok(item)) => Ok(item.into()),
            ended => {
                self.0 = None;
                let stopping = Status::unavailable("the replica stops; go on at another one");
                Err(ended.and_then(Result::err).map_or(stopping, Status::from))
            }
        }))
    }
}
