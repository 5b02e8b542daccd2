//! The statements that detach or delete the posts of deleted users, and that store how far the history of users was
//! followed.
//!
//! The stored position keeps a change from counting twice. Otherwise, a user who is deleted and imported again could
//! lose new posts.

use super::{posts, statement};
use crate::post::{PostAuthor, PostsOfDeletedUsers};
use rolegate_sql_store::{Database, FollowUp, Statement, StoreError, row};

/// The maximum number of posts that one transaction changes. A hundred of the longest have 20 MB.
const MAX_BATCH: u32 = 100;

row! {
    /// How far posts-service has followed the history of users.
    #[derive(Clone, Debug, Default, PartialEq, Eq)]
    pub(crate) struct Position {
        /// The last revision that was handled; 0 if there is none.
        pub(crate) revision: i64,
        /// The last seal that auth-service has sent.
        pub(crate) seal: Option<String>,
        /// True if an operator has accepted the next history, whatever it is.
        pub(crate) accepts_any: bool,
        /// How often an operator has given up the followed history.
        pub(crate) generation: i64,
        /// The id of the newest post; 0 if there are no posts.
        pub(crate) newest_post: i64,
    }
}

/// Says whether posts-service still follows the history of users that a position belongs to.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) enum History {
    /// It is the history that posts-service follows.
    Followed,
    /// An operator has given this history up meanwhile, so nothing of it is stored any more.
    GivenUp,
}

/// Selects, among the posts with one author id, those that the deleted user has written. Several users may have had the
/// same id, one after the other.
#[derive(Clone, Copy, Debug)]
pub(crate) enum WrittenBy {
    /// Selects all posts with the id.
    AnyUser,
    /// Selects the posts of the user who was created at this time, in Unix seconds. Also selects posts whose author has
    /// no known time of creation.
    CreatedAtOrUnknown(i64),
    /// Selects the posts of the user who was created at this time, in Unix seconds.
    CreatedAt(i64),
}

/// Selects the posts of a deleted user.
#[derive(Clone, Copy, Debug)]
pub(crate) struct OrphanedPosts {
    pub(crate) author_id: i64,
    pub(crate) written_by: WrittenBy,
    /// The last post that counts. Later posts are left alone.
    pub(crate) newest_post: i64,
    /// The revision of the deletion, which counts only while the stored revision is lower; `None` for a deletion that a
    /// snapshot shows.
    pub(crate) revision: Option<i64>,
    /// The generation of the followed position. The stored generation is higher once an operator has given up the
    /// history.
    pub(crate) generation: i64,
}

/// Selects a range of the authors of posts.
#[derive(Clone, Copy, Debug)]
pub(crate) struct AuthorRange {
    /// The author ids in the range are greater than this one.
    pub(crate) after: i64,
    /// The last author id in the range.
    pub(crate) last: i64,
    /// The last post that counts. Authors who have written only later posts are left out.
    pub(crate) newest_post: i64,
}

/// The next position in the history of users.
#[derive(Debug)]
pub(crate) struct NextPosition {
    pub(crate) revision: i64,
    /// The seal of the revision; `None` keeps the stored seal.
    pub(crate) seal: Option<String>,
    /// The stored revision that a snapshot may replace, even by a lower one; `None` for a position that must be ahead
    /// of the stored one.
    pub(crate) replaces_revision: Option<i64>,
    /// The generation of the followed position.
    pub(crate) generation: i64,
}

/// Returns the name of the table with the position, which has one row.
fn cursor(database: &Database) -> &'static str {
    if database.is_postgres() {
        "posts.user_cursor"
    } else {
        "user_cursor"
    }
}

