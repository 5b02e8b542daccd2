//! Watches the changes of users, and deletes or detaches the posts of deleted users.
//!
//! This cannot be undone, so it stops in two cases until an operator runs `accept-history`: if auth-service has another
//! history than the one that was followed so far (an empty or wrong database may be connected for a moment), and if a
//! snapshot lacks many of the authors.

mod snapshot;

use crate::{
    post::PostsOfDeletedUsers,
    store::{
        Database,
        deleted_authors::{
            Deleted, Position, Step, WrittenBy, advance, date_posts, position, take_posts,
        },
    },
};
use rolegate_auth_client::{
    CallError, Reason, UserChange, UserEvent, UserWatcher, WatchError, WatchPosition, WatchProgress,
};
use rolegate_program::secret::SecretSource;
use rolegate_sql_store::StoreError;
use snapshot::SnapshotReview;
use std::{sync::Arc, time::Duration};
use tokio::time::Instant;

/// How often the revision of a change is stored that is no deletion. Changes behind the stored one come again after a
/// restart.
const CHANGE_INTERVAL: Duration = Duration::from_mins(1);
/// How long posts-service waits before it asks for another snapshot of a history that it has refused.
const REFUSAL_INTERVAL: Duration = Duration::from_mins(1);

/// Several processes may watch at once.
pub(crate) struct DeletedAuthors {
    store: Arc<Database>,
    fate: PostsOfDeletedUsers,
    /// Read for each connection, so that its file may be replaced.
    key: Option<SecretSource>,
    /// As stored before the connection. Authors of later posts may have been created after the snapshot.
    position: Position,
    /// In a snapshot, what it shows so far.
    snapshot: Option<SnapshotReview>,
    stored_at: Option<Instant>,
    refused_at: Option<(Instant, Refusal)>,
    /// The text of the last warning, until the stream goes on.
    warned_of: Option<String>,
}

/// Why posts-service changes nothing until an operator says that the history of users is right.
#[derive(Clone, Debug, PartialEq, Eq, thiserror::Error)]
pub(crate) enum Refusal {
    #[error("auth-service has no user for {lost} of the {authors} authors")]
    TooManyLost { lost: usize, authors: usize },
    #[error("auth-service does not say which history of users it has")]
    Unidentified,
}

impl DeletedAuthors {
    pub(crate) fn new(
        store: Arc<Database>,
        fate: PostsOfDeletedUsers,
        key: Option<SecretSource>,
    ) -> Self {
        Self {
            store,
            fate,
            key,
            position: Position::default(),
            snapshot: None,
            stored_at: None,
            refused_at: None,
            warned_of: None,
        }
    }

    async fn take(&self, of: Deleted) -> Result<(), StoreError> {
        let posts = take_posts(&self.store, self.fate, of).await?;
        if posts > 0 {
            tracing::info!(posts, "deleted or detached the posts of deleted users");
        }
        Ok(())
    }

    /// Takes a user of a snapshot, or its end.
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

    /// Takes the posts of all authors whom the snapshot does not show, unless that needs the word of an operator.
    async fn end_snapshot(
        &mut self,
        progress: WatchProgress,
        review: SnapshotReview,
    ) -> Result<(), WatchError> {
        let found = review.end(&self.store, &self.position).await?;
        let is_unidentified = progress.seal.is_none() && self.position.seal.is_some();
        let refusal = if is_unidentified {
            Some(Refusal::Unidentified)
        } else {
            found.too_many_lost()
        };
        if let Some(refusal) = refusal.filter(|_| !self.position.accepts_any) {
            self.refused_at = Some((Instant::now(), refusal.clone()));
            return Err(refusal.into());
        }
        for lost in found.lost {
            self.take(lost).await?;
        }
        for moved in found.moved {
            let newest_post = self.position.newest_post;
            date_posts(&self.store, moved.author, moved.user, newest_post).await?;
        }
        let step = Step {
            revision: progress.revision,
            seal: progress.seal,
            // A lower revision than the stored one is of a restored backup of the users.
            replaces_revision: Some(self.position.revision),
            generation: self.position.generation,
        };
        self.store_step(step, None).await
    }

