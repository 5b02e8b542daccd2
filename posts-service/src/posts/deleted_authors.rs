//! Watches the changes of users, and deletes or detaches the posts of deleted users.
//!
//! auth-service sends the changes as a stream. The stream begins after the last revision that was stored, or with a
//! snapshot of all users, which `snapshot` compares with the authors of posts.
//!
//! A deleted post cannot be brought back. So in two cases the watcher changes no posts until the case has passed, or
//! until an operator runs `accept-history`:
//!
//! - auth-service has another history of users than the one that was followed so far. It may be connected to an empty
//!   or wrong database for a moment.
//! - A snapshot lacks many of the authors.

mod snapshot;

use crate::{
    post::PostsOfDeletedUsers,
    store::{
        Database,
        deleted_authors::{
            History, NextPosition, OrphanedPosts, Position, WrittenBy, advance,
            advance_with_last_posts, detach_or_delete_posts, position, reassign_posts,
        },
    },
};
use rolegate_auth_client::{
    CallError, Reason, UserChange, UserEvent, UserWatcher, WatchError, WatchPosition, WatchProgress,
};
use rolegate_program::secret::SecretSource;
use rolegate_sql_store::StoreError;
use snapshot::{Differences, Refusal, SnapshotReview};
use std::{sync::Arc, time::Duration};
use tokio::time::Instant;

/// The minimum interval at which changes other than deletions store the position.
///
/// Deletions, progress messages and the end of a snapshot always store the position. After a restart, auth-service
/// sends the changes after the stored position again.
const MIN_STORE_INTERVAL: Duration = Duration::from_mins(1);
/// The time for which posts-service does not request another snapshot after it has refused one.
const REFUSAL_INTERVAL: Duration = Duration::from_mins(1);

/// Watches the changes of users, and deletes or detaches the posts of deleted users. Several processes may watch at the
/// same time.
pub(crate) struct DeletedAuthors {
    store: Arc<Database>,
    policy: PostsOfDeletedUsers,
    /// The API key with which this watcher calls auth-service. It is read again for each connection, so that an
    /// operator can replace its file.
    key: Option<SecretSource>,
    /// The position that was stored when the connection began.
    ///
    /// Its `newest_post` limits what a snapshot may delete or detach, because the author of a later post may have been
    /// created after the snapshot.
    position: Position,
    /// The review of the users of a snapshot that have arrived so far; `None` if no snapshot is being read.
    snapshot: Option<SnapshotReview>,
    /// The time at which this process last stored a position; `None` if it has stored none.
    position_stored_at: Option<Instant>,
    refused_history: Option<RefusedHistory>,
    /// The text of the last warning, so that the same warning is not logged again; `None` after a position was stored.
    last_warning: Option<String>,
}

/// A history of users that posts-service has refused to follow. It is tried again after [`REFUSAL_INTERVAL`].
struct RefusedHistory {
    refused_at: Instant,
    refusal: Refusal,
}

impl DeletedAuthors {
    pub(crate) fn new(
        store: Arc<Database>,
        policy: PostsOfDeletedUsers,
        key: Option<SecretSource>,
    ) -> Self {
        Self {
            store,
            policy,
            key,
            position: Position::default(),
            snapshot: None,
            position_stored_at: None,
            refused_history: None,
            last_warning: None,
        }
    }

    /// Detaches or deletes these posts, as the policy says, and logs their number.
    async fn detach_or_delete(&self, posts: OrphanedPosts) -> Result<(), StoreError> {
        let posts = detach_or_delete_posts(&self.store, self.policy, posts).await?;
        if posts > 0 {
            tracing::info!(posts, "deleted or detached the posts of deleted users");
        }
        Ok(())
    }

    /// Adds a user of the snapshot to the review, or handles the end of the snapshot.
    async fn handle_in_snapshot(
        &mut self,
        event: UserEvent,
        mut review: SnapshotReview,
    ) -> Result<(), WatchError> {
        match event {
            UserEvent::Change(user) => {
                review.add(&self.store, &self.position, &user).await?;
                self.snapshot = Some(review);
                Ok(())
            }
            UserEvent::Progress(progress) => self.end_snapshot(progress, review).await,
        }
    }

    /// Detaches or deletes the posts of all authors whom the snapshot lacks, updates the authors who were imported with
    /// another time of creation, and stores the position of the snapshot.
    ///
    /// Fails without changing a post if an operator must accept the history first.
    async fn end_snapshot(
        &mut self,
        progress: WatchProgress,
        review: SnapshotReview,
    ) -> Result<(), WatchError> {
        let differences = review.end(&self.store, &self.position).await?;
        if !self.position.accepts_any
            && let Some(refusal) = self.find_refusal(&progress, &differences)
        {
            self.refused_history = Some(RefusedHistory {
                refused_at: Instant::now(),
                refusal: refusal.clone(),
            });
            return Err(refusal.into());
        }
        for posts in differences.orphaned_posts {
            self.detach_or_delete(posts).await?;
        }
        for moved in differences.moved {
            let newest_post = self.position.newest_post;
            reassign_posts(&self.store, moved.author, moved.user, newest_post).await?;
        }
        self.store_position(NextPosition {
            revision: progress.revision,
            seal: progress.seal,
            // The new revision may be lower than the stored one, if the users were restored from a backup.
            replaces_revision: Some(self.position.revision),
            generation: self.position.generation,
        })
        .await
    }

