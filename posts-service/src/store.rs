//! The database of posts, in PostgreSQL or SQLite. Only this module contains SQL.
//!
//! This file contains the schema, and the statements that read and write posts. `deleted_authors` contains the
//! statements for the posts of deleted users, and stores how far posts-service has followed the history of users. The
//! times of posts are in milliseconds since 1970-01-01T00:00:00Z; the time at which an author was created is in Unix
//! seconds.

pub(crate) mod deleted_authors;

use crate::post::{Post, PostAuthor, PostContent};
use rolegate_program::failure::Failure;
pub use rolegate_sql_store::Database;
use rolegate_sql_store::{
    DatabaseUrl, FileClock, Inspection, Statement, Store as _, StoreError, Tables, migrations, row,
};
use std::sync::Arc;

/// The label of this store in metrics.
pub(crate) const NAME: &str = "posts";

/// Selects the post to update or delete. The statement that writes checks both conditions itself.
#[derive(Clone, Copy, Debug)]
pub(crate) struct PostSelector {
    pub(crate) id: i64,
    /// The id of the author whom the post must have; `None` accepts any author.
    pub(crate) author_id: Option<i64>,
}

/// Selects a page of posts.
#[derive(Clone, Copy, Debug)]
pub(crate) struct PostFilter {
    /// The id after which the page begins; 0 begins with the first post.
    pub(crate) after: i64,
    /// The id of the author whose posts are selected; `None` selects the posts of all authors.
    pub(crate) author_id: Option<i64>,
    /// The maximum number of posts on the page.
    pub(crate) limit: i64,
    /// The total size of the contents, in bytes, at which the page ends. The post that reaches this size is still on
    /// the page.
    pub(crate) content_bytes: i64,
}

/// The tables of posts-service. In PostgreSQL they have a schema of their own, because the tables of auth-service may
/// be in the same database. Applied migrations must not change, not even their comments, because their digests are
/// stored.
const TABLES: Tables = Tables {
    owner: "posts-service",
    marker_table: "post",
    schema: Some("posts"),
    migrations: migrations!(
        1 "post" "0001_post",
        2 "user cursor" "0002_user_cursor",
        3 "user history" "0003_user_history"
    ),
};

/// Selects the last id that an SQLite file has assigned to a post.
pub const LAST_ID_IN_FILE: &str = "SELECT seq FROM sqlite_sequence WHERE name = 'post'";

/// The minimum number of ids that are skipped after a restore. It is greater than the number of posts that are created
/// between two backups.
const SKIPPED_IDS: i64 = 1_000_000;

row! {
    /// A row of a page. `found` is the number of posts that the page would have without the limit `content_bytes`,
    /// including the post after a full page.
    struct PageRow {
        ..post: Post,
        found: i64,
    }
}

/// A page of posts by ascending id.
#[derive(Debug)]
pub(crate) struct PostPage {
    pub(crate) posts: Vec<Post>,
    /// True if there are posts after this page.
    pub(crate) has_more: bool,
}

const SELECT: &str = "SELECT id, author_id, title, content, created_at, updated_at FROM ";
const RETURNING: &str = " RETURNING id, author_id, title, content, created_at, updated_at";
const WHERE_SELECTED: &str = " WHERE id = $1 AND ($2 IS NULL OR author_id = $2)";

/// Opens the store and migrates its schema: see [`DatabaseUrl::open`].
pub async fn open(url: &DatabaseUrl) -> Result<Arc<Database>, Failure> {
    Ok(Arc::new(url.open(&TABLES, FileClock::Unused).await?))
}

/// Skips the ids that were assigned since a backup, and migrates its schema. `replaced` is the last id that was assigned
/// in the database that the backup replaces; 0 if it is not known.
pub async fn skip_restored_ids(posts: &DatabaseUrl, replaced: i64) -> Result<(), Failure> {
    let database = open(posts).await?;
    let skipped = skip_ids(&database, replaced).await;
    database.close().await;
    Ok(skipped?)
}

/// Skips ids, so that new posts get higher ids than any that this database or another one has assigned. `other` is the
/// last id that the other database has assigned; 0 if there is no other one.
async fn skip_ids(database: &Database, other: i64) -> Result<(), StoreError> {
    let mut transaction = database.begin().await?;
    transaction
        .skip_ids(posts(database), other, SKIPPED_IDS)
        .await?;
    transaction.commit().await
}

/// Reads the state of the database and its schema, without changing anything.
pub async fn inspect(url: &DatabaseUrl) -> Result<Inspection, Failure> {
    url.inspect(&TABLES).await
}

/// Returns the name of the table of posts, including its schema in PostgreSQL.
fn posts(database: &Database) -> &'static str {
    if database.is_postgres() {
        "posts.post"
    } else {
        "post"
    }
}

