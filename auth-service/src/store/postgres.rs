//! Users in PostgreSQL.

mod connections;

use super::{
    InsertError, NewUser, STATEMENT_TIME, StoreError, UserFilter, UserStore, role_from_text, within,
};
use crate::{
    role::Role,
    user::{Credentials, User},
};
use async_trait::async_trait;
use connections::Connections;
use secrecy::{ExposeSecret, SecretString};
use sqlx::{
    ConnectOptions, Connection, PgConnection, Row, SqlSafeStr,
    migrate::{Migration, MigrationType, Migrator},
    postgres::{PgConnectOptions, PgPoolOptions, PgRow},
};
use std::{pin::Pin, time::Duration};

/// Connections to the database. Concurrent look-ups share statements, so few carry much.
const CONNECTIONS: u32 = 10;

/// Users in PostgreSQL. Replicas on one database share them.
#[derive(Clone, Debug)]
pub struct PostgresStore {
    connections: Connections,
}

impl PostgresStore {
    /// Connects, brings the schema up to date and makes the pool. Eight instances may do so at
    /// once: the migrator holds an advisory lock. Fails at once when the database is not there.
    pub async fn open(options: PgConnectOptions) -> sqlx::Result<Self> {
        let options = options.application_name("rolegate auth-service");
        let mut connection = options.connect().await?;
        migrator().run(&mut connection).await?;
        connection.close().await?;
        // The server ends a statement that we stopped waiting for.
        let timeout = format!("{}ms", STATEMENT_TIME.as_millis());
        let pool = PgPoolOptions::new()
            .max_connections(CONNECTIONS)
            .acquire_timeout(STATEMENT_TIME)
            .idle_timeout(Duration::from_mins(10))
            .test_before_acquire(false)
            .before_acquire(|connection, state| {
                Box::pin(async move {
                    let fresh = state.idle_for < connections::FRESH;
                    Ok(fresh || connections::is_alive(connection).await)
                })
            })
            .connect_with(options.options([("statement_timeout", timeout)]))
            .await?;
        Ok(Self { connections: Connections::new(pool) })
    }

    /// Runs one statement, to its end, on a connection of its own.
    async fn run<T: Send>(
        &self,
        statement: impl for<'c> FnOnce(&'c mut PgConnection) -> Answer<'c, T> + Send,
    ) -> Result<T, StoreError> {
        within(async {
            let mut connection = self.connections.take().await?;
            let answer = statement(&mut connection).await?;
            connection.give_back();
            Ok(answer)
        })
        .await
    }
}

/// A statement under way on a connection.
type Answer<'c, T> = Pin<Box<dyn Future<Output = sqlx::Result<T>> + Send + 'c>>;

fn migrator() -> Migrator {
    let user = Migration::new(
        1,
        "user".into(),
        MigrationType::Simple,
        include_str!("../../migrations/postgres/0001_user.sql").into_sql_str(),
        false,
    );
    let mut migrator = Migrator::with_migrations(vec![user]);
    // An older instance must be able to restart beside a newer one, in the middle of a rollout.
    migrator.set_ignore_missing(true);
    migrator
}

#[async_trait]
impl UserStore for PostgresStore {
    async fn ping(&self) -> Result<(), StoreError> {
        self.run(|connection| Box::pin(sqlx::query("SELECT 1").execute(connection))).await.map(drop)
    }

    async fn insert(&self, user: NewUser) -> Result<User, InsertError> {
        let sql = r#"INSERT INTO "user" (username, password, role) VALUES ($1, $2, $3)
            ON CONFLICT (username) DO NOTHING RETURNING id, username, role"#;
        let insert = sqlx::query(sql)
            .bind(user.username)
            .bind(user.password_hash.expose_secret())
            .bind(user.role.as_str())
            .try_map(|row| user_from_row(&row));
        self.run(|connection| Box::pin(insert.fetch_optional(connection)))
            .await?
            .ok_or(InsertError::UsernameTaken)
    }

    async fn users_by_id(&self, ids: &[i64]) -> Result<Vec<User>, StoreError> {
        let sql = r#"SELECT id, username, role FROM "user" WHERE id = ANY($1)"#;
        let select = sqlx::query(sql).bind(ids).try_map(|row| user_from_row(&row));
        self.run(|connection| Box::pin(select.fetch_all(connection))).await
    }

    async fn credentials_by_username(
        &self,
        usernames: &[String],
    ) -> Result<Vec<Credentials>, StoreError> {
        let sql = r#"SELECT id, username, role, password FROM "user" WHERE username = ANY($1)"#;
        let select = sqlx::query(sql).bind(usernames).try_map(|row| credentials_from_row(&row));
        self.run(|connection| Box::pin(select.fetch_all(connection))).await
    }

    async fn set_role(&self, id: i64, role: Role) -> Result<Option<User>, StoreError> {
        let sql = r#"UPDATE "user" SET role = $2 WHERE id = $1 RETURNING id, username, role"#;
        let update =
            sqlx::query(sql).bind(id).bind(role.as_str()).try_map(|row| user_from_row(&row));
        self.run(|connection| Box::pin(update.fetch_optional(connection))).await
    }

    async fn replace_password(
        &self,
        id: i64,
        old: &SecretString,
        new: SecretString,
    ) -> Result<bool, StoreError> {
        let sql = r#"UPDATE "user" SET password = $3 WHERE id = $1 AND password = $2"#;
        let update = sqlx::query(sql).bind(id).bind(old.expose_secret()).bind(new.expose_secret());
        Ok(self.run(|connection| Box::pin(update.execute(connection))).await?.rows_affected() == 1)
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
        self.run(|connection| Box::pin(select.fetch_all(connection))).await
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
