//! Users in an SQLite file.
//!
//! Writes use `fetch_all`, never `fetch_optional`: see [`rolegate_sql_store::sqlite`].

use super::{
    ActorError, InsertError, NewPassword, NewUser, PasswordWriter, StoreError, UserFilter,
    UserStore, list_query::list_query, require_admin, role_from_text, seconds_from_store,
    seconds_to_store,
};
use crate::user::{Credentials, User};
use async_trait::async_trait;
use rolegate_proto::Role;
use rolegate_sql_store::{Migrations, PoolStats, sqlite::Pools, with_timeout};
use secrecy::{ExposeSecret, SecretString};
use sqlx::{Row, SqliteConnection, sqlite::SqliteRow};

/// The migrations; applied ones must not change, not even their comments.
pub(super) const MIGRATIONS: Migrations = &[
    (1, "user", include_str!("../../migrations/sqlite/0001_user.sql")),
    (2, "tokens not before", include_str!("../../migrations/sqlite/0002_tokens_not_before.sql")),
];

/// Users in an SQLite file. Processes of one machine may share it.
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

#[async_trait]
impl UserStore for SqliteStore {
    async fn ping(&self) -> Result<(), StoreError> {
        let count = "SELECT count(*) FROM (SELECT 1 FROM \"user\" LIMIT 1)";
        with_timeout(sqlx::query(count).execute(&self.pools.readers)).await.map(drop)
    }

    async fn insert(&self, user: NewUser) -> Result<User, InsertError> {
        let sql = r#"INSERT INTO "user" (username, password, role) VALUES (?1, ?2, ?3)
            ON CONFLICT (username) DO NOTHING RETURNING id, username, role, tokens_not_before"#;
        let insert = sqlx::query(sql)
            .bind(user.username)
            .bind(user.password_hash.expose_secret())
            .bind(user.role.as_str())
            .try_map(|row| user_from_row(&row));
        let inserted = self.pools.write(|writer| Box::pin(insert.fetch_all(writer))).await?.pop();
        inserted.ok_or(InsertError::UsernameTaken)
    }

    async fn users_by_id(&self, ids: &[i64]) -> Result<Vec<User>, StoreError> {
        let sql = r#"SELECT id, username, role, tokens_not_before FROM "user"
            WHERE id IN (SELECT value FROM json_each(?1))"#;
        let ids = serde_json::json!(ids).to_string();
        with_timeout(
            sqlx::query(sql)
                .bind(ids)
                .try_map(|row| user_from_row(&row))
                .fetch_all(&self.pools.readers),
        )
        .await
    }

    async fn credentials_by_username(
        &self,
        usernames: &[String],
    ) -> Result<Vec<Credentials>, StoreError> {
        let sql = r#"SELECT id, username, role, tokens_not_before, password FROM "user"
            WHERE username IN (SELECT value FROM json_each(?1))"#;
        let usernames = serde_json::json!(usernames).to_string();
        let select = sqlx::query(sql)
            .bind(usernames)
            .try_map(|row| credentials_from_row(&row))
            .fetch_all(&self.pools.readers);
        with_timeout(select).await
    }

    async fn set_role(
        &self,
        actor: Option<i64>,
        id: i64,
        role: Role,
    ) -> Result<Option<User>, ActorError> {
        self.pools.write(move |writer| Box::pin(set_role(writer, actor, id, role))).await?
    }

    async fn delete(&self, actor: i64, id: i64) -> Result<Option<User>, ActorError> {
        self.pools.write(move |writer| Box::pin(delete(writer, actor, id))).await?
    }

    async fn set_password(
        &self,
        id: i64,
        new: NewPassword,
        writer: PasswordWriter,
    ) -> Result<Option<User>, StoreError> {
        let sql = r#"UPDATE "user"
            SET password = ?2, tokens_not_before = max(?3, tokens_not_before + 1)
            WHERE id = ?1 AND (?4 IS NULL OR tokens_not_before = ?4) AND (
                ?5 IS NULL OR EXISTS (SELECT 1 FROM "user" WHERE id = ?5 AND role = 'admin')
            )
            RETURNING id, username, role, tokens_not_before"#;
        let update = sqlx::query(sql)
            .bind(id)
            .bind(new.hash.expose_secret())
            .bind(seconds_to_store(new.tokens_not_before))
            .bind(writer.seen().map(seconds_to_store))
            .bind(writer.admin())
            .try_map(|row| user_from_row(&row));
        Ok(self.pools.write(|writer| Box::pin(update.fetch_all(writer))).await?.pop())
    }

    async fn replace_password(
        &self,
        id: i64,
        old: &SecretString,
        new: SecretString,
    ) -> Result<bool, StoreError> {
        let sql = r#"UPDATE "user" SET password = ?3 WHERE id = ?1 AND password = ?2"#;
        let update = sqlx::query(sql).bind(id).bind(old.expose_secret()).bind(new.expose_secret());
        let done = self.pools.write(|writer| Box::pin(update.execute(writer))).await?;
        Ok(done.rows_affected() == 1)
    }

