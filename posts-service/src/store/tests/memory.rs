//! Posts in memory, for tests of the use cases.

use super::super::{PostFilter, PostSelector, PostStore, StoreError};
use crate::post::{Post, PostContent};
use async_trait::async_trait;
use rolegate_sql_store::{Store, StoreStatus};
use std::{
    collections::BTreeMap,
    sync::{Mutex, MutexGuard},
};

/// Posts in memory; passes the same conformance suite as the SQL stores.
#[derive(Debug, Default)]
pub(crate) struct MemoryStore(Mutex<Posts>);

#[derive(Debug, Default)]
struct Posts {
    by_id: BTreeMap<i64, Post>,
    last_id: i64,
    is_down: bool,
}

impl MemoryStore {
    /// From now on every call fails with [`StoreError::TimedOut`], or succeeds again.
    pub(crate) fn set_down(&self, is_down: bool) {
        self.0.lock().expect("not poisoned").is_down = is_down;
    }

    fn posts(&self) -> Result<MutexGuard<'_, Posts>, StoreError> {
        let posts = self.0.lock().expect("not poisoned");
        if posts.is_down { Err(StoreError::TimedOut) } else { Ok(posts) }
    }
}

impl Posts {
    fn select(&mut self, selector: PostSelector) -> Option<&mut Post> {
        let is_selected =
            |post: &&mut Post| selector.author_id.is_none_or(|author| author == post.author_id);
        self.by_id.get_mut(&selector.id).filter(is_selected)
    }
}

#[async_trait]
impl Store for MemoryStore {
    async fn ping(&self) -> Result<(), StoreError> {
        self.posts().map(drop)
    }

    fn status(&self) -> StoreStatus {
        StoreStatus::default()
    }

    async fn close(&self) {
        self.set_down(true);
    }
}

#[async_trait]
impl PostStore for MemoryStore {
    async fn insert(
        &self,
        author_id: i64,
        content: PostContent,
        now: i64,
    ) -> Result<Post, StoreError> {
        let mut posts = self.posts()?;
        posts.last_id += 1;
        let post = Post {
            id: posts.last_id,
            author_id,
            title: content.title,
            content: content.content,
            created_at: now,
            updated_at: now,
        };
        posts.by_id.insert(post.id, post.clone());
        Ok(post)
    }

    async fn posts_by_id(&self, ids: &[i64]) -> Result<Vec<Post>, StoreError> {
        let posts = self.posts()?;
        Ok(posts.by_id.values().filter(|post| ids.contains(&post.id)).cloned().collect())
    }

    async fn size_by_id(&self, ids: &[i64]) -> Result<i64, StoreError> {
        let posts = self.posts_by_id(ids).await?;
        let size: usize = posts.iter().map(|post| post.title.len() + post.content.len()).sum();
        Ok(i64::try_from(size).expect("small"))
    }

    async fn page(&self, filter: &PostFilter) -> Result<(Vec<Post>, bool), StoreError> {
        let posts = self.posts()?;
        let matching = posts.by_id.values().filter(|post| {
            post.id > filter.after && filter.author_id.is_none_or(|author| author == post.author_id)
        });
        let limit = usize::try_from(filter.limit).unwrap_or(0);
        let matching: Vec<_> = matching.take(limit + 1).cloned().collect();
        let (count, mut bytes) = (matching.len(), 0);
        let mut page = Vec::new();
        for post in matching.into_iter().take(limit) {
            if bytes >= filter.content_bytes {
                break;
            }
            bytes += i64::try_from(post.content.len()).unwrap_or(i64::MAX);
            page.push(post);
        }
        let has_more = count > page.len();
        Ok((page, has_more))
    }

    async fn update(
        &self,
        selector: PostSelector,
        content: PostContent,
        now: i64,
    ) -> Result<Option<Post>, StoreError> {
        Ok(self.posts()?.select(selector).map(|post| {
            post.title = content.title;
            post.content = content.content;
            post.updated_at = now.max(post.updated_at + 1);
            post.clone()
        }))
    }

    async fn delete(&self, selector: PostSelector) -> Result<Option<i64>, StoreError> {
        let mut posts = self.posts()?;
        let author = posts.select(selector).map(|post| post.author_id);
        if author.is_some() {
            posts.by_id.remove(&selector.id);
        }
        Ok(author)
    }

    async fn author_of(&self, id: i64) -> Result<Option<i64>, StoreError> {
        Ok(self.posts()?.by_id.get(&id).map(|post| post.author_id))
    }
}
