//! Compares the users of a snapshot with the authors of posts. Changes nothing.

use super::Refusal;
use crate::store::{
    Database,
    deleted_authors::{Deleted, Position, PostAuthor, WrittenBy, author_ids, dated_authors},
};
use rolegate_auth_client::{UserChange, WatchError};
use std::{
    collections::{BTreeMap, BTreeSet},
    mem,
};

/// Users of a snapshot for each search of authors.
pub(super) const PAGE_SIZE: usize = 1000;
/// A snapshot that lacks more than one in this many authors is refused until an operator accepts it.
const ONE_LOST_IN: usize = 10;

/// What is known of a snapshot that is on its way.
#[derive(Debug, Default)]
pub(super) struct SnapshotReview {
    /// The last user of the pages before.
    after: i64,
    /// When each user of this page was created, in Unix seconds, 0 if that was not kept, by the user's id; `None` if it is
    /// not said.
    page: BTreeMap<i64, Option<i64>>,
    found: Differences,
}

/// How the users of a snapshot differ from the authors of posts.
#[derive(Debug, Default)]
pub(super) struct Differences {
    /// The posts of authors who do not exist any more.
    pub(super) lost: Vec<Deleted>,
    /// Authors who were moved to an accepted history, and so were created anew.
    pub(super) moved: Vec<MovedAuthor>,
    lost_author_count: usize,
    author_count: usize,
}

/// An author as posts have them, and as the users have them.
#[derive(Debug)]
pub(super) struct MovedAuthor {
    pub(super) author: PostAuthor,
    pub(super) user: PostAuthor,
}

impl Differences {
    pub(super) fn too_many_lost(&self) -> Option<Refusal> {
        (self.lost_author_count * ONE_LOST_IN > self.author_count).then_some(Refusal::TooManyLost {
            lost: self.lost_author_count,
            authors: self.author_count,
        })
    }
}

impl SnapshotReview {
    /// Adds a user. Authors who are missing from a snapshot lose their posts, so a malformed one is an error.
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

    /// How the whole snapshot differs.
    pub(super) async fn end(
        mut self,
        store: &Database,
        position: &Position,
    ) -> Result<Differences, WatchError> {
        if self.after == 0 && self.page.is_empty() {
            return Err("a snapshot has no users".into());
        }
        self.compare(store, position, i64::MAX).await?;
        Ok(self.found)
    }

    /// Compares the authors up to the id `last` with the users of this page.
    async fn compare(
        &mut self,
        store: &Database,
        position: &Position,
        last: i64,
    ) -> Result<(), WatchError> {
        let users = mem::take(&mut self.page);
        let after = mem::replace(&mut self.after, last);
        let newest_post = position.newest_post;
        let of_user = |author_id, written_by| Deleted {
            author_id,
            written_by,
            newest_post,
            revision: None,
            generation: position.generation,
        };
        let mut lost_ids = BTreeSet::new();
        let author_ids = author_ids(store, after, last, newest_post).await?;
        for &id in author_ids.iter().filter(|id| !users.contains_key(id)) {
            lost_ids.insert(id);
            self.found.lost.push(of_user(id, WrittenBy::AnyUser));
        }
        for author in dated_authors(store, after, last, newest_post).await? {
            let (Some(Some(user_created_at)), Some(created_at)) =
                (users.get(&author.id), author.created_at)
            else {
                continue;
            };
            if *user_created_at == created_at {
                continue;
            }
            if position.accepts_any {
                let user = PostAuthor {
                    created_at: (*user_created_at > 0).then_some(*user_created_at),
                    ..author
                };
                self.found.moved.push(MovedAuthor { author, user });
            } else {
                // Another user had the id, and was deleted.
                lost_ids.insert(author.id);
                let written_by = WrittenBy::CreatedAt(created_at);
                self.found.lost.push(of_user(author.id, written_by));
            }
        }
        self.found.lost_author_count += lost_ids.len();
        self.found.author_count += author_ids.len();
        Ok(())
    }
}
