//! Posts of deleted users, in memory.

use super::{Database, Rows, StoredPost, read, write};
use crate::post::PostsOfDeletedUsers;
use rolegate_sql_store::StoreError;

#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub(crate) struct Position {
    pub(crate) revision: i64,
    pub(crate) seal: Option<String>,
    pub(crate) accepts_any: bool,
    pub(crate) newest_post: i64,
}

#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord)]
pub(crate) struct PostAuthor {
    pub(crate) id: i64,
    pub(crate) created_at: Option<i64>,
}

#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) enum WrittenBy {
    Anybody,
    MadeAt(i64),
    Exactly(Option<i64>),
}

#[derive(Clone, Copy, Debug)]
pub(crate) struct Deleted {
    pub(crate) author_id: i64,
    pub(crate) written_by: WrittenBy,
    pub(crate) newest_post: i64,
    pub(crate) revision: Option<i64>,
}

#[derive(Clone, Debug)]
pub(crate) struct Step {
    pub(crate) revision: i64,
    pub(crate) seal: Option<String>,
    pub(crate) instead_of: Option<i64>,
}

pub(crate) async fn position(database: &Database) -> Result<Position, StoreError> {
    let find = |rows: &Rows| Position {
        newest_post: rows.posts.keys().last().copied().unwrap_or(0),
        ..rows.position.clone()
    };
    read(async { Ok(find(&database.rows())) }).await
}

pub(crate) async fn authors(
    database: &Database,
    after: i64,
    last: i64,
    newest_post: i64,
) -> Result<Vec<PostAuthor>, StoreError> {
    let find = |rows: &Rows| {
        let meant = rows.posts.values().filter(|it| {
            it.post.author_id > after && it.post.author_id <= last && it.post.id <= newest_post
        });
        let mut found: Vec<PostAuthor> = meant.map(StoredPost::author).collect();
        found.sort_unstable();
        found.dedup();
        found
    };
    read(async { Ok(find(&database.rows())) }).await
}

pub(crate) async fn take_posts(
    database: &Database,
    fate: PostsOfDeletedUsers,
    of: Deleted,
) -> Result<usize, StoreError> {
    write(async { Ok(take(&mut database.rows(), fate, of)) }).await
}

pub(crate) async fn advance(
    database: &Database,
    step: Step,
    last_posts: Option<(PostsOfDeletedUsers, Deleted)>,
) -> Result<(), StoreError> {
    write(async {
        let mut rows = database.rows();
        let stored = &mut rows.position;
        let leads_forward = stored.revision < step.revision;
        let is_next = match step.instead_of {
            Some(replaced) => leads_forward || stored.revision == replaced,
            None => leads_forward && !stored.accepts_any,
        };
        if !is_next {
            return Ok(());
        }
        stored.revision = step.revision;
        stored.accepts_any = false;
        if step.seal.is_some() {
            stored.seal = step.seal;
        }
        if let Some((fate, of)) = last_posts {
            let revision_is_stored = Deleted {
                revision: None,
                ..of
            };
            take(&mut rows, fate, revision_is_stored);
        }
        Ok(())
    })
    .await
}

pub(crate) async fn accept_any(database: &Database) -> Result<(), StoreError> {
    write(async {
        database.rows().position = Position {
            accepts_any: true,
            ..Position::default()
        };
        Ok(())
    })
    .await
}

fn take(rows: &mut Rows, fate: PostsOfDeletedUsers, of: Deleted) -> usize {
    let stored = &rows.position;
    if of
        .revision
        .is_some_and(|revision| stored.accepts_any || stored.revision >= revision)
    {
        return 0;
    }
    let is_meant = |it: &&StoredPost| {
        let is_written = match of.written_by {
            WrittenBy::Anybody => true,
            WrittenBy::MadeAt(at) => it.author_created_at.is_none_or(|of_post| of_post == at),
            WrittenBy::Exactly(at) => it.author_created_at == at,
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
        match fate {
            PostsOfDeletedUsers::Delete => drop(rows.posts.remove(id)),
            PostsOfDeletedUsers::Keep => {
                if let Some(it) = rows.posts.get_mut(id) {
                    it.post.author_id = 0;
                }
            }
        }
    }
    meant.len()
}
