//! Keeps in memory how far posts-service has followed the deletions of users, and changes the posts of deleted users,
//! in place of the SQL of posts-service.

use super::{Database, Rows, StoredPost, read, write};
use crate::post::{PostAuthor, PostsOfDeletedUsers};
use rolegate_sql_store::StoreError;

#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub(crate) struct Position {
    pub(crate) revision: i64,
    pub(crate) seal: Option<String>,
    pub(crate) accepts_any: bool,
    pub(crate) generation: i64,
    pub(crate) newest_post: i64,
}

#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) enum WrittenBy {
    AnyUser,
    CreatedAtOrUnknown(i64),
    CreatedAt(i64),
}

#[derive(Clone, Copy, Debug)]
pub(crate) struct OrphanedPosts {
    pub(crate) author_id: i64,
    pub(crate) written_by: WrittenBy,
    pub(crate) newest_post: i64,
    pub(crate) revision: Option<i64>,
    pub(crate) generation: i64,
}

#[derive(Clone, Copy, Debug)]
pub(crate) struct AuthorRange {
    pub(crate) after: i64,
    pub(crate) last: i64,
    pub(crate) newest_post: i64,
}

#[derive(Clone, Debug)]
pub(crate) struct NextPosition {
    pub(crate) revision: i64,
    pub(crate) seal: Option<String>,
    pub(crate) replaces_revision: Option<i64>,
    pub(crate) generation: i64,
}

#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) enum History {
    Followed,
    GivenUp,
}

pub(crate) async fn position(database: &Database) -> Result<Position, StoreError> {
    let find = |rows: &Rows| Position {
        newest_post: rows.posts.keys().last().copied().unwrap_or(0),
        ..rows.position.clone()
    };
    read(async { Ok(find(&database.rows())) }).await
}

pub(crate) async fn author_ids(
    database: &Database,
    range: AuthorRange,
) -> Result<Vec<i64>, StoreError> {
    let find = |rows: &Rows| {
        let mut ids: Vec<i64> = authors(rows, range).map(|author| author.id).collect();
        ids.sort_unstable();
        ids.dedup();
        ids
    };
    read(async { Ok(find(&database.rows())) }).await
}

pub(crate) async fn authors_with_creation_time(
    database: &Database,
    range: AuthorRange,
) -> Result<Vec<PostAuthor>, StoreError> {
    let find = |rows: &Rows| {
        let mut found: Vec<PostAuthor> = authors(rows, range)
            .filter(|author| author.created_at.is_some())
            .collect();
        found.sort_unstable();
        found.dedup();
        found
    };
    read(async { Ok(find(&database.rows())) }).await
}

fn authors(rows: &Rows, range: AuthorRange) -> impl Iterator<Item = PostAuthor> {
    rows.posts
        .values()
        .filter(move |it| {
            it.post.author_id > range.after
                && it.post.author_id <= range.last
                && it.post.id <= range.newest_post
        })
        .map(StoredPost::author)
}

pub(crate) async fn reassign_posts(
    database: &Database,
    from: PostAuthor,
    to: PostAuthor,
    newest_post: i64,
) -> Result<usize, StoreError> {
    write(async {
        let mut rows = database.rows();
        let dated = rows
            .posts
            .values_mut()
            .filter(|it| it.author() == from && it.post.id <= newest_post)
            .map(|it| it.author_created_at = to.created_at);
        Ok(dated.count())
    })
    .await
}

pub(crate) async fn detach_or_delete_posts(
    database: &Database,
    policy: PostsOfDeletedUsers,
    posts: OrphanedPosts,
) -> Result<usize, StoreError> {
    write(async { Ok(detach_or_delete(&mut database.rows(), policy, posts)) }).await
}

pub(crate) async fn advance(
    database: &Database,
    next: NextPosition,
) -> Result<History, StoreError> {
    store_position(database, next, |_| {}).await
}

pub(crate) async fn advance_with_last_posts(
    database: &Database,
    next: NextPosition,
    policy: PostsOfDeletedUsers,
    posts: OrphanedPosts,
) -> Result<History, StoreError> {
    let posts = OrphanedPosts {
        revision: None,
        ..posts
    };
    store_position(database, next, |rows| {
        detach_or_delete(rows, policy, posts);
    })
    .await
}

async fn store_position(
    database: &Database,
    next: NextPosition,
    then: impl FnOnce(&mut Rows),
) -> Result<History, StoreError> {
    write(async {
        let mut rows = database.rows();
        let stored = &mut rows.position;
        if stored.generation != next.generation {
            return Ok(History::GivenUp);
        }
        let leads_forward = stored.revision < next.revision;
        let is_next = match next.replaces_revision {
            Some(replaced) => leads_forward || stored.revision == replaced,
            None => leads_forward,
        };
        if !is_next {
            return Ok(History::Followed);
        }
        stored.revision = next.revision;
        stored.accepts_any = false;
        if next.seal.is_some() {
            stored.seal = next.seal;
        }
        then(&mut rows);
        Ok(History::Followed)
    })
    .await
}

pub(crate) async fn accept_next_history(database: &Database) -> Result<(), StoreError> {
    write(async {
        let mut rows = database.rows();
        rows.position = Position {
            accepts_any: true,
            generation: rows.position.generation + 1,
            ..Position::default()
        };
        Ok(())
    })
    .await
}

fn detach_or_delete(rows: &mut Rows, policy: PostsOfDeletedUsers, of: OrphanedPosts) -> usize {
    let stored = &rows.position;
    let is_late = of
        .revision
        .is_some_and(|revision| stored.revision >= revision);
    if is_late || stored.generation != of.generation {
        return 0;
    }
    let is_meant = |it: &&StoredPost| {
        let is_written = match of.written_by {
            WrittenBy::AnyUser => true,
            WrittenBy::CreatedAtOrUnknown(at) => {
                it.author_created_at.is_none_or(|of_post| of_post == at)
            }
            WrittenBy::CreatedAt(at) => it.author_created_at == Some(at),
        };
        it.post.author_id == of.author_id && it.post.id <= of.newest_post && is_written
    };
    let meant: Vec<i64> = rows
        .posts
        .values()
        .filter(is_meant)
        .map(|it| it.post.id)
        .collect();
    for id in &meant {
        match policy {
            PostsOfDeletedUsers::Delete => drop(rows.posts.remove(id)),
            PostsOfDeletedUsers::Detach => {
                if let Some(it) = rows.posts.get_mut(id) {
                    it.post.author_id = 0;
                }
            }
        }
    }
    meant.len()
}
