//! The audit log: one line for each write. It never contains a title or content.

use rolegate_auth_client::User;
use rolegate_telemetry::audit_line;

/// A write to a post.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum PostAction {
    /// A new post was inserted.
    Created,
    /// Title and content were replaced.
    Updated,
    /// The post was deleted.
    Deleted,
}

impl PostAction {
    fn event(self) -> &'static str {
        match self {
            Self::Created => "post_created",
            Self::Updated => "post_updated",
            Self::Deleted => "post_deleted",
        }
    }
}

/// Records that `actor` wrote the post `post_id` of `author_id`.
pub fn record(action: PostAction, actor: &User, post_id: i64, author_id: i64) {
    audit_line!(action.event(), post_id, author_id, actor_id = actor.id, actor = actor.username);
}
