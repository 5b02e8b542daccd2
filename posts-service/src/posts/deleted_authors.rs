//! Watches the changes of users, and takes the posts of deleted users from them.

use crate::{
    post::PostsOfDeletedUsers,
    store::{
        Database,
        deleted_authors::{Deleted, advance, position, take_posts},
    },
};
use rolegate_auth_client::{
    CallError, UserChange, UserEvent, UserWatcher, WatchError, WatchProgress,
};
use rolegate_program::secret::SecretSource;
use rolegate_sql_store::StoreError;
use secrecy::SecretString;
use std::{mem, sync::Arc, time::Duration};
use tokio::time::Instant;

/// Users of a snapshot for each search of others.
const PAGE_SIZE: usize = 1000;
/// Between two writes of a revision without a deletion. What is behind comes again after a restart.
const PROGRESS_INTERVAL: Duration = Duration::from_mins(1);

/// Several processes may watch at once.
pub(crate) struct DeletedAuthors {
    store: Arc<Database>,
    fate: PostsOfDeletedUsers,
    /// Read for each connection, so that its file may be replaced.
    key: Option<SecretSource>,
    /// The stored revision and the newest post before the connection. Authors of later posts may have been created
    /// after the snapshot.
    position: (i64, i64),
    /// In a snapshot, the last user of the page before, and the users of this one.
    page: Option<(i64, Vec<i64>)>,
    stored_at: Option<Instant>,
    has_warned: bool,
}

impl DeletedAuthors {
    pub(crate) fn new(
        store: Arc<Database>,
        fate: PostsOfDeletedUsers,
        key: Option<SecretSource>,
    ) -> Self {
        let (position, page, stored_at) = Default::default();
        Self {
            store,
            fate,
            key,
            position,
            page,
            stored_at,
            has_warned: false,
        }
    }

    async fn take(&self, of: Deleted<'_>) -> Result<(), StoreError> {
        let posts = take_posts(&self.store, self.fate, of).await?;
        if posts > 0 {
            tracing::info!(posts, "took posts of deleted users");
        }
        Ok(())
    }

    /// Also stores a revision, in place of a lower one or of `instead_of`.
    async fn take_last(
        &self,
        of: Deleted<'_>,
        revision: i64,
        instead_of: Option<i64>,
    ) -> Result<(), StoreError> {
        self.take(of).await?;
        advance(&self.store, (revision, instead_of), Some((self.fate, of))).await
    }
}

impl UserWatcher for DeletedAuthors {
    async fn connect(
        &mut self,
        has_gap: bool,
    ) -> Result<(Option<SecretString>, Option<i64>), WatchError> {
        self.position = position(&self.store).await?;
        let stored = Some(self.position.0).filter(|&revision| revision > 0 && !has_gap);
        self.page = stored.is_none().then(Default::default);
        Ok((
            self.key.as_ref().map(SecretSource::read).transpose()?,
            stored,
        ))
    }

    async fn handle(&mut self, event: UserEvent) -> Result<(), WatchError> {
        let (stored, newest_post) = self.position;
        let absent = |after, last, except| Deleted {
            after,
            last,
            except,
            newest_post,
            revision: i64::MAX,
        };
        match (event, self.page.take()) {
            (UserEvent::Change(UserChange { user_id: id, .. }), Some((mut after, mut ids))) => {
                // Who is not in a snapshot loses posts, so a malformed one ends here.
                if id <= ids.last().copied().unwrap_or(after) {
                    return Err("the users of a snapshot are not in the order of their ids".into());
                }
                ids.push(id);
                if ids.len() == PAGE_SIZE {
                    self.take(absent(after, id, &ids)).await?;
                    after = id;
                    ids.clear();
                }
                self.page = Some((after, ids));
                return Ok(());
            }
            (UserEvent::Progress(_), Some((0, ids))) if ids.is_empty() => {
                return Err("a snapshot has no users".into());
            }
            (UserEvent::Progress(WatchProgress { revision }), Some((after, ids))) => {
                // A lower revision than the stored one is of a restored backup of the users.
                self.take_last(absent(after, i64::MAX, &ids), revision, Some(stored))
                    .await?;
            }
            (
                UserEvent::Change(UserChange {
                    revision,
                    user_id: last,
                    deleted: true,
                    ..
                }),
                None,
            ) => {
                let (after, newest_post) = (last - 1, i64::MAX);
                let user = Deleted {
                    after,
                    last,
                    except: &[],
                    newest_post,
                    revision,
                };
                self.take_last(user, revision, None).await?;
            }
            (
                UserEvent::Change(UserChange { revision, .. })
                | UserEvent::Progress(WatchProgress { revision }),
                None,
            ) => {
                if self
                    .stored_at
                    .is_some_and(|at| at.elapsed() < PROGRESS_INTERVAL)
                {
                    return Ok(());
                }
                advance(&self.store, (revision, None), None).await?;
            }
        }
        (self.stored_at, self.has_warned) = (Some(Instant::now()), false);
        Ok(())
    }

    fn interrupted(&mut self, error: &WatchError) {
        use CallError::{DeadlineExceeded, Unavailable};
        // The client logs outages.
        let is_outage = matches!(error.downcast_ref(), Some(Unavailable | DeadlineExceeded));
        if !is_outage && !mem::replace(&mut self.has_warned, true) {
            tracing::warn!(
                %error,
                "deletions of users are not known; auth-service tells them to an API key of an admin \
                 (USER_CHANGES_KEY), or to a client certificate that it names"
            );
        }
    }
}

#[cfg(test)]
mod tests;
