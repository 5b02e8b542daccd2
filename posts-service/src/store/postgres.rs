//! Posts in PostgreSQL, in a schema of their own, because users may be in the same database.

use super::{NewPost, PostFilter, PostRows, PostSelector, PostStore, PostUpdate};
use crate::post::Post;
use async_trait::async_trait;
use rolegate_sql_store::{Migrations, PoolStats, StoreError, postgres::Pool};
use sqlx::{Row, postgres::PgRow};

/// The migrations; applied ones must not change, not even their comments.
pub(super) const MIGRATIONS: Migrations =
    &[(1, "post", include_str!("../../migrations/postgres/0001_post.sql"))];

/// Posts in PostgreSQL, shared by all replicas.
#[derive(Clone, Debug)]
pub struct PostgresStore {
    pool: Pool,
}

impl PostgresStore {
    /// The store on this pool.
    #[must_use]
    pub fn new(pool: Pool) -> Self {
        Self { pool }
    }
}

/// Selects a page: `$1` after, `$2` one more than the limit, `$3` bytes of contents. Reads only the
/// contents of the posts that it returns.
macro_rules! page {
    ($of_author:literal) => {
        concat!(
            "SELECT id, author_id, title, content, created_at, updated_at, found FROM (
                SELECT *, count(*) OVER () AS found,
                    sum(octet_length(content)) OVER (ORDER BY id) - octet_length(content) AS before
                FROM (SELECT * FROM posts.post WHERE ",
            $of_author,
            " id > $1 ORDER BY id LIMIT $2) AS page
            ) AS measured WHERE before < $3 ORDER BY id"
        )
    };
}

#[async_trait]
impl PostStore for PostgresStore {
    async fn ping(&self) -> Result<(), StoreError> {
        let ping = sqlx::query("SELECT 1");
        self.pool.run(|connection| Box::pin(ping.execute(connection))).await.map(drop)
    }

    async fn insert(&self, post: NewPost) -> Result<Post, StoreError> {
        let sql = "INSERT INTO posts.post (author_id, title, content, created_at, updated_at)
            VALUES ($1, $2, $3, $4, $4)
            RETURNING id, author_id, title, content, created_at, updated_at";
        let insert = sqlx::query(sql)
            .bind(post.author_id)
            .bind(post.content.title)
            .bind(post.content.content)
            .bind(post.now)
            .try_map(|row| post_from_row(&row));
        self.pool.run(|connection| Box::pin(insert.fetch_one(connection))).await
    }

    async fn posts_by_id(&self, ids: &[i64]) -> Result<Vec<Post>, StoreError> {
        let sql = "SELECT id, author_id, title, content, created_at, updated_at
            FROM posts.post WHERE id = ANY($1)";
        let select = sqlx::query(sql).bind(ids).try_map(|row| post_from_row(&row));
        self.pool.run(|connection| Box::pin(select.fetch_all(connection))).await
    }

    async fn page(&self, filter: &PostFilter) -> Result<PostRows, StoreError> {
        // One row more than the limit shows whether there is a next page.
        let select = match filter.author_id {
            None => sqlx::query(page!("")),
            Some(_) => sqlx::query(page!("author_id = $4 AND")),
        };
        let select = select.bind(filter.after).bind(filter.limit + 1).bind(filter.content_bytes);
        let select = match filter.author_id {
            None => select,
            Some(author_id) => select.bind(author_id),
        };
        let select = select.try_map(|row| found(&row));
        let rows = self.pool.run(|connection| Box::pin(select.fetch_all(connection))).await?;
        let found = rows.first().map_or(0, |(_, found)| *found);
        Ok(PostRows::new(rows.into_iter().map(|(post, _)| post).collect(), found, filter.limit))
    }

    async fn update(
        &self,
        selector: PostSelector,
        update: PostUpdate,
    ) -> Result<Option<Post>, StoreError> {
        // `updated_at` grows even if the clock goes back.
        let sql = "UPDATE posts.post
            SET title = $3, content = $4, updated_at = greatest($5, updated_at + 1)
            WHERE id = $1 AND ($2::bigint IS NULL OR author_id = $2)
            RETURNING id, author_id, title, content, created_at, updated_at";
        let update = sqlx::query(sql)
            .bind(selector.id)
            .bind(selector.author_id)
            .bind(update.content.title)
            .bind(update.content.content)
            .bind(update.now)
            .try_map(|row| post_from_row(&row));
        self.pool.run(|connection| Box::pin(update.fetch_optional(connection))).await
    }

    async fn delete(&self, selector: PostSelector) -> Result<Option<i64>, StoreError> {
        let sql = "DELETE FROM posts.post
            WHERE id = $1 AND ($2::bigint IS NULL OR author_id = $2) RETURNING author_id";
        let delete = sqlx::query_scalar(sql).bind(selector.id).bind(selector.author_id);
        self.pool.run(|connection| Box::pin(delete.fetch_optional(connection))).await
    }

    async fn author_of(&self, id: i64) -> Result<Option<i64>, StoreError> {
        let sql = "SELECT author_id FROM posts.post WHERE id = $1";
        let select = sqlx::query_scalar(sql).bind(id);
        self.pool.run(|connection| Box::pin(select.fetch_optional(connection))).await
    }

    fn pools(&self) -> Vec<PoolStats> {
        self.pool.stats()
    }

    async fn close(&self) {
        self.pool.close().await;
    }
}

fn post_from_row(row: &PgRow) -> sqlx::Result<Post> {
    Ok(Post {
        id: row.try_get("id")?,
        author_id: row.try_get("author_id")?,
        title: row.try_get("title")?,
        content: row.try_get("content")?,
        created_at: row.try_get("created_at")?,
        updated_at: row.try_get("updated_at")?,
    })
}

/// A post of a page, and the number of rows before `content_bytes` cut them off.
fn found(row: &PgRow) -> sqlx::Result<(Post, i64)> {
    Ok((post_from_row(row)?, row.try_get("found")?))
}
