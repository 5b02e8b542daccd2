//! Who did what to which post: one line for each act, written as those of auth-service are. Never a
//! word of a title or a content.

use rolegate_auth_client::User;
use rolegate_telemetry::audit_line;

/// What was done to a post.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum PostAction {
    /// It was created.
    Created,
    /// Its title and content were replaced.
    Updated,
    /// It was deleted.
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

/// Tells that `actor` has done this to the post with this id, which `author_id` wrote.
pub fn record(action: PostAction, actor: &User, post_id: i64, author_id: i64) {
    audit_line!(action.event(), post_id, author_id, actor_id = actor.id, actor = actor.username);
}
