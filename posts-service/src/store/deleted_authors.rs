//! Posts of deleted users, and how far the history of users was followed: no change counts twice, so that a user who
//! is imported again keeps new posts.

use super::{posts, statement};
use crate::post::PostsOfDeletedUsers;
use rolegate_sql_store::{Database, FollowUp, Statement, StoreError};

/// Posts in one transaction: of the longest, 20 MB.
const BATCH: u32 = 100;

/// How far the history of users was followed.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub(crate) struct Position {
    /// The last revision that was made use of; 0 for none.
    pub(crate) revision: i64,
    /// The last seal that was seen.
    pub(crate) seal: Option<String>,
    /// Whether an operator has accepted the next history, whatever it is.
    pub(crate) accepts_any: bool,
    /// How often an operator has done so.
    pub(crate) generation: i64,
    /// The id of the newest post.
    pub(crate) newest_post: i64,
}

/// An author, whom the time tells from another user who had the same id.
#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord)]
pub(crate) struct PostAuthor {
    pub(crate) id: i64,
    /// When the author was created, in Unix seconds; `None` if it is not known.
    pub(crate) created_at: Option<i64>,
}

/// Which posts of an id were written by the user who was deleted.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) enum WrittenBy {
    /// All of them.
    AnyUser,
    /// Those of the user who was created then, in Unix seconds, and those of which it is not known.
    CreatedAtOrUnknown(i64),
    /// Those of the user who was created then.
    CreatedAt(i64),
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
    /// That of the position that is followed: another one is of an operator who has given up the history.
    pub(crate) generation: i64,
}

/// A step along the history of users.
#[derive(Clone, Debug)]
pub(crate) struct Step {
    pub(crate) revision: i64,
    /// `None` keeps the stored one.
    pub(crate) seal: Option<String>,
    /// For a snapshot, the stored revision that it may replace, even by a lower one; `None` for a step that must lead
    /// forward.
    pub(crate) replaces_revision: Option<i64>,
    /// That of the position that is followed.
    pub(crate) generation: i64,
}

fn cursor(database: &Database) -> &'static str {
    if database.is_postgres() {
        "posts.user_cursor"
    } else {
        "user_cursor"
    }
}

pub(crate) async fn position(database: &Database) -> Result<Position, StoreError> {
    let sql = "SELECT revision, seal, accepts_any, generation, (SELECT coalesce(max(id), 0) FROM ";
    let select = statement(database, sql)
        .push(") FROM ")
        .push(cursor(database));
    let row = database
        .read::<(i64, String, bool, i64, i64)>(select)
        .await?
        .pop();
    let (revision, seal, accepts_any, generation, newest_post) = row.unwrap_or_default();
    Ok(Position {
        revision,
        seal: (!seal.is_empty()).then_some(seal),
        accepts_any,
        generation,
        newest_post,
    })
}

/// The ids of the authors of posts up to `newest_post`, behind `after`, up to `last`, in ascending order.
pub(crate) async fn author_ids(
    database: &Database,
    after: i64,
    last: i64,
    newest_post: i64,
) -> Result<Vec<i64>, StoreError> {
    let select = statement(database, "SELECT DISTINCT author_id FROM ")
        .push(" WHERE author_id > $1 AND author_id <= $2 AND id <= $3 ORDER BY author_id")
        .bind(after)
        .bind(last)
        .bind(newest_post);
    let rows = database.read::<(i64,)>(select).await?;
    Ok(rows.into_iter().map(|(id,)| id).collect())
}

/// The same authors, of whom it is known when they were created, by ascending id. An id comes once for each of its users.
pub(crate) async fn dated_authors(
    database: &Database,
    after: i64,
    last: i64,
    newest_post: i64,
) -> Result<Vec<PostAuthor>, StoreError> {
    let select = statement(
        database,
        "SELECT DISTINCT author_id, author_created_at FROM ",
    )
    .push(" WHERE author_created_at IS NOT NULL AND author_id > $1 AND author_id <= $2")
    .push(" AND id <= $3 ORDER BY author_id")
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
    in_batches(database, || take(database, fate, of)).await
}