/// Returns a statement that starts with this SQL and the name of the table of posts.
fn statement(database: &Database, sql: &'static str) -> Statement {
    database.statement(sql).push(posts(database))
}

/// Inserts a post with the time `now`, and returns it with the id that the database has assigned.
pub(crate) async fn insert(
    database: &Database,
    author: PostAuthor,
    content: PostContent,
    now: i64,
) -> Result<Post, StoreError> {
    let values = " (author_id, title, content, created_at, updated_at, author_created_at)
        VALUES ($1, $2, $3, $4, $4, $5)";
    let insert = statement(database, "INSERT INTO ")
        .push(values)
        .push(RETURNING)
        .bind(author.id)
        .bind(content.title)
        .bind(content.content)
        .bind(now)
        .bind(author.created_at);
    let inserted = database.write(insert).await?.pop();
    inserted.ok_or_else(StoreError::row_not_found)
}

/// Returns the posts with these ids, each once, in no particular order. Ids without a post are ignored.
pub(crate) async fn posts_by_id(database: &Database, ids: &[i64]) -> Result<Vec<Post>, StoreError> {
    let select = statement(database, SELECT).push(" WHERE id").push_any(ids);
    database.read(select).await
}

/// Returns the total size in bytes of the titles and contents of the posts with these ids. Ids without a post are
/// ignored.
pub(crate) async fn size_by_id(database: &Database, ids: &[i64]) -> Result<i64, StoreError> {
    let sql = "SELECT coalesce(sum(octet_length(title) + octet_length(content)), 0) FROM ";
    let select = statement(database, sql).push(" WHERE id").push_any(ids);
    let size = database.read_optional(select).await?;
    Ok(size.unwrap_or_default())
}

/// Returns a page of the posts that `filter` selects, by ascending id. The database sends the content of at most one
/// post that is not on the page.
pub(crate) async fn page(database: &Database, filter: &PostFilter) -> Result<PostPage, StoreError> {
    let sql = "SELECT id, author_id, title, content, created_at, updated_at, found FROM (
        SELECT *, count(*) OVER () AS found,
            sum(octet_length(content)) OVER (ORDER BY id) - octet_length(content) AS before
        FROM (SELECT * FROM ";
    let mut select = statement(database, sql)
        .push(" WHERE id > ")
        .push_bind(filter.after);
    if let Some(author_id) = filter.author_id {
        select = select.push(" AND author_id = ").push_bind(author_id);
    }
    // The statement reads one row more than the limit, which shows whether there is a next page.
    let select = select
        .push(" ORDER BY id LIMIT ")
        .push_bind(filter.limit + 1)
        .push(") AS page) AS measured WHERE before < ")
        .push_bind(filter.content_bytes)
        .push(" ORDER BY id");
    let rows = database.read::<PageRow>(select).await?;
    let found = rows.first().map_or(0, |row| row.found);
    let limit = usize::try_from(filter.limit).unwrap_or(usize::MAX);
    let posts: Vec<Post> = rows.into_iter().take(limit).map(|row| row.post).collect();
    let has_more = usize::try_from(found).is_ok_and(|found| found > posts.len());
    Ok(PostPage { posts, has_more })
}

/// Replaces the title and content of the selected post, and increases its `updated_at`. Returns the changed post;
/// `None` if no post matches.
pub(crate) async fn update(
    database: &Database,
    selector: PostSelector,
    content: PostContent,
    now: i64,
) -> Result<Option<Post>, StoreError> {
    // The expression increases `updated_at` even if the clock goes back.
    let values = " SET title = $3, content = $4, updated_at =
        CASE WHEN $5 > updated_at THEN $5 ELSE updated_at + 1 END";
    let update = statement(database, "UPDATE ")
        .push(values)
        .push(WHERE_SELECTED)
        .push(RETURNING)
        .bind(selector.id)
        .bind(selector.author_id)
        .bind(content.title)
        .bind(content.content)
        .bind(now);
    Ok(database.write(update).await?.pop())
}

/// Deletes the selected post, and returns the id of its author; `None` if no post matches.
pub(crate) async fn delete(
    database: &Database,
    selector: PostSelector,
) -> Result<Option<i64>, StoreError> {
    let delete = statement(database, "DELETE FROM ")
        .push(WHERE_SELECTED)
        .push(" RETURNING author_id")
        .bind(selector.id)
        .bind(selector.author_id);
    Ok(database.write(delete).await?.pop())
}

/// Returns the id of the author of a post; `None` if the post does not exist.
pub(crate) async fn author_of(database: &Database, id: i64) -> Result<Option<i64>, StoreError> {
    let select = statement(database, "SELECT author_id FROM ")
        .push(" WHERE id = $1")
        .bind(id);
    database.read_optional(select).await
}

#[cfg(test)]
mod tests;
