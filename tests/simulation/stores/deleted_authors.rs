//! Posts of deleted users, in memory.

use super::{Database, Rows, read, write};
use crate::post::PostsOfDeletedUsers;
use rolegate_sql_store::StoreError;

#[derive(Clone, Copy)]
pub(crate) struct Deleted<'a> {
    pub(crate) after: i64,
    pub(crate) last: i64,
    pub(crate) except: &'a [i64],
    pub(crate) newest_post: i64,
    pub(crate) revision: i64,
}

pub(crate) async fn position(database: &Database) -> Result<(i64, i64), StoreError> {
    let find = |rows: &Rows| {
        (
            rows.revision,
            rows.posts.keys().last().copied().unwrap_or(0),
        )
    };
    read(async { Ok(find(&database.rows())) }).await
}

pub(crate) async fn take_posts(
    database: &Database,
    fate: PostsOfDeletedUsers,
    of: Deleted<'_>,
) -> Result<usize, StoreError> {
    write(async { Ok(take(&mut database.rows(), fate, of)) }).await
}

pub(crate) async fn advance(
    database: &Database,
    (revision, instead_of): (i64, Option<i64>),
    last_posts: Option<(PostsOfDeletedUsers, Deleted<'_>)>,
) -> Result<(), StoreError> {
    write(async {
        let mut rows = database.rows();
        if rows.revision < revision || Some(rows.revision) == instead_of {
            rows.revision = revision;
            if let Some((fate, of)) = last_posts {
                take(
                    &mut rows,
                    fate,
                    Deleted {
                        revision: i64::MAX,
                        ..of
                    },
                );
            }
        }
        Ok(())
    })
    .await
}

fn take(rows: &mut Rows, fate: PostsOfDeletedUsers, of: Deleted<'_>) -> usize {
    if rows.revision >= of.revision {
        return 0;
    }
    let is_meant = |id: i64, author: i64| {
        author > of.after
            && author <= of.last
            && id <= of.newest_post
            && !of.except.contains(&author)
    };
    let meant: Vec<i64> = rows
        .posts
        .values()
        .filter(|post| is_meant(post.id, post.author_id))
        .map(|post| post.id)
        .collect();
    for id in &meant {
        match fate {
            PostsOfDeletedUsers::Delete => drop(rows.posts.remove(id)),
            PostsOfDeletedUsers::Keep => {
                if let Some(post) = rows.posts.get_mut(id) {
                    post.author_id = 0;
                }
            }
        }
    }
    meant.len()
}
