//! Converts the stream of the changes of users into the messages of `WatchUsers`.

use super::message::seconds;
use crate::accounts::{WatchItem, WatchItems};
use futures_util::Stream;
use rolegate_proto::auth_v1::{self as wire, watch_users_response::Item};
use std::{
    pin::Pin,
    task::{Context, Poll, ready},
};
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
            }),
            WatchItem::Progress(position) => Item::Progress(wire::WatchProgress {
                revision: position.revision,
                seal: position.seal.map(|seal| seal.to_string()),
            }),
        };
        Self { item: Some(item) }
    }
}

/// The stream of messages that `WatchUsers` answers with. It ends only with an error.
pub(crate) struct UserChanges {
    /// The items of the use case; `None` after the error that ends the stream.
    items: Option<WatchItems>,
}

impl UserChanges {
    pub(super) fn new(items: WatchItems) -> Self {
        Self { items: Some(items) }
    }
}

impl Stream for UserChanges {
    type Item = Result<wire::WatchUsersResponse, Status>;

    fn poll_next(mut self: Pin<&mut Self>, cx: &mut Context<'_>) -> Poll<Option<Self::Item>> {
        let Some(items) = &mut self.items else {
            return Poll::Ready(None);
        };
        let error = match ready!(items.poll_next(cx)) {
            Some(Ok(item)) => return Poll::Ready(Some(Ok(item.into()))),
            Some(Err(error)) => Status::from(error),
            None => Status::unavailable("this replica is stopping; continue at another one"),
        };
        self.items = None;
        Poll::Ready(Some(Err(error)))
    }
}
