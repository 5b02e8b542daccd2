//! A database for one test, which is created for it and dropped after it.

use postgres_cluster::Database;
use reqwest::Url;
use sqlx::{
    AssertSqlSafe, ConnectOptions as _, Connection as _, PgConnection, SqliteConnection,
    sqlite::SqliteConnectOptions,
};
use std::{net::SocketAddr, path::PathBuf, time::Duration};
use tempfile::TempDir;

/// A condition on rows of `pg_stat_activity`. It leaves out the statement that writes search keys in the background, which
/// changes the table of users at any time.
pub(crate) const IS_OF_REQUEST: &str = r#"query NOT LIKE 'UPDATE "user" SET search_key = %'"#;

/// The two kinds of stores.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Store {
    /// PostgreSQL, the store of split deployments.
    Postgres,
    /// SQLite, the embedded store.
    Sqlite,
}

/// A database of one test, with SQL that bypasses the services.
#[derive(Debug)]
pub enum TestDatabase {
    /// A database of the shared server. It is dropped together with this value.
    Postgres(Database),
    /// A folder with an SQLite file. It is removed together with this value.
    Sqlite(TempDir),
}

/// A row of the table of users.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct StoredUser {
    /// The id of the user.
    pub id: i64,
    /// The password hash.
    pub password: String,
    /// The name of the role.
    pub role: String,
}

/// Evaluates `$then` with a `$connection` to either kind of store.
macro_rules! connected {
    ($database:expr, $connection:ident => $then:expr) => {
        match $database {
            Self::Postgres(database) => {
                let url = database.url().as_str();
                let mut $connection = PgConnection::connect(url).await.expect("connected");
                $then
            }
            Self::Sqlite(_) => {
                let options = SqliteConnectOptions::new()
                    .filename($database.file())
                    .create_if_missing(true)
                    .busy_timeout(Duration::from_secs(10));
                let mut $connection: SqliteConnection = options.connect().await.expect("opened");
                $then
            }
        }
    };
}

impl TestDatabase {
    /// Creates an empty database.
    pub async fn create(store: Store) -> Self {
        match store {
            Store::Sqlite => Self::Sqlite(tempfile::tempdir().expect("a temporary folder")),
            Store::Postgres => Self::Postgres(Database::create().await),
        }
    }

    /// Creates an empty database on this PostgreSQL server.
    pub async fn create_on(server: Url) -> Self {
        Self::Postgres(Database::create_on(server).await)
    }

    /// Returns the value for `DATABASE_URL`.
    #[must_use]
    pub fn url(&self) -> String {
        match self {
            Self::Postgres(database) => database.url().to_string(),
            Self::Sqlite(_) => format!("sqlite://{}", self.file().display()),
        }
    }

    /// Returns the address of the database server.
    ///
    /// # Panics
    ///
    /// Panics on SQLite, which has no server.
    #[must_use]
    pub fn address(&self) -> SocketAddr {
        let Self::Postgres(database) = self else {
            panic!("SQLite has no address")
        };
        let addresses = database
            .url()
            .socket_addrs(|| Some(5432))
            .expect("TCP to PostgreSQL");
        addresses.into_iter().next().expect("an address")
    }

    /// Returns the value for `DATABASE_URL` that leads through a proxy.
    ///
    /// # Panics
    ///
    /// Panics on SQLite, which has no server.
    #[must_use]
    pub fn url_through(&self, proxy: SocketAddr) -> String {
        let Self::Postgres(database) = self else {
            panic!("SQLite has no address")
        };
        let mut url = database.url().clone();
        url.set_ip_host(proxy.ip()).expect("a host can be set");
        url.set_port(Some(proxy.port())).expect("a port can be set");
        url.to_string()
    }

    /// Returns the `DATABASE_URL` for posts-service: the same PostgreSQL database, or another
    /// SQLite file.
    #[must_use]
    pub fn posts_url(&self) -> String {
        match self {
            Self::Postgres(database) => database.url().to_string(),
            Self::Sqlite(_) => format!("sqlite://{}", self.posts_file().display()),
        }
    }

    /// Returns the SQLite file of the posts.
    #[must_use]
    pub fn posts_file(&self) -> PathBuf {
        self.file().with_file_name("posts.db")
    }

    /// Returns the SQLite file of the users.
    #[must_use]
    pub fn file(&self) -> PathBuf {
        match self {
            Self::Postgres(database) => PathBuf::from(database.url().path()),
            Self::Sqlite(folder) => folder.path().join("users.db"),
        }
    }

    /// Revokes the tokens of the user `ann` as if the clock of the database were ten minutes ahead.
    pub async fn revoke_tokens_of_ann_ten_minutes_ahead(&self) {
        let sql = match self {
            Self::Postgres(_) => {
                r#"UPDATE "user" SET tokens_not_before = date_part('epoch', now())::bigint + 600
                    WHERE username = 'ann'"#
            }
            Self::Sqlite(_) => {
                r#"UPDATE "user" SET tokens_not_before = unixepoch() + 600 WHERE username = 'ann'"#
            }
        };
        self.execute(sql).await;
    }

    /// Executes a statement.
    pub async fn execute(&self, sql: &'static str) {
        connected!(self, connection => {
            sqlx::raw_sql(sql).execute(&mut connection).await.expect("executed");
        });
    }

    /// Reads the stored row of a user.
    pub async fn user(&self, username: &str) -> Option<StoredUser> {
        const SQL: &str = r#"SELECT id, password, role FROM "user" WHERE username = $1"#;
        let row: Option<(i64, String, String)> = connected!(self, connection => sqlx::query_as(SQL)
            .bind(username)
            .fetch_optional(&mut connection)
            .await
            .expect("the table of users can be read"));
        row.map(|(id, password, role)| StoredUser { id, password, role })
    }