    async fn list(&self, filter: &UserFilter) -> Result<Vec<User>, StoreError> {
        let mut query = list_query(filter);
        let select =
            query.build().try_map(|row| user_from_row(&row)).fetch_all(&self.pools.readers);
        with_timeout(select).await
    }

    fn pools(&self) -> Vec<PoolStats> {
        self.pools.stats()
    }

    async fn close(&self) {
        self.pools.close().await;
    }
}

async fn set_role(
    writer: &mut SqliteConnection,
    actor: Option<i64>,
    id: i64,
    role: Role,
) -> sqlx::Result<Result<Option<User>, ActorError>> {
    let found = require_admin(&lock(writer, actor, id).await?, actor, id);
    if let Ok(Some(_)) = &found {
        let sql = r#"UPDATE "user" SET role = ?2 WHERE id = ?1"#;
        sqlx::query(sql).bind(id).bind(role.as_str()).execute(writer).await?;
    }
    Ok(found.map(|user| user.map(|user| User { role, ..user })))
}

async fn delete(
    writer: &mut SqliteConnection,
    actor: i64,
    id: i64,
) -> sqlx::Result<Result<Option<User>, ActorError>> {
    let found = require_admin(&lock(writer, Some(actor), id).await?, Some(actor), id);
    if let Ok(Some(_)) = &found {
        let sql = r#"DELETE FROM "user" WHERE id = ?1"#;
        sqlx::query(sql).bind(id).execute(writer).await?;
    }
    Ok(found)
}

/// Reads the rows of an actor and a user. There is one writer, so the transaction needs no lock.
async fn lock(
    connection: &mut SqliteConnection,
    actor: Option<i64>,
    id: i64,
) -> sqlx::Result<Vec<User>> {
    let sql = r#"SELECT id, username, role, tokens_not_before FROM "user" WHERE id IN (?1, ?2)"#;
    let select =
        sqlx::query(sql).bind(actor.unwrap_or(id)).bind(id).try_map(|row| user_from_row(&row));
    select.fetch_all(connection).await
}

fn user_from_row(row: &SqliteRow) -> sqlx::Result<User> {
    Ok(User {
        id: row.try_get("id")?,
        username: row.try_get("username")?,
        role: role_from_text(row.try_get("role")?)?,
        tokens_not_before: seconds_from_store(row.try_get("tokens_not_before")?)?,
    })
}

fn credentials_from_row(row: &SqliteRow) -> sqlx::Result<Credentials> {
    let password_hash = SecretString::from(row.try_get::<String, _>("password")?);
    Ok(Credentials { user: user_from_row(row)?, password_hash })
}

#[cfg(test)]
mod tests {
    use super::{SqliteStore, UserFilter, list_query};
    use crate::store::open::TABLES;
    use rolegate_proto::Role;
    use rolegate_sql_store::{DatabaseUrl, Opened};
    use sqlx::{AssertSqlSafe, Sqlite};

    /// The query plan, one step per line.
    async fn plan(store: &SqliteStore, filter: &UserFilter) -> String {
        let query = list_query::<Sqlite>(filter);
        let explain = format!("EXPLAIN QUERY PLAN {}", query.sql().as_str());
        let rows: Vec<(i64, i64, i64, String)> = sqlx::query_as(AssertSqlSafe(explain))
            .fetch_all(&store.pools.readers)
            .await
            .expect("explained");
        rows.into_iter().map(|(.., step)| step).collect::<Vec<_>>().join("\n")
    }

    #[tokio::test]
    async fn page_is_read_from_an_index_and_never_sorted() {
        let folder = tempfile::tempdir().expect("a folder");
        let url = DatabaseUrl::from_file("DATABASE_URL", folder.path().join("users.db"));
        let opened = url.open(&TABLES).await.expect("opened");
        let Opened::Sqlite(pools) = opened else { panic!("not a file: {url}") };
        let store = SqliteStore::new(pools);
        let all = UserFilter { after: 5, limit: 51, ..UserFilter::default() };
        let by_id = "SEARCH user USING INTEGER PRIMARY KEY (rowid>?)";
        assert_eq!(plan(&store, &all).await, by_id);
        let authors = UserFilter { role: Some(Role::Author), ..all.clone() };
        let by_role = "SEARCH user USING INDEX user_role_idx (role=? AND rowid>?)";
        assert_eq!(plan(&store, &authors).await, by_role);
        for prefix in ["a", "a%_'\"", "\u{10ffff}"] {
            for role in [None, Some(Role::Author)] {
                let filter = UserFilter { username_prefix: prefix.into(), role, ..all.clone() };
                let plan = plan(&store, &filter).await;
                assert!(plan.starts_with("SEARCH user") && !plan.contains("SCAN"), "{plan}");
            }
        }
    }
}
