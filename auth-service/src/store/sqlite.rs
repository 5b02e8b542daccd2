//! Users in an SQLite file.
//!
//! One writer, readers apart: in WAL mode readers never wait for the writer and see every commit
//! that came before their statement. Writes are read to their end (`fetch_all`, never
//! `fetch_optional`): only then the commit has happened, and its failure is seen. `synchronous=FULL`: what was acknowledged survives a power cut.

use super::{
    InsertError, NewUser, STATEMENT_TIME, StoreError, UserFilter, UserStore, role_from_text, within,
};
use crate::{
    role::Role,
    user::{Credentials, User},
};
use async_trait::async_trait;
use secrecy::{ExposeSecret, SecretString};
use sqlx::{
    Row, SqlSafeStr, SqlitePool,
    migrate::{Migration, MigrationType, Migrator},
    sqlite::{
        SqliteConnectOptions, SqliteJournalMode, SqlitePoolOptions, SqliteRow, SqliteSynchronous,
    },
};
use std::{
    fs::{File, OpenOptions},
    io,
    os::unix::fs::OpenOptionsExt,
    path::Path,
};

/// Connections that read; each has a thread of its own.
const READERS: u32 = 4;

/// Users in an SQLite file. Several processes of one machine may share the file.
#[derive(Clone, Debug)]
pub struct SqliteStore {
    writer: SqlitePool,
    readers: SqlitePool,
}

impl SqliteStore {
    /// Opens the file, made if it is missing (0600), and brings the schema up to date. Eight
    /// processes may do so at once: they take turns by a lock on a file beside it.
    pub async fn open(file: &Path) -> sqlx::Result<Self> {
        let turn = take_turn(file).await?;
        private_file(file)?;
        let options = SqliteConnectOptions::new()
            .filename(file)
            .journal_mode(SqliteJournalMode::Wal)
            .synchronous(SqliteSynchronous::Full)
            .busy_timeout(STATEMENT_TIME);
        let writer = SqlitePoolOptions::new()
            .max_connections(1)
            .acquire_timeout(STATEMENT_TIME)
            .connect_with(options.clone())
            .await?;
        migrator().run(&writer).await?;
        let readers = SqlitePoolOptions::new()
            .max_connections(READERS)
            .acquire_timeout(STATEMENT_TIME)
            .test_before_acquire(false)
            .connect_with(options.read_only(true))
            .await?;
        drop(turn);
        Ok(Self { writer, readers })
    }
}

/// Waits for the right to prepare the file: neither the switch to WAL nor sqlx's migrator is safe
/// in company. The system lets the lock go with its holder, however that ends.
async fn take_turn(file: &Path) -> io::Result<File> {
    let mut beside = file.as_os_str().to_owned();
    beside.push(".lock");
    let waiting = tokio::task::spawn_blocking(move || {
        let lock = private_file(Path::new(&beside))?;
        lock.lock()?;
        Ok(lock)
    });
    waiting.await.map_err(io::Error::other)?
}

/// Opens a file that only this user may read, made if it is missing. SQLite gives the files that it
/// puts beside the database the same mode.
fn private_file(path: &Path) -> io::Result<File> {
    OpenOptions::new().read(true).write(true).create(true).truncate(false).mode(0o600).open(path)
}

fn migrator() -> Migrator {
    let user = Migration::new(
        1,
        "user".into(),
        MigrationType::Simple,
        include_str!("../../migrations/sqlite/0001_user.sql").into_sql_str(),
        false,
    );
    let mut migrator = Migrator::with_migrations(vec![user]);
    migrator.set_ignore_missing(true);
    migrator
}

#[async_trait]
impl UserStore for SqliteStore {
    async fn ping(&self) -> Result<(), StoreError> {
        let count = "SELECT count(*) FROM (SELECT 1 FROM \"user\" LIMIT 1)";
        within(sqlx::query(count).execute(&self.readers)).await.map(drop)
    }

    async fn insert(&self, user: NewUser) -> Result<User, InsertError> {
        let sql = r#"INSERT INTO "user" (username, password, role) VALUES (?1, ?2, ?3)
            ON CONFLICT (username) DO NOTHING RETURNING id, username, role"#;
        let insert = sqlx::query(sql)
            .bind(user.username)
            .bind(user.password_hash.expose_secret())
            .bind(user.role.as_str())
            .try_map(|row| user_from_row(&row))
            .fetch_all(&self.writer);
        within(insert).await?.pop().ok_or(InsertError::UsernameTaken)
    }

    async fn users_by_id(&self, ids: &[i64]) -> Result<Vec<User>, StoreError> {
        let sql = r#"SELECT id, username, role FROM "user"
            WHERE id IN (SELECT value FROM json_each(?1))"#;
        let ids = serde_json::json!(ids).to_string();
        within(
            sqlx::query(sql).bind(ids).try_map(|row| user_from_row(&row)).fetch_all(&self.readers),
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
            .fetch_all(&self.readers);
        within(select).await
    }

    async fn set_role(&self, id: i64, role: Role) -> Result<Option<User>, StoreError> {
        let sql = r#"UPDATE "user" SET role = ?2 WHERE id = ?1 RETURNING id, username, role"#;
        let update = sqlx::query(sql)
            .bind(id)
            .bind(role.as_str())
            .try_map(|row| user_from_row(&row))
            .fetch_all(&self.writer);
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
            .execute(&self.writer);
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
            .fetch_all(&self.readers);
        within(select).await
    }

    async fn close(&self) {
        self.readers.close().await;
        // Last, so that it can fold the log back into the file.
        self.writer.close().await;
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
