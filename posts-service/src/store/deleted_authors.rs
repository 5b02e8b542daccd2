//! The statements that detach or delete the posts of deleted users, and that store how far posts-service has followed
//! the history of users.
//!
//! The stored position keeps a deletion from being handled twice. Otherwise, a user who was deleted and imported again
//! could lose new posts.

use super::{posts, statement};
use crate::post::{PostAuthor, PostsOfDeletedUsers};
use rolegate_sql_store::{Database, FollowUp, Statement, StoreError, row};

/// The maximum number of posts that one transaction changes. A hundred posts of the maximum length have 20 MB.
const MAX_BATCH: u32 = 100;

row! {
    /// How far posts-service has followed the history of users.
    #[derive(Debug, Default, PartialEq, Eq)]
    pub(crate) struct Position {
        /// The last revision that was handled; 0 if none was handled.
        pub(crate) revision: i64,
        /// The last seal that auth-service has sent; `None` if it has sent none.
        pub(crate) seal: Option<String>,
        /// True if an operator has accepted whatever history auth-service sends next.
        pub(crate) accepts_any: bool,
        /// The number of times that an operator has given up the followed history.
        pub(crate) generation: i64,
        /// The id of the newest post; 0 if there are no posts.
        pub(crate) newest_post: i64,
    }
}

/// The state of the history of users to which a position belongs.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) enum History {
    /// posts-service follows this history.
    Followed,
    /// An operator has given up this history meanwhile, so no more positions in it are stored.
    GivenUp,
}

/// Selects the posts that a deleted user has written among all posts with the same author id. Several users may have
/// had this id, one after the other.
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

/// Selects the posts of a deleted user, which are deleted or detached.
#[derive(Clone, Copy, Debug)]
pub(crate) struct OrphanedPosts {
    pub(crate) author_id: i64,
    pub(crate) written_by: WrittenBy,
    /// The id of the last post that is selected. Later posts stay as they are.
    pub(crate) newest_post: i64,
    /// The revision of the deletion. Posts are selected only while the stored revision is lower. `None` if the user is
    /// missing from a snapshot, so that no revision of the deletion is known.
    pub(crate) revision: Option<i64>,
    /// The generation of the history that is being followed. No posts are selected once an operator has given up this
    /// history, because the stored generation is higher then.
    pub(crate) generation: i64,
}

/// Selects a range of the authors of posts.
#[derive(Clone, Copy, Debug)]
pub(crate) struct AuthorRange {
    /// The id after which the range begins.
    pub(crate) after: i64,
    /// The last author id in the range.
    pub(crate) last: i64,
    /// The id of the last post that is searched. Authors who have written only later posts are left out.
    pub(crate) newest_post: i64,
}

/// The next position in the history of users.
#[derive(Debug)]
pub(crate) struct NextPosition {
    pub(crate) revision: i64,
    /// The seal of the revision; `None` keeps the stored seal.
    pub(crate) seal: Option<String>,
    /// The stored revision that a snapshot may replace even with a lower one; `None` for a position that is stored only
    /// if its revision is higher than the stored one.
    pub(crate) replaces_revision: Option<i64>,
    /// The generation of the history that is being followed.
    pub(crate) generation: i64,
}

/// Returns the name of the table that stores the position in its only row.
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
    Ok(database.read_optional(select).await?.unwrap_or_default())
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

/// Returns the authors in this range whose time of creation is known, by ascending id. If several users had the same
/// id, returns an author for each of them.
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

/// Detaches or deletes the posts of a deleted user in batches, as `policy` says. Returns the number of these posts.
pub(crate) async fn detach_or_delete_posts(
    database: &Database,
    policy: PostsOfDeletedUsers,
    posts: OrphanedPosts,
) -> Result<usize, StoreError> {
    write_in_batches(database, || detach_or_delete_batch(database, policy, posts)).await
}

/// Reassigns the posts of the author `from`, up to the id `newest_post`, to the author `to`, who has the same id but
/// another time of creation. Returns the number of these posts.
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
                " WHERE author_id = $2 AND author_created_at = $3 AND id <= $4
                ORDER BY id LIMIT $5) RETURNING id",
            )
            .bind(to.created_at)
            .bind(from.id)
            .bind(from.created_at)
            .bind(newest_post)
            .bind(i64::from(MAX_BATCH))
    };
    write_in_batches(database, reassign).await
}

/// Repeats a statement until it changes fewer posts than a full batch. Returns the number of changed posts.
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

/// Stores a position if its history is still followed and its revision is higher than the stored one, or replaces it as
/// [`NextPosition::replaces_revision`] says. Returns whether the history is still followed.
pub(crate) async fn advance(
    database: &Database,
    next: NextPosition,
) -> Result<History, StoreError> {
    store_position(database, next, FollowUp::none()).await
}

/// Stores a position as [`advance`] does. If the position is stored, the same transaction also detaches or deletes a
/// last batch of posts of a user.
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
    let then = FollowUp::fixed(vec![last_posts]);
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

/// Gives up the followed history of users, so that posts-service follows whatever history auth-service sends next.
pub(crate) async fn accept_next_history(database: &Database) -> Result<(), StoreError> {
    let update = database
        .statement("UPDATE ")
        .push(cursor(database))
        .push(" SET revision = 0, seal = '', accepts_any = true, generation = generation + 1 RETURNING revision");
    database.execute(update).await.map(drop)
}

/// Returns the statement that detaches or deletes the next batch of posts of a deleted user.
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
