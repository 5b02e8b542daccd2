//! Compares the users of a snapshot with the authors of posts. It only reports the differences, and changes nothing.

use crate::{
    post::PostAuthor,
    store::{
        Database,
        deleted_authors::{
            AuthorRange, OrphanedPosts, Position, WrittenBy, author_ids, authors_with_creation_time,
        },
    },
};
use rolegate_auth_client::{UserChange, WatchError};
use std::{
    collections::{BTreeMap, BTreeSet},
    mem,
};

/// The number of users on a page of the snapshot. When a page is full, its users are compared with the authors in the
/// same range of ids.
pub(super) const PAGE_SIZE: usize = 1000;
/// If a snapshot lacks more than one in this many authors, it is refused until an operator accepts it.
const ONE_LOST_IN: usize = 10;

/// Compares the users of a snapshot with the authors while the users arrive, and collects the differences.
#[derive(Debug, Default)]
pub(super) struct SnapshotReview {
    /// The id of the last user on earlier pages.
    after: i64,
    /// The users on this page by id, each with the time of creation in Unix seconds.
    ///
    /// The time is 0 if auth-service does not know it, and `None` if auth-service does not send it.
    page: BTreeMap<i64, Option<i64>>,
    differences: Differences,
}

/// The differences between the users of a snapshot and the authors of posts.
#[derive(Debug, Default)]
pub(super) struct Differences {
    /// The posts of authors who no longer exist.
    pub(super) orphaned_posts: Vec<OrphanedPosts>,
    /// Authors who were imported into a history that an operator has accepted, and therefore have another time of
    /// creation there.
    pub(super) moved: Vec<MovedAuthor>,
    /// The number of authors whom the snapshot lacks, including those whose ids now belong to other users.
    lost_author_count: usize,
    /// The number of all authors of posts, with which the snapshot was compared.
    author_count: usize,
}

/// An author whose time of creation differs between the posts and auth-service.
#[derive(Debug)]
pub(super) struct MovedAuthor {
    pub(super) author: PostAuthor,
    pub(super) user: PostAuthor,
}

/// The reason why posts-service changes no posts until an operator accepts the history of users.
#[derive(Clone, Debug, PartialEq, Eq, thiserror::Error)]
pub(super) enum Refusal {
    #[error("auth-service has no user for {lost} of the {authors} authors")]
    TooManyLost { lost: usize, authors: usize },
    #[error("auth-service does not say which history of users it has")]
    Unidentified,
}

impl Differences {
    /// Returns a refusal if the snapshot lacks so many authors that it may come from a wrong database.
    pub(super) fn too_many_lost(&self) -> Option<Refusal> {
        if self.lost_author_count * ONE_LOST_IN <= self.author_count {
            return None;
        }
        Some(Refusal::TooManyLost {
            lost: self.lost_author_count,
            authors: self.author_count,
        })
    }
}

impl SnapshotReview {
    /// Adds the next user, and compares the page with the authors when it is full. Fails if the ids are not in
    /// ascending order, because an author could then seem to be missing and lose the posts.
    pub(super) async fn add(
        &mut self,
        store: &Database,
        position: &Position,
        user: &UserChange,
    ) -> Result<(), WatchError> {
        let last = self.page.last_key_value().map_or(self.after, |(id, _)| *id);
        if user.user_id <= last {
            return Err("the users of a snapshot are not in the order of their ids".into());
        }
        self.page.insert(user.user_id, user.created_at);
        if self.page.len() == PAGE_SIZE {
            self.compare(store, position, user.user_id).await?;
        }
        Ok(())
    }

    /// Compares the last page, and returns the differences of the whole snapshot. Fails if the snapshot has no users.
    pub(super) async fn end(
        mut self,
        store: &Database,
        position: &Position,
    ) -> Result<Differences, WatchError> {
        if self.after == 0 && self.page.is_empty() {
            return Err("a snapshot has no users".into());
        }
        self.compare(store, position, i64::MAX).await?;
        Ok(self.differences)
    }

    /// Compares the authors after the previous page and up to the id `last` with the users on this page. Adds the
    /// differences, and begins a new page.
    async fn compare(
        &mut self,
        store: &Database,
        position: &Position,
        last: i64,
    ) -> Result<(), WatchError> {
        let users = mem::take(&mut self.page);
        let range = AuthorRange {
            after: mem::replace(&mut self.after, last),
            last,
            newest_post: position.newest_post,
        };
        let posts_of = |author_id, written_by| OrphanedPosts {
            author_id,
            written_by,
            newest_post: position.newest_post,
            revision: None,
            generation: position.generation,
        };
        let author_ids = author_ids(store, range).await?;
        self.differences.author_count += author_ids.len();
        let mut lost_ids: BTreeSet<i64> = author_ids
            .into_iter()
            .filter(|id| !users.contains_key(id))
            .collect();
        for &id in &lost_ids {
            let posts = posts_of(id, WrittenBy::AnyUser);
            self.differences.orphaned_posts.push(posts);
        }
        for author in authors_with_creation_time(store, range).await? {
            let Some(created_at) = author.created_at else {
                continue;
            };
            let Some(&Some(user_created_at)) = users.get(&author.id) else {
                continue;
            };
            if user_created_at == created_at {
                continue;
            }
            if position.accepts_any {
                let user = PostAuthor {
                    created_at: Some(user_created_at).filter(|at| *at > 0),
                    ..author
                };
                self.differences.moved.push(MovedAuthor { author, user });
            } else {
                // When these posts were written, the id belonged to another user, who has since been deleted.
                lost_ids.insert(author.id);
                let posts = posts_of(author.id, WrittenBy::CreatedAt(created_at));
                self.differences.orphaned_posts.push(posts);
            }
        }
        self.differences.lost_author_count += lost_ids.len();
        Ok(())
    }
}
