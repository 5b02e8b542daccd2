//! Moves all users at once, for the commands of an operator. Use cases never do.

use super::tables::{COLUMNS, TABLES};
use crate::user::Credentials;
use rolegate_program::program::Failure;
use rolegate_proto::Role;
use rolegate_sql_store::{
    Database, DatabaseUrl, LongTransaction, Statement, Store as _, StoreError,
};
use secrecy::{ExposeSecret, SecretString};
use serde::Serialize;
use std::collections::HashSet;

/// Users that one statement moves.
const PAGE: i64 = 1000;

/// The columns of a row to insert, and their types in PostgreSQL.
const INSERTED: [(&str, &str); 7] = [
    ("id", "bigint"),
    ("username", "text"),
    ("password", "text"),
    ("role", "text"),
    ("disabled", "boolean"),
    ("tokens_not_before", "bigint"),
    ("tokens_marked_until", "bigint"),
];

/// A user to insert with everything that is stored.
#[derive(Clone, Debug)]
pub(crate) struct UserRecord {
    /// Assigned by the database if `None`.
    pub(crate) id: Option<i64>,
    pub(crate) username: String,
    pub(crate) password_hash: SecretString,
    pub(crate) role: Role,
    pub(crate) disabled: bool,
    /// Unix seconds.
    pub(crate) tokens_not_before: i64,
    /// Unix seconds.
    pub(crate) tokens_marked_until: i64,
}

/// A database of users, from which or into which all are moved.
pub(crate) struct Transfer(Database);

/// A transaction that inserts users. Dropped, it has inserted none.
pub(crate) struct Import<'d> {
    database: &'d Database,
    transaction: LongTransaction,
}

/// All users at one moment.
pub(crate) struct Export<'d> {
    database: &'d Database,
    transaction: LongTransaction,
    last_id: i64,
}

impl Transfer {
    pub(crate) async fn open(url: &DatabaseUrl) -> Result<Self, Failure> {
        Ok(Self(url.open(&TABLES).await?))
    }

    /// The highest id that was ever assigned, also to a user who is deleted; 0 if there is none.
    pub(crate) async fn highest_id(&self) -> Result<i64, StoreError> {
        let assigned = if self.0.is_postgres() {
            r#"SELECT pg_sequence_last_value(pg_get_serial_sequence('"user"', 'id')::regclass)"#
        } else {
            "SELECT seq FROM sqlite_sequence WHERE name = 'user'"
        };
        let highest = self.0.statement("SELECT coalesce(max(id), 0) FROM (");
        let highest = highest.push(r#"SELECT id FROM "user" UNION ALL "#).push(assigned);
        let highest = self.0.read::<(i64,)>(highest.push(") AS ids")).await?.pop();
        Ok(highest.map_or(0, |(id,)| id))
    }

    pub(crate) async fn import(&self) -> Result<Import<'_>, StoreError> {
        Ok(Import { database: &self.0, transaction: self.0.begin().await? })
    }

    pub(crate) async fn export(&self) -> Result<Export<'_>, StoreError> {
        let transaction = self.0.begin_snapshot().await?;
        Ok(Export { database: &self.0, transaction, last_id: 0 })
    }

    /// The first users behind this id, by ascending id; none at the end.
    pub(crate) async fn users_after(&self, id: i64) -> Result<Vec<Credentials>, StoreError> {
        self.0.read(page_after(&self.0, id)).await
    }

    pub(crate) async fn close(&self) {
        self.0.close().await;
    }
}

impl Import<'_> {
    /// Inserts users, except those whose username or id is taken; returns the names of the inserted.
    pub(crate) async fn insert(
        &mut self,
        users: &[UserRecord],
    ) -> Result<HashSet<String>, StoreError> {
        if let Some(highest) = users.iter().filter_map(|user| user.id).max() {
            self.advance_ids(highest).await?;
        }
        let assigned = if self.database.is_postgres() {
            r#"coalesce(id, nextval(pg_get_serial_sequence('"user"', 'id')::regclass))"#
        } else {
            "id"
        };
        let insert = r#"INSERT INTO "user" (id, username, password, role, disabled, tokens_not_before,
                tokens_marked_until)
            SELECT "#;
        let columns =
            ", username, password, role, disabled, tokens_not_before, tokens_marked_until";
        // Assigned ids come last, after the given ones: SQLite could assign one that is given to a later row.
        let mut rows: Vec<_> = users.iter().map(Row::of).collect();
        rows.sort_by_key(|row| row.id.is_none());
        let insert = self.database.statement(insert).push(assigned).push(columns);
        let insert = insert.push_rows(&INSERTED, &rows);
        let insert = insert.push(" ON CONFLICT DO NOTHING RETURNING username");
        let names = self.transaction.fetch::<(String,)>(insert).await?;
        Ok(names.into_iter().map(|(name,)| name).collect())
    }

    /// Keeps the database from assigning ids up to `highest`, also to users who register meanwhile: the
    /// sequence does not follow the transaction. SQLite does so by itself. A jump of a thousand leaves room
    /// for ids that are assigned while the statement runs; shorter ways go step by step.
    async fn advance_ids(&mut self, highest: i64) -> Result<(), StoreError> {
        if !self.database.is_postgres() {
            return Ok(());
        }
        let sql = r#"SELECT CASE WHEN $1 - s.last >= 1000 THEN setval(s.sequence, $1)
                ELSE (SELECT max(id) FROM (SELECT nextval(s.sequence) AS id
                    FROM generate_series(1, $1 - s.last)) AS steps) END
            FROM (SELECT sequence, coalesce(pg_sequence_last_value(sequence), 0) AS last
                FROM (SELECT pg_get_serial_sequence('"user"', 'id')::regclass AS sequence) AS named) AS s
            WHERE s.last < $1"#;
        let advance: Statement = self.database.statement(sql).bind(highest);
        self.transaction.fetch::<(i64,)>(advance).await.map(drop)
    }

    pub(crate) async fn commit(self) -> Result<(), StoreError> {
        self.transaction.commit().await
    }
}

impl Export<'_> {
    /// The next users by ascending id; none at the end.
    pub(crate) async fn next_page(&mut self) -> Result<Vec<Credentials>, StoreError> {
        let page = page_after(self.database, self.last_id);
        let users: Vec<Credentials> = self.transaction.fetch(page).await?;
        self.last_id = users.last().map_or(self.last_id, |last| last.user.id);
        Ok(users)
    }
}

fn page_after(database: &Database, id: i64) -> Statement {
    let of_page = r#", password FROM "user" WHERE id > $1 ORDER BY id LIMIT $2"#;
    database.statement("SELECT ").push(COLUMNS).push(of_page).bind(id).bind(PAGE)
}

/// A record as the statement reads it.
#[derive(Serialize)]
struct Row<'r> {
    id: Option<i64>,
    username: &'r str,
    password: &'r str,
    role: &'static str,
    disabled: bool,
    tokens_not_before: i64,
    tokens_marked_until: i64,
}

impl<'r> Row<'r> {
    fn of(user: &'r UserRecord) -> Self {
        Self {
            id: user.id,
            username: &user.username,
            password: user.password_hash.expose_secret(),
            role: user.role.as_str(),
            disabled: user.disabled,
            tokens_not_before: user.tokens_not_before,
            tokens_marked_until: user.tokens_marked_until,
        }
    }
}
