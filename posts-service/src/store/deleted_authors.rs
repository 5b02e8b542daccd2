//! Posts of deleted users, and the last change of a user that was made use of: no change is twice, so that a
//! user who is imported again keeps new posts.

use super::{posts, statement};
use crate::post::PostsOfDeletedUsers;
use rolegate_sql_store::{Database, Statement, StoreError, Then};

/// Posts in one transaction: of the longest, 20 MB.
const BATCH: u32 = 100;

/// Users behind `after`, up to `last`, except these.
#[derive(Clone, Copy)]
pub(crate) struct Deleted<'a> {
    pub(crate) after: i64,
    pub(crate) last: i64,
    pub(crate) except: &'a [i64],
    /// Only posts up to this one count.
    pub(crate) newest_post: i64,
    /// Only while the stored revision is lower.
    pub(crate) revision: i64,
}

fn cursor(database: &Database) -> &'static str {
    if database.is_postgres() {
        "posts.user_cursor"
    } else {
        "user_cursor"
    }
}

/// The stored revision, 0 for none, and the id of the newest post.
pub(crate) async fn position(database: &Database) -> Result<(i64, i64), StoreError> {
    let select = statement(
        database,
        "SELECT revision, (SELECT coalesce(max(id), 0) FROM ",
    );
    let select = select.push(") FROM ").push(cursor(database));
    Ok(database.read(select).await?.pop().unwrap_or_default())
}

/// Takes the posts of these users in batches. Returns their number.
pub(crate) async fn take_posts(
    database: &Database,
    fate: PostsOfDeletedUsers,
    of: Deleted<'_>,
) -> Result<usize, StoreError> {
    let mut taken = 0;
    loop {
        let batch = database
            .write::<(i64,)>(take(database, fate, of))
            .await?
            .len();
        taken += batch;
        if batch < BATCH as usize {
            return Ok(taken);
        }
    }
}

/// Stores a revision in place of a lower one, or of `instead_of`, and if so takes the last posts of these users in the
/// same transaction.
pub(crate) async fn advance(
    database: &Database,
    (revision, instead_of): (i64, Option<i64>),
    last_posts: Option<(PostsOfDeletedUsers, Deleted<'_>)>,
) -> Result<(), StoreError> {
    let set = " SET revision = $1 WHERE revision < $1 OR revision = $2 RETURNING revision";
    let update = database
        .statement("UPDATE ")
        .push(cursor(database))
        .push(set);
    let revision_is_stored = |of| Deleted {
        revision: i64::MAX,
        ..of
    };
    let last = last_posts.map(|(fate, of)| take(database, fate, revision_is_stored(of)));
    let then = Then::of_rows(|_: &[(i64,)]| Ok(last.into_iter().collect()));
    database
        .write_all(update.bind(revision).bind(instead_of), then)
        .await
        .map(drop)
}

fn take(database: &Database, fate: PostsOfDeletedUsers, of: Deleted<'_>) -> Statement {
    let take = match fate {
        PostsOfDeletedUsers::Keep => statement(database, "UPDATE ").push(" SET author_id = 0"),
        PostsOfDeletedUsers::Delete => statement(database, "DELETE FROM "),
    };
    take.push(" WHERE id IN (SELECT id FROM ")
        .push(posts(database))
        .push(" WHERE author_id > $1 AND author_id <= $2 AND id <= $3 AND EXISTS (SELECT 1 FROM ")
        .push(cursor(database))
        .push(" WHERE revision < $4) AND NOT author_id")
        .bind(of.after)
        .bind(of.last)
        .bind(of.newest_post)
        .bind(of.revision)
        .push_any(of.except)
        .push(" ORDER BY author_id, id LIMIT ")
        .push_bind(i64::from(BATCH))
        .push(") RETURNING id")
}

#[cfg(test)]
mod tests;