    /// Counts the users.
    pub async fn count_users(&self) -> i64 {
        self.read_number(r#"SELECT count(*) FROM "user""#).await
    }

    /// Reads the number that a statement returns.
    pub(crate) async fn read_number(&self, sql: &'static str) -> i64 {
        connected!(self, connection => sqlx::query_scalar(sql)
            .fetch_one(&mut connection)
            .await
            .expect("one number"))
    }

    /// Replaces a user's role.
    pub async fn set_role(&self, username: &str, role: &str) {
        self.update(
            r#"UPDATE "user" SET role = $2 WHERE username = $1"#,
            username,
            role,
        )
        .await;
    }

    /// Renames a user, even to a name that cannot be registered.
    pub async fn rename(&self, username: &str, new: &str) {
        self.update(
            r#"UPDATE "user" SET username = $2 WHERE username = $1"#,
            username,
            new,
        )
        .await;
    }

    /// Replaces a user's password hash.
    pub async fn set_password_hash(&self, username: &str, hash: &str) {
        self.update(
            r#"UPDATE "user" SET password = $2 WHERE username = $1"#,
            username,
            hash,
        )
        .await;
    }

    async fn update(&self, sql: &'static str, username: &str, value: &str) {
        let rows = connected!(self, connection => sqlx::query(sql)
            .bind(username)
            .bind(value)
            .execute(&mut connection)
            .await
            .expect("the user is updated")
            .rows_affected());
        assert_eq!(rows, 1, "there is one user {username}");
    }

    /// Counts the rows that a statement returns.
    pub async fn count_rows(&self, sql: &'static str) -> usize {
        connected!(self, connection => sqlx::query(sql)
            .fetch_all(&mut connection)
            .await
            .expect("it can be run")
            .len())
    }

    /// Locks a table. Others can still read it, and must wait before they write.
    ///
    /// # Panics
    ///
    /// Panics on SQLite.
    pub async fn lock(&self, table: &'static str) -> LockedTable {
        self.lock_in(table, "EXCLUSIVE").await
    }

    /// Locks a table in this mode of PostgreSQL.
    pub async fn lock_in(&self, table: &'static str, mode: &'static str) -> LockedTable {
        let Self::Postgres(database) = self else {
            panic!("only PostgreSQL has table locks")
        };
        let mut connection = PgConnection::connect(database.url().as_str())
            .await
            .expect("connected");
        let lock = format!("BEGIN; LOCK TABLE {table} IN {mode} MODE");
        sqlx::raw_sql(AssertSqlSafe(lock))
            .execute(&mut connection)
            .await
            .expect("locked");
        LockedTable { connection, table }
    }

    /// Inserts a user in a transaction that stays open. Another insert with this name waits for its
    /// end.
    ///
    /// # Panics
    ///
    /// Panics on SQLite.
    pub async fn hold_username(&self, username: &str) -> HeldUsername {
        const SQL: &str =
            r#"INSERT INTO "user" (username, password, role) VALUES ($1, '', 'user')"#;
        let Self::Postgres(database) = self else {
            panic!("on SQLite every write would wait")
        };
        let mut connection = PgConnection::connect(database.url().as_str())
            .await
            .expect("connected");
        sqlx::raw_sql("BEGIN")
            .execute(&mut connection)
            .await
            .expect("begun");
        sqlx::query(SQL)
            .bind(username)
            .execute(&mut connection)
            .await
            .expect("inserted");
        HeldUsername(connection)
    }

    /// Deletes a user's row.
    pub async fn delete(&self, username: &str) {
        const SQL: &str = r#"DELETE FROM "user" WHERE username = $1"#;
        let rows = connected!(self, connection => sqlx::query(SQL)
            .bind(username)
            .execute(&mut connection)
            .await
            .expect("the user is deleted")
            .rows_affected());
        assert_eq!(rows, 1, "there was one user {username}");
    }
}

/// A locked table, to which others cannot write until this value is dropped.
#[derive(Debug)]
pub struct LockedTable {
    connection: PgConnection,
    table: &'static str,
}

impl LockedTable {
    /// Returns whether a statement of a request waits for the lock.
    pub async fn has_waiters(&mut self) -> bool {
        let sql = format!(
            "SELECT EXISTS (SELECT 1 FROM pg_locks JOIN pg_stat_activity USING (pid)
            WHERE NOT granted AND relation = $1::regclass AND {IS_OF_REQUEST})"
        );
        // A transaction keeps what it has read about other connections until this call.
        sqlx::raw_sql("SELECT pg_stat_clear_snapshot()")
            .execute(&mut self.connection)
            .await
            .expect("cleared");
        let waits = sqlx::query_scalar(AssertSqlSafe(sql))
            .bind(self.table)
            .fetch_one(&mut self.connection);
        waits.await.expect("the locks can be read")
    }

    /// Releases the lock.
    pub async fn unlock(self) {
        self.connection.close().await.expect("it is closed");
    }
}

/// A held username, which others cannot insert until it is released.
#[derive(Debug)]
pub struct HeldUsername(PgConnection);

impl HeldUsername {
    /// Returns whether a statement waits for the username.
    pub async fn has_waiters(&mut self) -> bool {
        let sql = "SELECT EXISTS (SELECT 1 FROM pg_locks
            WHERE NOT granted AND transactionid = pg_current_xact_id()::xid)";
        let waits = sqlx::query_scalar(sql).fetch_one(&mut self.0);
        waits.await.expect("the locks can be read")
    }

    /// Releases the username by a rollback, so the user never existed.
    pub async fn release(mut self) {
        sqlx::raw_sql("ROLLBACK")
            .execute(&mut self.0)
            .await
            .expect("rolled back");
    }
}
