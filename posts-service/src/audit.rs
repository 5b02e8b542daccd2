//! The audit log: one line for each write. It never contains a title or content.

use rolegate_auth_client::User;
use rolegate_sql_store::StoreError;
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

/// Passes the outcome of a write on. If the database has not answered its commit, the write may be made
/// after `actor` was answered, so the audit log names it.
pub fn unknown_recorded<T>(
    outcome: Result<T, StoreError>,
    action: PostAction,
    actor: &User,
    post_id: Option<i64>,
) -> Result<T, StoreError> {
    if outcome.as_ref().is_err_and(StoreError::is_outcome_unknown) {
        let (change, actor_id) = (action.event(), actor.id);
        audit_line!("outcome_unknown", change, post_id, actor_id, actor = actor.username);
    }
    outcome
}

/// Records that `actor` wrote the post `post_id` of `author_id`.
pub fn record(action: PostAction, actor: &User, post_id: i64, author_id: i64) {
    audit_line!(action.event(), post_id, author_id, actor_id = actor.id, actor = actor.username);
}
