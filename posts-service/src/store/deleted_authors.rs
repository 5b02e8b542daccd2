//! Posts of deleted users, and how far the history of users was followed: no change counts twice, so that a user who
//! is imported again keeps new posts.

use super::{posts, statement};
use crate::post::PostsOfDeletedUsers;
use rolegate_sql_store::{Database, Statement, StoreError, Then};

/// Posts in one transaction: of the longest, 20 MB.
const BATCH: u32 = 100;

/// How far the history of users was followed.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub(crate) struct Position {
    /// The last revision that was made use of; 0 for none.
    pub(crate) revision: i64,
    /// The last seal that was seen.
    pub(crate) seal: Option<String>,
    /// Whether an operator has said that the next history is right, whatever it is.
    pub(crate) accepts_any: bool,
    /// The id of the newest post.
    pub(crate) newest_post: i64,
}

/// An author, whom the time tells from another user who had the same id.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) struct PostAuthor {
    pub(crate) id: i64,
    /// When the author was made, in Unix seconds; `None` if it is not known.
    pub(crate) created_at: Option<i64>,
}

/// Which posts of an id were written by the user who was deleted.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) enum WrittenBy {
    /// All of them, because nothing is known of who was deleted.
    Anybody,
    /// Those of the user who was made then, in Unix seconds, and those of which it is not known.
    MadeAt(i64),
    /// Those of which exactly this is known.
    Exactly(Option<i64>),
}

/// The posts of a deleted user.
#[derive(Clone, Copy, Debug)]
pub(crate) struct Deleted {
    pub(crate) author_id: i64,
    pub(crate) written_by: WrittenBy,
    /// Only posts up to this one count.
    pub(crate) newest_post: i64,
    /// The revision of the deletion, which only counts while the stored one is lower; `None` for one that a snapshot
    /// shows.
    pub(crate) revision: Option<i64>,
}

/// A step along the history of users.
#[derive(Clone, Debug)]
pub(crate) struct Step {
    pub(crate) revision: i64,
    /// `None` keeps the stored one.
    pub(crate) seal: Option<String>,
    /// The revision that the snapshot of this step takes the place of; `None` for a step without a snapshot, which
    /// only leads forward.
    pub(crate) instead_of: Option<i64>,
}

fn cursor(database: &Database) -> &'static str {
    if database.is_postgres() {
        "posts.user_cursor"
    } else {
        "user_cursor"
    }
}

pub(crate) async fn position(database: &Database) -> Result<Position, StoreError> {
    let sql = "SELECT revision, seal, accepts_any, (SELECT coalesce(max(id), 0) FROM ";
    let select = statement(database, sql)
        .push(") FROM ")
        .push(cursor(database));
    let row = database.read::<(i64, String, bool, i64)>(select).await?;
    let (revision, seal, accepts_any, newest_post) = row.into_iter().next().unwrap_or_default();
    Ok(Position {
        revision,
        seal: (!seal.is_empty()).then_some(seal),
        accepts_any,
        newest_post,
    })
}

/// The authors of posts up to `newest_post` with ids behind `after`, up to `last`, by ascending id. An id comes once for
/// each of its users.
pub(crate) async fn authors(
    database: &Database,
    after: i64,
    last: i64,
    newest_post: i64,
) -> Result<Vec<PostAuthor>, StoreError> {
    let select = statement(
        database,
        "SELECT DISTINCT author_id, author_created_at FROM ",
    )
    .push(" WHERE author_id > $1 AND author_id <= $2 AND id <= $3 ORDER BY author_id")
    .bind(after)
    .bind(last)
    .bind(newest_post);
    let rows = database.read::<(i64, Option<i64>)>(select).await?;
    Ok(rows
        .into_iter()
        .map(|(id, created_at)| PostAuthor { id, created_at })
        .collect())
}

/// Takes the posts of a deleted user in batches. Returns their number.
pub(crate) async fn take_posts(
    database: &Database,
    fate: PostsOfDeletedUsers,
    of: Deleted,
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

/// Stores a step, unless the stored position is as far or an operator has given it up; and if it is stored, takes the
/// last posts of a user in the same transaction.
pub(crate) async fn advance(
    database: &Database,
    step: Step,
    last_posts: Option<(PostsOfDeletedUsers, Deleted)>,
) -> Result<(), StoreError> {
    let update = database
        .statement("UPDATE ")
        .push(cursor(database))
        .push(" SET revision = $1, seal = coalesce($2, seal), accepts_any = false WHERE ")
        .bind(step.revision)
        .bind(step.seal);
    let update = match step.instead_of {
        Some(replaced) => update.push("revision < $1 OR revision = $3").bind(replaced),
        None => update.push("revision < $1 AND NOT accepts_any"),
    };
    let update = update.push(" RETURNING revision");
    let last = last_posts.map(|(fate, of)| {
        let revision_is_stored = Deleted {
            revision: None,
            ..of
        };
        take(database, fate, revision_is_stored)
    });
    let then = Then::of_rows(|_: &[(i64,)]| Ok(last.into_iter().collect()));
    database.write_all(update, then).await.map(drop)
}

/// Gives up the history that was followed: the next one counts, whatever it is.
pub(crate) async fn accept_any(database: &Database) -> Result<(), StoreError> {
    let update = database
        .statement("UPDATE ")
        .push(cursor(database))
        .push(" SET revision = 0, seal = '', accepts_any = true RETURNING revision");
    database.write::<(i64,)>(update).await.map(drop)
}

fn take(database: &Database, fate: PostsOfDeletedUsers, of: Deleted) -> Statement {
    let take = match fate {
        PostsOfDeletedUsers::Keep => statement(database, "UPDATE ").push(" SET author_id = 0"),
        PostsOfDeletedUsers::Delete => statement(database, "DELETE FROM "),
    };
    let mut take = take
        .push(" WHERE id IN (SELECT id FROM ")
        .push(posts(database))
        .push(" WHERE author_id = $1 AND id <= $2")
        .bind(of.author_id)
        .bind(of.newest_post);
    take = match of.written_by {
        WrittenBy::Anybody => take,
        WrittenBy::MadeAt(created_at) => take
            .push(" AND (author_created_at IS NULL OR author_created_at = ")
            .push_bind(created_at)
            .push(")"),
        WrittenBy::Exactly(None) => take.push(" AND author_created_at IS NULL"),
        WrittenBy::Exactly(Some(created_at)) => {
            take.push(" AND author_created_at = ").push_bind(created_at)
        }
    };
    if let Some(revision) = of.revision {
        take = take
            .push(" AND EXISTS (SELECT 1 FROM ")
            .push(cursor(database))
            .push(" WHERE NOT accepts_any AND revision < ")
            .push_bind(revision)
            .push(")");
    }
    take.push(" ORDER BY id LIMIT ")
        .push_bind(i64::from(BATCH))
        .push(") RETURNING id")
}

#[cfg(test)]
mod tests;