    /// Returns the reason why an operator must accept the history of a snapshot first; `None` if posts-service may
    /// follow it.
    fn find_refusal(&self, progress: &WatchProgress, differences: &Differences) -> Option<Refusal> {
        let is_unidentified = progress.seal.is_none() && self.position.seal.is_some();
        if is_unidentified {
            return Some(Refusal::Unidentified);
        }
        differences.too_many_lost()
    }

    /// Stores the position after an event that is not a deletion. [`Self::handle_deletion`] stores the position after a
    /// deletion itself, together with the last posts. Fails if an operator has given up the followed history.
    async fn store_position(&mut self, next: NextPosition) -> Result<(), WatchError> {
        let revision = next.revision;
        let history = advance(&self.store, next).await?;
        self.resume_following(history, revision)
    }

    /// Updates the state after a position was stored. Logs the position if it is the first one, or the first one after
    /// a warning.
    ///
    /// Fails if an operator has given up the history that this connection follows. The next connection then begins
    /// with a snapshot of the history that the operator has accepted instead.
    fn resume_following(&mut self, history: History, revision: i64) -> Result<(), WatchError> {
        if history == History::GivenUp {
            return Err("an operator has accepted another history of users".into());
        }
        if self.position_stored_at.is_none() || self.last_warning.is_some() {
            tracing::info!(revision, "follows the changes of users");
        }
        self.position_stored_at = Some(Instant::now());
        self.refused_history = None;
        self.last_warning = None;
        Ok(())
    }

    /// Detaches or deletes the posts of a deleted user. Stores the revision of the deletion in the same transaction as
    /// the last of these posts.
    async fn handle_deletion(&mut self, change: UserChange) -> Result<(), WatchError> {
        let written_by = match change.created_at {
            Some(created_at) => WrittenBy::CreatedAtOrUnknown(created_at),
            None => WrittenBy::AnyUser,
        };
        let posts = OrphanedPosts {
            author_id: change.user_id,
            written_by,
            newest_post: i64::MAX,
            revision: Some(change.revision),
            generation: self.position.generation,
        };
        self.detach_or_delete(posts).await?;
        let next = self.next_position(change.revision, change.seal);
        let history = advance_with_last_posts(&self.store, next, self.policy, posts).await?;
        self.resume_following(history, change.revision)
    }

    /// Returns whether a position was stored within [`MIN_STORE_INTERVAL`].
    fn has_stored_recently(&self) -> bool {
        self.position_stored_at
            .is_some_and(|stored_at| stored_at.elapsed() < MIN_STORE_INTERVAL)
    }

    /// Makes a position that is stored only if its revision is higher than the stored one.
    fn next_position(&self, revision: i64, seal: Option<String>) -> NextPosition {
        NextPosition {
            revision,
            seal,
            replaces_revision: None,
            generation: self.position.generation,
        }
    }
}

impl UserWatcher for DeletedAuthors {
    async fn connect(&mut self, has_gap: bool) -> Result<WatchPosition, WatchError> {
        self.position = position(&self.store).await?;
        if let Some(history) = &self.refused_history
            && history.refused_at.elapsed() < REFUSAL_INTERVAL
            && !self.position.accepts_any
        {
            return Err(history.refusal.clone().into());
        }
        let needs_snapshot = self.position.revision <= 0 || has_gap;
        self.snapshot = needs_snapshot.then(SnapshotReview::default);
        Ok(WatchPosition {
            token: self.key.as_ref().map(SecretSource::read).transpose()?,
            revision: (!needs_snapshot).then_some(self.position.revision),
            seal: self.position.seal.clone(),
        })
    }

    async fn handle(&mut self, event: UserEvent) -> Result<(), WatchError> {
        // `handle_in_snapshot` puts the review back while the snapshot is incomplete. After an error, the review is not
        // needed, because the connection ends and `connect` begins a new review if necessary.
        if let Some(review) = self.snapshot.take() {
            return self.handle_in_snapshot(event, review).await;
        }
        match event {
            UserEvent::Change(change) if change.deleted => self.handle_deletion(change).await,
            // The revision is not lost, because a progress message follows the last change and is always stored.
            UserEvent::Change(_) if self.has_stored_recently() => Ok(()),
            UserEvent::Change(UserChange { revision, seal, .. })
            | UserEvent::Progress(WatchProgress { revision, seal }) => {
                let next = self.next_position(revision, seal);
                self.store_position(next).await
            }
        }
    }

    fn interrupted(&mut self, error: &WatchError) {
        let call = error.downcast_ref::<CallError>();
        let is_outage = matches!(
            call,
            Some(CallError::Unavailable | CallError::DeadlineExceeded)
        );
        // The client of auth-service and the store log their own outages.
        if is_outage || error.is::<StoreError>() {
            return;
        }
        let text = error.to_string();
        if self.last_warning.as_ref() == Some(&text) {
            return;
        }
        let is_unknown = call.and_then(CallError::reason) == Some(Reason::HistoryUnknown);
        if is_unknown || error.is::<Refusal>() {
            tracing::error!(
                %error,
                "the history of users cannot be continued: auth-service has another or a restored database, its \
                 record no longer goes back that far, or too many authors are missing. No posts are deleted or \
                 detached until this is resolved. If auth-service has the right database, run accept-history"
            );
        } else {
            tracing::warn!(
                %error,
                "cannot learn which users were deleted; auth-service reports deletions only to an API key of an \
                 admin (USER_CHANGES_KEY), or to a client certificate that it names"
            );
        }
        self.last_warning = Some(text);
    }
}

#[cfg(test)]
mod tests;
