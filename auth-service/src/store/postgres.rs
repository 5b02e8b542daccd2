//! Users in PostgreSQL.

use super::{
    ActorError, InsertError, NewPassword, NewUser, PasswordWriter, StoreError, UserFilter,
    UserStore, list_query::list_query, require_admin, role_from_text, seconds_from_store,
    seconds_to_store,
};
use crate::user::{Credentials, User};
use async_trait::async_trait;
use rolegate_proto::Role;
use rolegate_sql_store::{Migrations, PoolStats, postgres::Pool};
use secrecy::{ExposeSecret, SecretString};
use sqlx::{Connection, PgConnection, Row, postgres::PgRow};

/// The migrations; applied ones must not change, not even their comments.
pub(super) const MIGRATIONS: Migrations = &[
    (1, "user", include_str!("../../migrations/postgres/0001_user.sql")),
    (2, "tokens not before", include_str!("../../migrations/postgres/0002_tokens_not_before.sql")),
];

/// Users in PostgreSQL, shared by all replicas.
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

#[async_trait]
impl UserStore for PostgresStore {
    async fn ping(&self) -> Result<(), StoreError> {
        self.pool
            .run(|connection| Box::pin(sqlx::query("SELECT 1").execute(connection)))
            .await
            .map(drop)
    }

    async fn insert(&self, user: NewUser) -> Result<User, InsertError> {
        let sql = r#"INSERT INTO "user" (username, password, role) VALUES ($1, $2, $3)
            ON CONFLICT (username) DO NOTHING RETURNING id, username, role, tokens_not_before"#;
        let insert = sqlx::query(sql)
            .bind(user.username)
            .bind(user.password_hash.expose_secret())
            .bind(user.role.as_str())
            .try_map(|row| user_from_row(&row));
        self.pool
            .run(|connection| Box::pin(insert.fetch_optional(connection)))
            .await?
            .ok_or(InsertError::UsernameTaken)
    }

    async fn users_by_id(&self, ids: &[i64]) -> Result<Vec<User>, StoreError> {
        let sql = r#"SELECT id, username, role, tokens_not_before FROM "user" WHERE id = ANY($1)"#;
        let select = sqlx::query(sql).bind(ids).try_map(|row| user_from_row(&row));
        self.pool.run(|connection| Box::pin(select.fetch_all(connection))).await
    }

    async fn credentials_by_username(
        &self,
        usernames: &[String],
    ) -> Result<Vec<Credentials>, StoreError> {
        let sql = r#"SELECT id, username, role, tokens_not_before, password FROM "user" WHERE username = ANY($1)"#;
        let select = sqlx::query(sql).bind(usernames).try_map(|row| credentials_from_row(&row));
        self.pool.run(|connection| Box::pin(select.fetch_all(connection))).await
    }

    async fn set_role(
        &self,
        actor: Option<i64>,
        id: i64,
        role: Role,
    ) -> Result<Option<User>, ActorError> {
        self.pool.run(move |connection| Box::pin(set_role(connection, actor, id, role))).await?
    }

    async fn delete(&self, actor: i64, id: i64) -> Result<Option<User>, ActorError> {
        self.pool.run(move |connection| Box::pin(delete(connection, Some(actor), id))).await?
    }

    async fn set_password(
        &self,
        id: i64,
        new: NewPassword,
        writer: PasswordWriter,
    ) -> Result<Option<User>, StoreError> {
        let sql = r#"UPDATE "user"
            SET password = $2, tokens_not_before = GREATEST($3, tokens_not_before + 1)
            WHERE id = $1 AND ($4::bigint IS NULL OR tokens_not_before = $4) AND (
                $5::bigint IS NULL OR EXISTS (SELECT 1 FROM "user" WHERE id = $5 AND role = 'admin')
            )
            RETURNING id, username, role, tokens_not_before"#;
        let update = sqlx::query(sql)
            .bind(id)
            .bind(new.hash.expose_secret())
            .bind(seconds_to_store(new.tokens_not_before))
            .bind(writer.seen().map(seconds_to_store))
            .bind(writer.admin())
            .try_map(|row| user_from_row(&row));
        self.pool.run(|connection| Box::pin(update.fetch_optional(connection))).await
    }

    async fn replace_password(
        &self,
        id: i64,
        old: &SecretString,
        new: SecretString,
    ) -> Result<bool, StoreError> {
        let sql = r#"UPDATE "user" SET password = $3 WHERE id = $1 AND password = $2"#;
        let update = sqlx::query(sql).bind(id).bind(old.expose_secret()).bind(new.expose_secret());
        Ok(self.pool.run(|connection| Box::pin(update.execute(connection))).await?.rows_affected()
            == 1)
    }

    async fn list(&self, filter: &UserFilter) -> Result<Vec<User>, StoreError> {
        let mut query = list_query(filter);
        self.pool
            .run(|connection| {
                Box::pin(async move {
                    query.build().try_map(|row| user_from_row(&row)).fetch_all(connection).await
                })
            })
            .await
    }

    fn pools(&self) -> Vec<PoolStats> {
        self.pool.stats()
    }

    async fn close(&self) {
        self.pool.close().await;
    }
}

async fn set_role(
    connection: &mut PgConnection,
    actor: Option<i64>,
    id: i64,
    role: Role,
) -> sqlx::Result<Result<Option<User>, ActorError>> {
    let mut transaction = connection.begin().await?;
    let found = require_admin(&lock(&mut transaction, actor, id).await?, actor, id);
    if let Ok(Some(_)) = &found {
        let sql = r#"UPDATE "user" SET role = $2 WHERE id = $1"#;
        let update = sqlx::query(sql).bind(id).bind(role.as_str());
        update.execute(&mut *transaction).await?;
    }
    transaction.commit().await?;
    Ok(found.map(|user| user.map(|user| User { role, ..user })))
}

async fn delete(
    connection: &mut PgConnection,
    actor: Option<i64>,
    id: i64,
) -> sqlx::Result<Result<Option<User>, ActorError>> {
    let mut transaction = connection.begin().await?;
    let found = require_admin(&lock(&mut transaction, actor, id).await?, actor, id);
    if let Ok(Some(_)) = &found {
        let sql = r#"DELETE FROM "user" WHERE id = $1"#;
        sqlx::query(sql).bind(id).execute(&mut *transaction).await?;
    }
    transaction.commit().await?;
    Ok(found)
}

/// Reads and locks the rows of an actor and a user, always in the same order, so that two admins who
/// act on each other cannot deadlock.
async fn lock(
    connection: &mut PgConnection,
    actor: Option<i64>,
    id: i64,
) -> sqlx::Result<Vec<User>> {
    let sql = r#"SELECT id, username, role, tokens_not_before FROM "user"
        WHERE id IN ($1, $2) ORDER BY id FOR UPDATE"#;
    let select =
        sqlx::query(sql).bind(actor.unwrap_or(id)).bind(id).try_map(|row| user_from_row(&row));
    select.fetch_all(connection).await
}

fn user_from_row(row: &PgRow) -> sqlx::Result<User> {
    Ok(User {
        id: row.try_get("id")?,
        username: row.try_get("username")?,
        role: role_from_text(row.try_get("role")?)?,
        tokens_not_before: seconds_from_store(row.try_get("tokens_not_before")?)?,
    })
}

fn credentials_from_row(row: &PgRow) -> sqlx::Result<Credentials> {
    let password_hash = SecretString::from(row.try_get::<String, _>("password")?);
    Ok(Credentials { user: user_from_row(row)?, password_hash })
}