/// Reads the stored position, and the id of the newest post.
pub(crate) async fn position(database: &Database) -> Result<Position, StoreError> {
    let sql = "SELECT revision, nullif(seal, '') AS seal, accepts_any, generation,
        (SELECT coalesce(max(id), 0) FROM ";
    let select = statement(database, sql)
        .push(") AS newest_post FROM ")
        .push(cursor(database));
    Ok(database.read(select).await?.pop().unwrap_or_default())
}

/// Returns the ids of the authors in this range, in ascending order.
pub(crate) async fn author_ids(
    database: &Database,
    range: AuthorRange,
) -> Result<Vec<i64>, StoreError> {
    let select = statement(database, "SELECT DISTINCT author_id FROM ")
        .push(" WHERE author_id > $1 AND author_id <= $2 AND id <= $3 ORDER BY author_id")
        .bind(range.after)
        .bind(range.last)
        .bind(range.newest_post);
    database.read(select).await
}

/// Returns the authors in this range whose time of creation is known, by ascending id. If several users had an id, the
/// id comes once for each.
pub(crate) async fn authors_with_creation_time(
    database: &Database,
    range: AuthorRange,
) -> Result<Vec<PostAuthor>, StoreError> {
    let select = statement(
        database,
        "SELECT DISTINCT author_id AS id, author_created_at AS created_at FROM ",
    )
    .push(" WHERE author_created_at IS NOT NULL AND author_id > $1 AND author_id <= $2")
    .push(" AND id <= $3 ORDER BY author_id")
    .bind(range.after)
    .bind(range.last)
    .bind(range.newest_post);
    database.read(select).await
}

/// Detaches or deletes the posts of a deleted user in batches. Returns the number of posts.
pub(crate) async fn detach_or_delete_posts(
    database: &Database,
    policy: PostsOfDeletedUsers,
    posts: OrphanedPosts,
) -> Result<usize, StoreError> {
    write_in_batches(database, || detach_or_delete_batch(database, policy, posts)).await
}

/// Gives the posts of the author `from`, up to `newest_post`, to the author `to`, who has the same id but another time
/// of creation.
pub(crate) async fn reassign_posts(
    database: &Database,
    from: PostAuthor,
    to: PostAuthor,
    newest_post: i64,
) -> Result<usize, StoreError> {
    let reassign = || {
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
            .push_bind(i64::from(MAX_BATCH))
            .push(") RETURNING id")
    };
    write_in_batches(database, reassign).await
}

/// Repeats a statement until it changes less than a full batch. Returns the number of changed posts.
async fn write_in_batches(
    database: &Database,
    statement: impl Fn() -> Statement,
) -> Result<usize, StoreError> {
    let mut all = 0;
    loop {
        let batch = database.execute(statement()).await?;
        all += batch;
        if batch < MAX_BATCH as usize {
            return Ok(all);
        }
    }
}

/// Stores a position of a followed history, unless the stored revision is already as high.
pub(crate) async fn advance(
    database: &Database,
    next: NextPosition,
) -> Result<History, StoreError> {
    store_position(database, next, FollowUp::none()).await
}

/// Stores a position as [`advance`] does. If it is stored, also detaches or deletes the last posts of a user, in the
/// same transaction.
pub(crate) async fn advance_with_last_posts(
    database: &Database,
    next: NextPosition,
    policy: PostsOfDeletedUsers,
    posts: OrphanedPosts,
) -> Result<History, StoreError> {
    let posts = OrphanedPosts {
        // The transaction has already stored the revision of the deletion.
        revision: None,
        ..posts
    };
    let last_posts = detach_or_delete_batch(database, policy, posts);
    let then = FollowUp::new(move |_| Ok(vec![last_posts.clone()]));
    store_position(database, next, then).await
}

async fn store_position(
    database: &Database,
    next: NextPosition,
    then: FollowUp<i64>,
) -> Result<History, StoreError> {
    let generation = next.generation;
    let update = database
        .statement("UPDATE ")
        .push(cursor(database))
        .push(" SET revision = $1, seal = coalesce($2, seal), accepts_any = false")
        .push(" WHERE generation = $3 AND ")
        .bind(next.revision)
        .bind(next.seal)
        .bind(generation);
    let update = match next.replaces_revision {
        Some(replaced) => update
            .push("(revision < $1 OR revision = $4)")
            .bind(replaced),
        None => update.push("revision < $1"),
    };
    let update = update.push(" RETURNING revision");
    let is_stored = !database.write_with(update, then).await?.is_empty();
    if is_stored || position(database).await?.generation == generation {
        Ok(History::Followed)
    } else {
        Ok(History::GivenUp)
    }
}

/// Gives up the history that was followed, so that the next one counts, whatever it is.
pub(crate) async fn accept_next_history(database: &Database) -> Result<(), StoreError> {
    let update = database
        .statement("UPDATE ")
        .push(cursor(database))
        .push(" SET revision = 0, seal = '', accepts_any = true, generation = generation + 1 RETURNING revision");
    database.execute(update).await.map(drop)
}

/// Returns the statement that detaches or deletes the first posts of a deleted user.
fn detach_or_delete_batch(
    database: &Database,
    policy: PostsOfDeletedUsers,
    orphaned: OrphanedPosts,
) -> Statement {
    let change = match policy {
        PostsOfDeletedUsers::Detach => statement(database, "UPDATE ").push(" SET author_id = 0"),
        PostsOfDeletedUsers::Delete => statement(database, "DELETE FROM "),
    };
    let mut change = change
        .push(" WHERE id IN (SELECT id FROM ")
        .push(posts(database))
        .push(" WHERE author_id = $1 AND id <= $2")
        .bind(orphaned.author_id)
        .bind(orphaned.newest_post);
    change = match orphaned.written_by {
        WrittenBy::AnyUser => change,
        WrittenBy::CreatedAtOrUnknown(created_at) => change
            .push(" AND (author_created_at IS NULL OR author_created_at = ")
            .push_bind(created_at)
            .push(")"),
        WrittenBy::CreatedAt(created_at) => change
            .push(" AND author_created_at = ")
            .push_bind(created_at),
    };
    change = change
        .push(" AND EXISTS (SELECT 1 FROM ")
        .push(cursor(database))
        .push(" WHERE generation = ")
        .push_bind(orphaned.generation);
    if let Some(revision) = orphaned.revision {
        change = change.push(" AND revision < ").push_bind(revision);
    }
    change
        .push(") ORDER BY id LIMIT ")
        .push_bind(i64::from(MAX_BATCH))
        .push(") RETURNING id")
}

#[cfg(test)]
mod tests;