    /// Stores a step, and takes the last posts of a user with it. Fails if an operator has given up the history that this
    /// connection follows: the next connection begins with the users of the next one.
    async fn store_step(
        &mut self,
        step: Step,
        last_posts: Option<Deleted>,
    ) -> Result<(), WatchError> {
        let revision = step.revision;
        let last_posts = last_posts.map(|of| (self.fate, of));
        if !advance(&self.store, step, last_posts).await? {
            return Err("an operator has accepted another history of users".into());
        }
        self.note_progress(revision);
        Ok(())
    }

    /// Takes the posts of a user who was deleted at this revision, and stores it with the last of them.
    async fn handle_deletion(&mut self, change: UserChange) -> Result<(), WatchError> {
        let deleted = Deleted {
            author_id: change.user_id,
            written_by: change
                .created_at
                .map_or(WrittenBy::AnyUser, WrittenBy::CreatedAtOrUnknown),
            newest_post: i64::MAX,
            revision: Some(change.revision),
            generation: self.position.generation,
        };
        self.take(deleted).await?;
        let step = self.step(change.revision, change.seal);
        self.store_step(step, Some(deleted)).await
    }

    /// Stores the revision of a change that needs nothing, now and then. A progress follows the last one.
    async fn handle_change(&mut self, change: UserChange) -> Result<(), WatchError> {
        let is_recent = |at: Instant| at.elapsed() < CHANGE_INTERVAL;
        if self.stored_at.is_some_and(is_recent) {
            return Ok(());
        }
        let step = self.step(change.revision, change.seal);
        self.store_step(step, None).await
    }

    fn step(&self, revision: i64, seal: Option<String>) -> Step {
        Step {
            revision,
            seal,
            replaces_revision: None,
            generation: self.position.generation,
        }
    }

    fn note_progress(&mut self, revision: i64) {
        if self.stored_at.is_none() || self.warned_of.is_some() {
            tracing::info!(revision, "follows the changes of users");
        }
        self.stored_at = Some(Instant::now());
        self.refused_at = None;
        self.warned_of = None;
    }
}

impl UserWatcher for DeletedAuthors {
    async fn connect(&mut self, has_gap: bool) -> Result<WatchPosition, WatchError> {
        self.position = position(&self.store).await?;
        if let Some((at, refusal)) = &self.refused_at
            && at.elapsed() < REFUSAL_INTERVAL
            && !self.position.accepts_any
        {
            return Err(refusal.clone().into());
        }
        let revision = self.position.revision;
        let revision = (revision > 0 && !has_gap).then_some(revision);
        self.snapshot = revision.is_none().then(SnapshotReview::default);
        Ok(WatchPosition {
            token: self.key.as_ref().map(SecretSource::read).transpose()?,
            revision,
            seal: self.position.seal.clone(),
        })
    }

    async fn handle(&mut self, event: UserEvent) -> Result<(), WatchError> {
        if let Some(review) = self.snapshot.take() {
            return self.handle_in_snapshot(event, review).await;
        }
        match event {
            UserEvent::Change(change) if change.deleted => self.handle_deletion(change).await,
            UserEvent::Change(change) => self.handle_change(change).await,
            UserEvent::Progress(WatchProgress { revision, seal }) => {
                let step = self.step(revision, seal);
                self.store_step(step, None).await
            }
        }
    }

    fn interrupted(&mut self, error: &WatchError) {
        let call = error.downcast_ref::<CallError>();
        let is_outage = matches!(
            call,
            Some(CallError::Unavailable | CallError::DeadlineExceeded)
        );
        // The client of auth-service logs its outages, and the store its own.
        if is_outage || error.is::<StoreError>() {
            return;
        }
        let text = error.to_string();
        if self.warned_of.as_ref() == Some(&text) {
            return;
        }
        let is_unknown = call.and_then(CallError::reason) == Some(Reason::HistoryUnknown);
        if is_unknown || error.is::<Refusal>() {
            tracing::error!(
                %error,
                "the history of users cannot be continued: auth-service has another or a restored database, or no \
                 longer keeps the record that far back, or too many authors are missing. No post changes until this \
                 is resolved. If auth-service has the right database, run accept-history"
            );
        } else {
            tracing::warn!(
                %error,
                "deletions of users are not known; auth-service tells them to an API key of an admin \
                 (USER_CHANGES_KEY), or to a client certificate that it names"
            );
        }
        self.warned_of = Some(text);
    }
}

#[cfg(test)]
mod tests;
