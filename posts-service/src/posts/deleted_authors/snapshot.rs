//! Compares the users of a snapshot with the authors of posts. Takes nothing.

use super::Refusal;
use crate::store::{
    Database,
    deleted_authors::{Position, PostAuthor, authors},
};
use rolegate_auth_client::{UserChange, WatchError};
use std::{collections::BTreeMap, mem};

/// Users of a snapshot for each search of authors.
pub(super) const PAGE_SIZE: usize = 1000;
/// A snapshot without more than one author in so many needs the word of an operator.
const ONE_LOST_IN: usize = 10;

/// What is known of a snapshot that is on its way.
#[derive(Debug, Default)]
pub(super) struct SnapshotReview {
    /// The last user of the pages before.
    after: i64,
    /// When each user of this page was made, in Unix seconds, by the user's id; `None` if that is not said.
    page: BTreeMap<i64, Option<i64>>,
    found: LostAuthors,
}

/// The authors whom a snapshot does not show.
#[derive(Debug, Default)]
pub(super) struct LostAuthors {
    pub(super) lost: Vec<PostAuthor>,
    /// How many ids they have, and how many all authors have.
    lost_ids: usize,
    ids: usize,
}

impl LostAuthors {
    pub(super) fn too_many_lost(&self) -> Option<Refusal> {
        (self.lost_ids * ONE_LOST_IN > self.ids).then_some(Refusal::TooManyLost {
            lost: self.lost_ids,
            authors: self.ids,
        })
    }
}

impl SnapshotReview {
    /// Adds a user. Who is not in a snapshot loses posts, so a malformed one is an error.
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

    /// The authors whom the whole snapshot does not show.
    pub(super) async fn end(
        mut self,
        store: &Database,
        position: &Position,
    ) -> Result<LostAuthors, WatchError> {
        if self.after == 0 && self.page.is_empty() {
            return Err("a snapshot has no users".into());
        }
        self.compare(store, position, i64::MAX).await?;
        Ok(self.found)
    }

    /// Looks for the authors up to the id `last` among the users of this page.
    async fn compare(
        &mut self,
        store: &Database,
        position: &Position,
        last: i64,
    ) -> Result<(), WatchError> {
        let page = mem::take(&mut self.page);
        // In another history, users who were moved to it are the same users although they were made again.
        let is_same_history = !position.accepts_any;
        let is_lost = |author: &PostAuthor| match page.get(&author.id) {
            None => true,
            Some(user) => {
                let is_other = |(of_post, of_user)| of_post != of_user;
                is_same_history && author.created_at.zip(*user).is_some_and(is_other)
            }
        };
        let (mut last_id, mut last_lost_id) = (0, 0);
        for author in authors(store, self.after, last, position.newest_post).await? {
            if author.id != last_id {
                last_id = author.id;
                self.found.ids += 1;
            }
            if is_lost(&author) {
                if author.id != last_lost_id {
                    last_lost_id = author.id;
                    self.found.lost_ids += 1;
                }
                self.found.lost.push(author);
            }
        }
        self.after = last;
        Ok(())
    }
}
