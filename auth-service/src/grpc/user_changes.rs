//! The call that follows the changes of users, and the messages of its stream.

use super::{
    AuthGrpc, RpcResult,
    message::{seconds, timestamp},
};
use crate::{
    accounts::{AccountError, WatchItem, WatchStart, Watcher},
    group::Membership,
};
use futures_util::{Stream, StreamExt as _, stream};
use rolegate_grpc_server::Call;
use rolegate_proto::auth_v1::{self as wire, watch_users_response::Item};
use std::{future::ready, sync::Arc};
use tonic::Status;

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
                groups: Some(user_groups(&change.memberships)),
                until: change.until.map(seconds),
            }),
            WatchItem::Progress(position) => Item::Progress(wire::WatchProgress {
                revision: position.revision,
                seal: position.seal.map(|seal| seal.to_string()),
            }),
        };
        Self { item: Some(item) }
    }
}

fn user_groups(memberships: &[Membership]) -> wire::UserGroups {
    let groups = memberships.iter().map(|membership| wire::UserGroup {
        id: 0,
        name: membership.group.to_string(),
        until: membership.until.map(timestamp),
    });
    wire::UserGroups {
        groups: groups.collect(),
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

    /// Opens the stream of the changes of users, which ends only with an error. tonic reads nothing after an error, so
    /// one of the stream's task is the last item.
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
