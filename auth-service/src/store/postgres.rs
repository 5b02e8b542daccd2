//! Users in PostgreSQL.

use super::{InsertError, NewUser, StoreError, UserFilter, UserStore, role_from_text};
use crate::{
    role::Role,
    user::{Credentials, User},
};
use async_trait::async_trait;
use secrecy::{ExposeSecret, SecretString};
use sql_store::{PoolUse, migrator, postgres};
use sqlx::{
    Row,
    migrate::Migrator,
    postgres::{PgConnectOptions, PgRow},
};

/// Users in PostgreSQL. Replicas on one database share them.
#[derive(Clone, Debug)]
pub struct PostgresStore {
    connections: postgres::Connections,
}

impl PostgresStore {
    /// Opens it: see [`postgres::open`].
    pub async fn open(options: &PgConnectOptions) -> sqlx::Result<Self> {
        let connections = postgres::open(options, "rolegate auth-service", &migrations()).await?;
        Ok(Self { connections })
    }
}

/// The schema of this service.
pub(super) fn migrations() -> Migrator {
    let user = include_str!("../../migrations/postgres/0001_user.sql");
    migrator(&[(1, "user", user)])
}

#[async_trait]
impl UserStore for PostgresStore {
    async fn ping(&self) -> Result<(), StoreError> {
        self.connections
            .run(|connection| Box::pin(sqlx::query("SELECT 1").execute(connection)))
            .await
            .map(drop)
    }

    async fn insert(&self, user: NewUser) -> Result<User, InsertError> {
        let sql = r#"INSERT INTO "user" (username, password, role) VALUES ($1, $2, $3)
            ON CONFLICT (username) DO NOTHING RETURNING id, username, role"#;
        let insert = sqlx::query(sql)
            .bind(user.username)
            .bind(user.password_hash.expose_secret())
            .bind(user.role.as_str())
            .try_map(|row| user_from_row(&row));
        self.connections
            .run(|connection| Box::pin(insert.fetch_optional(connection)))
            .await?
            .ok_or(InsertError::UsernameTaken)
    }

    async fn users_by_id(&self, ids: &[i64]) -> Result<Vec<User>, StoreError> {
        let sql = r#"SELECT id, username, role FROM "user" WHERE id = ANY($1)"#;
        let select = sqlx::query(sql).bind(ids).try_map(|row| user_from_row(&row));
        self.connections.run(|connection| Box::pin(select.fetch_all(connection))).await
    }

    async fn credentials_by_username(
        &self,
        usernames: &[String],
    ) -> Result<Vec<Credentials>, StoreError> {
        let sql = r#"SELECT id, username, role, password FROM "user" WHERE username = ANY($1)"#;
        let select = sqlx::query(sql).bind(usernames).try_map(|row| credentials_from_row(&row));
        self.connections.run(|connection| Box::pin(select.fetch_all(connection))).await
    }

    async fn set_role(&self, id: i64, role: Role) -> Result<Option<User>, StoreError> {
        let sql = r#"UPDATE "user" SET role = $2 WHERE id = $1 RETURNING id, username, role"#;
        let update =
            sqlx::query(sql).bind(id).bind(role.as_str()).try_map(|row| user_from_row(&row));
        self.connections.run(|connection| Box::pin(update.fetch_optional(connection))).await
    }

    async fn replace_password(
        &self,
        id: i64,
        old: &SecretString,
        new: SecretString,
    ) -> Result<bool, StoreError> {
        let sql = r#"UPDATE "user" SET password = $3 WHERE id = $1 AND password = $2"#;
        let update = sqlx::query(sql).bind(id).bind(old.expose_secret()).bind(new.expose_secret());
        Ok(self
            .connections
            .run(|connection| Box::pin(update.execute(connection)))
            .await?
            .rows_affected()
            == 1)
    }

    async fn set_password_hash(&self, id: i64, new: SecretString) -> Result<bool, StoreError> {
        let sql = r#"UPDATE "user" SET password = $2 WHERE id = $1"#;
        let update = sqlx::query(sql).bind(id).bind(new.expose_secret());
        let update = self.connections.run(|connection| Box::pin(update.execute(connection)));
        Ok(update.await?.rows_affected() == 1)
    }

    async fn list(&self, filter: &UserFilter) -> Result<Vec<User>, StoreError> {
        let sql = r#"SELECT id, username, role FROM "user"
            WHERE id > $1 AND username >= $2 AND ($3::text IS NULL OR username < $3)
            AND ($4::text IS NULL OR role = $4) ORDER BY id LIMIT $5"#;
        let (start, end) = filter.username_range();
        let select = sqlx::query(sql)
            .bind(filter.after)
            .bind(start)
            .bind(end)
            .bind(filter.role.map(Role::as_str))
            .bind(filter.limit)
            .try_map(|row| user_from_row(&row));
        self.connections.run(|connection| Box::pin(select.fetch_all(connection))).await
    }

    fn pools(&self) -> Vec<PoolUse> {
        self.connections.uses()
    }

    async fn close(&self) {
        self.connections.close().await;
    }
}

fn user_from_row(row: &PgRow) -> sqlx::Result<User> {
    Ok(User {
        id: row.try_get("id")?,
        username: row.try_get("username")?,
        role: role_from_text(row.try_get("role")?)?,
    })
}

fn credentials_from_row(row: &PgRow) -> sqlx::Result<Credentials> {
    let password_hash = SecretString::from(row.try_get::<String, _>("password")?);
    Ok(Credentials { user: user_from_row(row)?, password_hash })
}