/// Dates the posts up to `newest_post` of an author of another time as those of this author, who has the same id.
pub(crate) async fn date_posts(
    database: &Database,
    from: PostAuthor,
    to: PostAuthor,
    newest_post: i64,
) -> Result<usize, StoreError> {
    let date = || {
        statement(database, "UPDATE ")
            .push(" SET author_created_at = $1 WHERE id IN (SELECT id FROM ")
            .push(posts(database))
            .push(
                " WHERE author_id = $2 AND author_created_at = $3 AND id <= $4 ORDER BY id LIMIT ",
            )
            .bind(to.created_at)
            .bind(from.id)
            .bind(from.created_at)
            .bind(newest_post)
            .push_bind(i64::from(BATCH))
            .push(") RETURNING id")
    };
    in_batches(database, date).await
}

async fn in_batches(
    database: &Database,
    statement: impl Fn() -> Statement,
) -> Result<usize, StoreError> {
    let mut all = 0;
    loop {
        let batch = database.write::<(i64,)>(statement()).await?.len();
        all += batch;
        if batch < BATCH as usize {
            return Ok(all);
        }
    }
}

/// Stores a step unless the stored revision is already as high, or an operator has given up the history since. If it is
/// stored, the last posts of a user are taken in the same transaction. Whether the history is still the one that is
/// followed.
pub(crate) async fn advance(
    database: &Database,
    step: Step,
    last_posts: Option<(PostsOfDeletedUsers, Deleted)>,
) -> Result<bool, StoreError> {
    let update = database
        .statement("UPDATE ")
        .push(cursor(database))
        .push(" SET revision = $1, seal = coalesce($2, seal), accepts_any = false")
        .push(" WHERE generation = $3 AND ")
        .bind(step.revision)
        .bind(step.seal)
        .bind(step.generation);
    let update = match step.replaces_revision {
        Some(replaced) => update
            .push("(revision < $1 OR revision = $4)")
            .bind(replaced),
        None => update.push("revision < $1"),
    };
    let update = update.push(" RETURNING revision");
    let last = last_posts.map(|(fate, of)| {
        let revision_is_stored = Deleted {
            revision: None,
            ..of
        };
        take(database, fate, revision_is_stored)
    });
    let then = FollowUp::new(move |_: &[(i64,)]| Ok(last.clone().into_iter().collect()));
    let is_stored = !database.write_with(update, then).await?.is_empty();
    Ok(is_stored || position(database).await?.generation == step.generation)
}

/// Gives up the history that was followed: the next one counts, whatever it is.
pub(crate) async fn accept_any(database: &Database) -> Result<(), StoreError> {
    let update = database
        .statement("UPDATE ")
        .push(cursor(database))
        .push(" SET revision = 0, seal = '', accepts_any = true, generation = generation + 1 RETURNING revision");
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
        WrittenBy::AnyUser => take,
        WrittenBy::CreatedAtOrUnknown(created_at) => take
            .push(" AND (author_created_at IS NULL OR author_created_at = ")
            .push_bind(created_at)
            .push(")"),
        WrittenBy::CreatedAt(created_at) => {
            take.push(" AND author_created_at = ").push_bind(created_at)
        }
    };
    take = take
        .push(" AND EXISTS (SELECT 1 FROM ")
        .push(cursor(database))
        .push(" WHERE generation = ")
        .push_bind(of.generation);
    if let Some(revision) = of.revision {
        take = take.push(" AND revision < ").push_bind(revision);
    }
    take = take.push(")");
    take.push(" ORDER BY id LIMIT ")
        .push_bind(i64::from(BATCH))
        .push(") RETURNING id")
}

#[cfg(test)]
mod tests;
