//! Users in an SQLite file.
//!
//! Writes are read to their end (`fetch_all`, never `fetch_optional`): only then the commit has
//! happened, and its failure is seen.

use super::{InsertError, NewUser, StoreError, UserFilter, UserStore, role_from_text};
use crate::{
    role::Role,
    user::{Credentials, User},
};
use async_trait::async_trait;
use secrecy::{ExposeSecret, SecretString};
use sql_store::{PoolUse, migrator, sqlite::Pools, within};
use sqlx::{Row, migrate::Migrator, sqlite::SqliteRow};
use std::path::Path;

/// Users in an SQLite file. Several processes of one machine may share the file.
#[derive(Clone, Debug)]
pub struct SqliteStore {
    pools: Pools,
}

impl SqliteStore {
    /// Opens it: see [`Pools::open`].
    pub async fn open(file: &Path) -> sqlx::Result<Self> {
        Ok(Self { pools: Pools::open(file, &migrations()).await? })
    }
}

/// The schema of this service.
pub(super) fn migrations() -> Migrator {
    let user = include_str!("../../migrations/sqlite/0001_user.sql");
    migrator(&[(1, "user", user)])
}

#[async_trait]
impl UserStore for SqliteStore {
    async fn ping(&self) -> Result<(), StoreError> {
        let count = "SELECT count(*) FROM (SELECT 1 FROM \"user\" LIMIT 1)";
        within(sqlx::query(count).execute(&self.pools.readers)).await.map(drop)
    }

    async fn insert(&self, user: NewUser) -> Result<User, InsertError> {
        let sql = r#"INSERT INTO "user" (username, password, role) VALUES (?1, ?2, ?3)
            ON CONFLICT (username) DO NOTHING RETURNING id, username, role"#;
        let insert = sqlx::query(sql)
            .bind(user.username)
            .bind(user.password_hash.expose_secret())
            .bind(user.role.as_str())
            .try_map(|row| user_from_row(&row))
            .fetch_all(&self.pools.writer);
        within(insert).await?.pop().ok_or(InsertError::UsernameTaken)
    }

    async fn users_by_id(&self, ids: &[i64]) -> Result<Vec<User>, StoreError> {
        let sql = r#"SELECT id, username, role FROM "user"
            WHERE id IN (SELECT value FROM json_each(?1))"#;
        let ids = serde_json::json!(ids).to_string();
        within(
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
        let sql = r#"SELECT id, username, role, password FROM "user"
            WHERE username IN (SELECT value FROM json_each(?1))"#;
        let usernames = serde_json::json!(usernames).to_string();
        let select = sqlx::query(sql)
            .bind(usernames)
            .try_map(|row| credentials_from_row(&row))
            .fetch_all(&self.pools.readers);
        within(select).await
    }

    async fn set_role(&self, id: i64, role: Role) -> Result<Option<User>, StoreError> {
        let sql = r#"UPDATE "user" SET role = ?2 WHERE id = ?1 RETURNING id, username, role"#;
        let update = sqlx::query(sql)
            .bind(id)
            .bind(role.as_str())
            .try_map(|row| user_from_row(&row))
            .fetch_all(&self.pools.writer);
        Ok(within(update).await?.pop())
    }

    async fn replace_password(
        &self,
        id: i64,
        old: &SecretString,
        new: SecretString,
    ) -> Result<bool, StoreError> {
        let sql = r#"UPDATE "user" SET password = ?3 WHERE id = ?1 AND password = ?2"#;
        let update = sqlx::query(sql)
            .bind(id)
            .bind(old.expose_secret())
            .bind(new.expose_secret())
            .execute(&self.pools.writer);
        Ok(within(update).await?.rows_affected() == 1)
    }

    async fn set_password_hash(&self, id: i64, new: SecretString) -> Result<bool, StoreError> {
        let sql = r#"UPDATE "user" SET password = ?2 WHERE id = ?1"#;
        let update =
            sqlx::query(sql).bind(id).bind(new.expose_secret()).execute(&self.pools.writer);
        Ok(within(update).await?.rows_affected() == 1)
    }

    async fn list(&self, filter: &UserFilter) -> Result<Vec<User>, StoreError> {
        let sql = r#"SELECT id, username, role FROM "user"
            WHERE id > ?1 AND username >= ?2 AND (?3 IS NULL OR username < ?3)
            AND (?4 IS NULL OR role = ?4) ORDER BY id LIMIT ?5"#;
        let (start, end) = filter.username_range();
        let select = sqlx::query(sql)
            .bind(filter.after)
            .bind(start)
            .bind(end)
            .bind(filter.role.map(Role::as_str))
            .bind(filter.limit)
            .try_map(|row| user_from_row(&row))
            .fetch_all(&self.pools.readers);
        within(select).await
    }

    fn pools(&self) -> Vec<PoolUse> {
        self.pools.uses()
    }

    async fn close(&self) {
        self.pools.close().await;
    }
}

fn user_from_row(row: &SqliteRow) -> sqlx::Result<User> {
    Ok(User {
        id: row.try_get("id")?,
        username: row.try_get("username")?,
        role: role_from_text(row.try_get("role")?)?,
    })
}

fn credentials_from_row(row: &SqliteRow) -> sqlx::Result<Credentials> {
    let password_hash = SecretString::from(row.try_get::<String, _>("password")?);
    Ok(Credentials { user: user_from_row(row)?, password_hash })
}
