//! Converts the items of a stream of the changes of users into the messages of `WatchUsers`.

use super::message::seconds;
use crate::accounts::WatchItem;
use rolegate_proto::auth_v1::{self as wire, watch_users_response::Item};

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
