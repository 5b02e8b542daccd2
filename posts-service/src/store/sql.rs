//! Posts in an SQL database.

use super::{PostFilter, PostSelector, PostStore};
use crate::post::{Post, PostContent};
use async_trait::async_trait;
use rolegate_program::program::Failure;
use rolegate_sql_store::{Database, DatabaseUrl, Inspection, Statement, StoreError, Tables};
use std::sync::Arc;

/// The tables of posts-service, in a schema of their own in PostgreSQL, because users may be in the
/// same database. Applied migrations must not change, not even their comments.
const TABLES: Tables = Tables {
    owner: "posts-service",
    marker_table: "post",
    schema: Some("posts"),
    postgres: &[(1, "post", include_str!("../../migrations/postgres/0001_post.sql"))],
    sqlite: &[(1, "post", include_str!("../../migrations/sqlite/0001_post.sql"))],
};

type Row = (i64, i64, String, String, i64, i64);

const SELECT: &str = "SELECT id, author_id, title, content, created_at, updated_at FROM ";
const RETURNING: &str = " RETURNING id, author_id, title, content, created_at, updated_at";
const OF_SELECTOR: &str = " WHERE id = $1 AND ($2 IS NULL OR author_id = $2)";

/// Opens the store and migrates its schema: see [`DatabaseUrl::open`].
pub async fn open(url: &DatabaseUrl) -> Result<Arc<dyn PostStore>, Failure> {
    Ok(Arc::new(url.open(&TABLES).await?))
}

/// Inspects the database, which changes nothing.
pub async fn inspect(url: &DatabaseUrl) -> Result<Inspection, Failure> {
    url.inspect(&TABLES, None).await
}

/// A statement that starts with this SQL and the name of the table.
fn statement(database: &Database, sql: &'static str) -> Statement {
    database.statement(sql).push(if database.is_postgres() { "posts.post" } else { "post" })
}

/// Runs a statement that writes at most one post.
async fn write(database: &Database, statement: Statement) -> Result<Option<Post>, StoreError> {
    Ok(database.write(statement).await?.pop().map(post))
}

#[async_trait]
impl PostStore for Database {
    async fn insert(
        &self,
        author_id: i64,
        content: PostContent,
        now: i64,
    ) -> Result<Post, StoreError> {
        let values = " (author_id, title, content, created_at, updated_at)
            VALUES ($1, $2, $3, $4, $4)";
        let insert = statement(self, "INSERT INTO ").push(values).push(RETURNING);
        let insert = insert.bind(author_id).bind(content.title).bind(content.content).bind(now);
        let inserted = write(self, insert).await?;
        inserted.ok_or_else(|| StoreError::Failed(sqlx::Error::RowNotFound.into()))
    }

    async fn posts_by_id(&self, ids: &[i64]) -> Result<Vec<Post>, StoreError> {
        let rows = self.read(statement(self, SELECT).push(" WHERE id").push_any(ids)).await?;
        Ok(rows.into_iter().map(post).collect())
    }

    async fn size_by_id(&self, ids: &[i64]) -> Result<i64, StoreError> {
        let sql = "SELECT coalesce(sum(octet_length(title) + octet_length(content)), 0) FROM ";
        let select = statement(self, sql).push(" WHERE id").push_any(ids);
        Ok(self.read::<(i64,)>(select).await?.pop().map_or(0, |(size,)| size))
    }

    /// Reads only the contents of the posts that it returns.
    async fn page(&self, filter: &PostFilter) -> Result<(Vec<Post>, bool), StoreError> {
        let sql = "SELECT id, author_id, title, content, created_at, updated_at, found FROM (
            SELECT *, count(*) OVER () AS found,
                sum(octet_length(content)) OVER (ORDER BY id) - octet_length(content) AS before
            FROM (SELECT * FROM ";
        let mut select = statement(self, sql).push(" WHERE id > ").push_bind(filter.after);
        if let Some(author_id) = filter.author_id {
            select = select.push(" AND author_id = ").push_bind(author_id);
        }
        // One row more than the limit shows whether there is a next page.
        let select = select.push(" ORDER BY id LIMIT ").push_bind(filter.limit + 1);
        let select = select.push(") AS page) AS measured WHERE before < ");
        let select = select.push_bind(filter.content_bytes).push(" ORDER BY id");
        let rows = self.read::<(i64, i64, String, String, i64, i64, i64)>(select).await?;
        // Before `content_bytes` cut them off.
        let found = rows.first().map_or(0, |row| row.6);
        let rows = rows.into_iter().take(usize::try_from(filter.limit).unwrap_or(usize::MAX));
        let posts = rows.map(|(id, author_id, title, content, created, updated, _)| {
            post((id, author_id, title, content, created, updated))
        });
        let posts: Vec<_> = posts.collect();
        let has_more = usize::try_from(found).is_ok_and(|found| found > posts.len());
        Ok((posts, has_more))
    }

    async fn update(
        &self,
        selector: PostSelector,
        content: PostContent,
        now: i64,
    ) -> Result<Option<Post>, StoreError> {
        // `updated_at` grows even if the clock goes back.
        let values = " SET title = $3, content = $4, updated_at =
            CASE WHEN $5 > updated_at THEN $5 ELSE updated_at + 1 END";
        let sql = statement(self, "UPDATE ").push(values).push(OF_SELECTOR).push(RETURNING);
        let sql = sql.bind(selector.id).bind(selector.author_id);
        write(self, sql.bind(content.title).bind(content.content).bind(now)).await
    }

    async fn delete(&self, selector: PostSelector) -> Result<Option<i64>, StoreError> {
        let delete = statement(self, "DELETE FROM ").push(OF_SELECTOR).push(" RETURNING author_id");
        let delete = delete.bind(selector.id).bind(selector.author_id);
        Ok(self.write::<(i64,)>(delete).await?.pop().map(|(author_id,)| author_id))
    }

    async fn author_of(&self, id: i64) -> Result<Option<i64>, StoreError> {
        let select = statement(self, "SELECT author_id FROM ").push(" WHERE id = $1").bind(id);
        Ok(self.read::<(i64,)>(select).await?.pop().map(|(author_id,)| author_id))
    }
}

fn post((id, author_id, title, content, created_at, updated_at): Row) -> Post {
    Post { id, author_id, title, content, created_at, updated_at }
}
