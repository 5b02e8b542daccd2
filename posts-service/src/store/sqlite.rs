//! Posts in an SQLite file.
//!
//! Writes use `fetch_all`, never `fetch_optional`: see [`rolegate_sql_store::sqlite`].

use super::{NewPost, PostFilter, PostRows, PostSelector, PostStore, PostUpdate};
use crate::post::Post;
use async_trait::async_trait;
use rolegate_sql_store::{Migrations, PoolStats, StoreError, sqlite::Pools, with_timeout};
use sqlx::{Row, sqlite::SqliteRow};

/// The migrations; applied ones must not change, not even their comments.
pub(super) const MIGRATIONS: Migrations =
    &[(1, "post", include_str!("../../migrations/sqlite/0001_post.sql"))];

/// Posts in an SQLite file. Processes of one machine may share it.
#[derive(Clone, Debug)]
pub struct SqliteStore {
    pools: Pools,
}

impl SqliteStore {
    /// The store in this file.
    #[must_use]
    pub fn new(pools: Pools) -> Self {
        Self { pools }
    }
}

/// Selects a page: `?1` after, `?2` one more than the limit, `?3` bytes of contents.
macro_rules! page {
    ($of_author:literal) => {
        concat!(
            "SELECT id, author_id, title, content, created_at, updated_at, found FROM (
                SELECT *, count(*) OVER () AS found,
                    sum(octet_length(content)) OVER (ORDER BY id) - octet_length(content) AS before
                FROM (SELECT * FROM post WHERE ",
            $of_author,
            " id > ?1 ORDER BY id LIMIT ?2)
            ) WHERE before < ?3 ORDER BY id"
        )
    };
}

#[async_trait]
impl PostStore for SqliteStore {
    async fn ping(&self) -> Result<(), StoreError> {
        let count = "SELECT count(*) FROM (SELECT 1 FROM post LIMIT 1)";
        with_timeout(sqlx::query(count).execute(&self.pools.readers)).await.map(drop)
    }

    async fn insert(&self, post: NewPost) -> Result<Post, StoreError> {
        let sql = "INSERT INTO post (author_id, title, content, created_at, updated_at)
            VALUES (?1, ?2, ?3, ?4, ?4)
            RETURNING id, author_id, title, content, created_at, updated_at";
        let insert = sqlx::query(sql)
            .bind(post.author_id)
            .bind(post.content.title)
            .bind(post.content.content)
            .bind(post.now)
            .try_map(|row| post_from_row(&row));
        let inserted = self.pools.write(|writer| Box::pin(insert.fetch_all(writer))).await?.pop();
        inserted.ok_or_else(|| StoreError::Failed(sqlx::Error::RowNotFound.into()))
    }

    async fn posts_by_id(&self, ids: &[i64]) -> Result<Vec<Post>, StoreError> {
        let sql = "SELECT id, author_id, title, content, created_at, updated_at
            FROM post WHERE id IN (SELECT value FROM json_each(?1))";
        let ids = serde_json::json!(ids).to_string();
        let select = sqlx::query(sql).bind(ids).try_map(|row| post_from_row(&row));
        with_timeout(select.fetch_all(&self.pools.readers)).await
    }

    async fn page(&self, filter: &PostFilter) -> Result<PostRows, StoreError> {
        // One row more than the limit shows whether there is a next page.
        let select = match filter.author_id {
            None => sqlx::query(page!("")),
            Some(_) => sqlx::query(page!("author_id = ?4 AND")),
        };
        let select = select.bind(filter.after).bind(filter.limit + 1).bind(filter.content_bytes);
        let select = match filter.author_id {
            None => select,
            Some(author_id) => select.bind(author_id),
        };
        let select = select.try_map(|row| found(&row)).fetch_all(&self.pools.readers);
        let rows = with_timeout(select).await?;
        let found = rows.first().map_or(0, |(_, found)| *found);
        Ok(PostRows::new(rows.into_iter().map(|(post, _)| post).collect(), found, filter.limit))
    }

    async fn update(
        &self,
        selector: PostSelector,
        update: PostUpdate,
    ) -> Result<Option<Post>, StoreError> {
        // `updated_at` grows even if the clock goes back.
        let sql = "UPDATE post
            SET title = ?3, content = ?4, updated_at = max(?5, updated_at + 1)
            WHERE id = ?1 AND (?2 IS NULL OR author_id = ?2)
            RETURNING id, author_id, title, content, created_at, updated_at";
        let update = sqlx::query(sql)
            .bind(selector.id)
            .bind(selector.author_id)
            .bind(update.content.title)
            .bind(update.content.content)
            .bind(update.now)
            .try_map(|row| post_from_row(&row));
        Ok(self.pools.write(|writer| Box::pin(update.fetch_all(writer))).await?.pop())
    }

    async fn delete(&self, selector: PostSelector) -> Result<Option<i64>, StoreError> {
        let sql = "DELETE FROM post WHERE id = ?1 AND (?2 IS NULL OR author_id = ?2)
            RETURNING author_id";
        let delete = sqlx::query_scalar(sql).bind(selector.id).bind(selector.author_id);
        Ok(self.pools.write(|writer| Box::pin(delete.fetch_all(writer))).await?.pop())
    }

    async fn author_of(&self, id: i64) -> Result<Option<i64>, StoreError> {
        let sql = "SELECT author_id FROM post WHERE id = ?1";
        with_timeout(sqlx::query_scalar(sql).bind(id).fetch_optional(&self.pools.readers)).await
    }

    fn pools(&self) -> Vec<PoolStats> {
        self.pools.stats()
    }

    async fn close(&self) {
        self.pools.close().await;
    }
}

fn post_from_row(row: &SqliteRow) -> sqlx::Result<Post> {
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
fn found(row: &SqliteRow) -> sqlx::Result<(Post, i64)> {
    Ok((post_from_row(row)?, row.try_get("found")?))
}
