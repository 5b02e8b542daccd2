//! Moves all users at once, for the commands of an operator. Use cases never do.

use super::{sql::audit::pending_rows::insert_pending, tables::COLUMNS};
use crate::{
    audit::{Change, Write},
    user::{Credentials, User},
};
use rolegate_proto::Role;
use rolegate_sql_store::{Database, LongTransaction, Statement, StoreError};
use secrecy::{ExposeSecret, SecretString};
use serde::{Serialize, Serializer};
use serde_json::Value;
use std::collections::{HashMap, HashSet};

/// Users that one statement moves.
const PAGE: i64 = 1000;

/// The columns of a row to insert, and their types in PostgreSQL.
const INSERTED: [(&str, &str); 8] = [
    ("id", "bigint"),
    ("username", "text"),
    ("password", "text"),
    ("role", "text"),
    ("disabled", "boolean"),
    ("tokens_not_before", "bigint"),
    ("tokens_marked_until", "bigint"),
    ("created_at", "bigint"),
];

/// A user to insert with everything that is stored, as the statement reads it.
#[derive(Clone, Debug, Serialize)]
pub(crate) struct UserRecord {
    /// Assigned by the database if `None`.
    pub(crate) id: Option<i64>,
    pub(crate) username: String,
    #[serde(rename = "password", serialize_with = "exposed")]
    pub(crate) password_hash: SecretString,
    #[serde(serialize_with = "named")]
    pub(crate) role: Role,
    pub(crate) disabled: bool,
    /// Unix seconds.
    pub(crate) tokens_not_before: i64,
    /// Unix seconds.
    pub(crate) tokens_marked_until: i64,
    /// Unix seconds; `None` for a user who is moved with the tokens that were issued before: none of these was issued
    /// before the user was made. A user who had the same id and was deleted here takes precedence over both.
    pub(crate) created_at: Option<i64>,
}

/// A database of users, from which or into which all are moved.
pub(crate) struct Transfer(Database);

/// A transaction that inserts users. Dropped, it has inserted none.
pub(crate) struct Import(LongTransaction);

/// All users at one moment.
pub(crate) struct Export {
    transaction: LongTransaction,
    last_id: i64,
}

impl Transfer {
    pub(super) fn of(database: Database) -> Self {
        Self(database)
    }

    pub(super) fn database(&self) -> &Database {
        &self.0
    }

    pub(crate) fn is_on_postgres(&self) -> bool {
        self.0.is_postgres()
    }

    /// The highest id that was ever assigned, also to a user who is deleted; 0 if there is none.
    pub(crate) async fn highest_id(&self) -> Result<i64, StoreError> {
        let assigned = if self.0.is_postgres() {
            r#"SELECT pg_sequence_last_value(pg_get_serial_sequence('"user"', 'id')::regclass)"#
        } else {
            "SELECT seq FROM sqlite_sequence WHERE name = 'user'"
        };
        let highest = self.0.statement("SELECT coalesce(max(id), 0) FROM (");
        let highest = highest
            .push(r#"SELECT id FROM "user" UNION ALL "#)
            .push(assigned);
        let highest = self.0.read::<(i64,)>(highest.push(") AS ids")).await?.pop();
        Ok(highest.map_or(0, |(id,)| id))
    }

    pub(crate) async fn import(&self) -> Result<Import, StoreError> {
        Ok(Import(self.0.begin().await?))
    }

    pub(crate) async fn export(&self) -> Result<Export, StoreError> {
        Ok(Export {
            transaction: self.0.begin_snapshot().await?,
            last_id: 0,
        })
    }

    /// The first users behind this id, by ascending id, or those who have this role or a key with it; none
    /// at the end.
    pub(crate) async fn users_after(
        &self,
        id: i64,
        role: Option<Role>,
    ) -> Result<Vec<Credentials>, StoreError> {
        self.0
            .read(page_after(self.0.statement("SELECT "), id, role))
            .await
    }

    /// When these users last signed in with a password, in Unix seconds by their ids.
    pub(crate) async fn last_logins(&self, ids: &[i64]) -> Result<HashMap<i64, u64>, StoreError> {
        let select = r#"SELECT id, last_login_at FROM "user" WHERE last_login_at > 0 AND id"#;
        let select = self.0.statement(select).push_any(ids);
        let found = self.0.read::<(i64, i64)>(select).await?.into_iter();
        Ok(found.map(|(id, at)| (id, at.unsigned_abs())).collect())
    }
}

impl Import {
    /// Inserts and records users, except those whose username or id is taken; returns the names of the
    /// inserted.
    pub(crate) async fn insert(
        &mut self,
        users: &[UserRecord],
    ) -> Result<HashSet<String>, StoreError> {
        if let Some(highest) = users.iter().filter_map(|user| user.id).max() {
            self.advance_ids(highest).await?;
        }
        let assigned = if self.0.is_postgres() {
            r#"coalesce(id, nextval(pg_get_serial_sequence('"user"', 'id')::regclass))"#
        } else {
            "id"
        };
        let insert = r#"INSERT INTO "user" (id, username, password, role, disabled, tokens_not_before,
                tokens_marked_until, created_at)
            SELECT "#;
        let columns = ", username, password, role, disabled, tokens_not_before, tokens_marked_until, created_at";
        let mut rows = self.made_after_deleted(users).await?;
        // Assigned ids come last, after the given ones: SQLite could assign one that is given to a later row.
        rows.sort_by_key(|user| user.id.is_none());
        let insert = self
            .0
            .statement(insert)
            .push(assigned)
            .push(columns)
            .push_rows(&INSERTED, &rows);
        let insert = insert
            .push(" ON CONFLICT DO NOTHING RETURNING ")
            .push(COLUMNS);
        let inserted = self.0.fetch::<User>(insert).await?;
        let write = Write::by_operator(Change::UserImported, None);
        let entries: Vec<_> = inserted
            .iter()
            .map(|user| write.entry_for_user(user))
            .collect();
        let record = insert_pending(self.0.statement(""), &entries);
        self.0.fetch::<(i64,)>(record).await?;
        Ok(inserted.into_iter().map(|user| user.username).collect())
    }

    /// The users, each made later than a deleted user who had the same id, even within a second: that tells them apart.
    async fn made_after_deleted(
        &mut self,
        users: &[UserRecord],
    ) -> Result<Vec<UserRecord>, StoreError> {
        let ids: Vec<i64> = users.iter().filter_map(|user| user.id).collect();
        let deleted = "SELECT user_id, details FROM audit WHERE event = 'user_deleted' AND user_id";
        let pending = " UNION ALL SELECT user_id, details FROM audit_pending WHERE event = 'user_deleted' AND user_id";
        let deleted = self
            .0
            .statement(deleted)
            .push_any(&ids)
            .push(pending)
            .push_any(&ids);
        let mut created_at = HashMap::new();
        for (id, details) in self.0.fetch::<(i64, String)>(deleted).await? {
            let details: Value = serde_json::from_str(&details).unwrap_or_default();
            let of_deleted = details["user_created_at"].as_i64().unwrap_or_default();
            let latest: &mut i64 = created_at.entry(id).or_default();
            *latest = of_deleted.max(*latest);
        }
        let mut users = users.to_vec();
        if created_at.is_empty() {
            return Ok(users);
        }
        let now = self.now().await?;
        for user in &mut users {
            if let Some(of_deleted) = user.id.and_then(|id| created_at.get(&id)) {
                user.created_at = Some(now.max(of_deleted + 1));
            }
        }
        Ok(users)
    }

    /// The time of the database in Unix seconds.
    async fn now(&mut self) -> Result<i64, StoreError> {
        let now = self.0.statement("SELECT ").push_now();
        let now = self.0.fetch::<(i64,)>(now).await?.pop();
        Ok(now.map_or(0, |(now,)| now))
    }

    /// Keeps the database from assigning ids up to `highest`, also to users who register meanwhile: the
    /// sequence does not follow the transaction. SQLite does so by itself. A jump of a thousand leaves room
    /// for ids that are assigned while the statement runs; shorter ways go step by step.
    async fn advance_ids(&mut self, highest: i64) -> Result<(), StoreError> {
        if !self.0.is_postgres() {
            return Ok(());
        }
        let sql = r#"SELECT CASE WHEN $1 - s.last >= 1000 THEN setval(s.sequence, $1)
                ELSE (SELECT max(id) FROM (SELECT nextval(s.sequence) AS id
                    FROM generate_series(1, $1 - s.last)) AS steps) END
            FROM (SELECT sequence, coalesce(pg_sequence_last_value(sequence), 0) AS last
                FROM (SELECT pg_get_serial_sequence('"user"', 'id')::regclass AS sequence) AS named) AS s
            WHERE s.last < $1"#;
        let advance = self.0.statement(sql).bind(highest);
        self.0.fetch::<(i64,)>(advance).await.map(drop)
    }

    pub(crate) async fn commit(self) -> Result<(), StoreError> {
        self.0.commit().await
    }
}

impl Export {
    /// The last revision that is sealed, and the ids of the rows of the record that are not.
    pub(crate) async fn unsealed(&mut self) -> Result<(i64, Vec<i64>), StoreError> {
        let last = self
            .transaction
            .statement("SELECT max(revision) FROM audit_seal");
        let last = self.transaction.fetch::<(i64,)>(last).await?.pop();
        let ids = self.transaction.statement("SELECT id FROM audit_pending");
        let ids = self.transaction.fetch::<(i64,)>(ids).await?;
        Ok((
            last.map_or(0, |(revision,)| revision),
            ids.into_iter().map(|(id,)| id).collect(),
        ))
    }

    /// The next users by ascending id; none at the end.
    pub(crate) async fn next_page(&mut self) -> Result<Vec<Credentials>, StoreError> {
        let page = page_after(self.transaction.statement("SELECT "), self.last_id, None);
        let users: Vec<Credentials> = self.transaction.fetch(page).await?;
        self.last_id = users.last().map_or(self.last_id, |last| last.user.id);
        Ok(users)
    }
}

fn page_after(select: Statement, id: i64, role: Option<Role>) -> Statement {
    let select = select
        .push(COLUMNS)
        .push(r#", password FROM "user" WHERE id > $1"#);
    let mut select = select.bind(id).bind(PAGE);
    if let Some(role) = role {
        let with_role = " AND (role = $3 OR id IN (SELECT user_id FROM api_key WHERE role = $3))";
        select = select.push(with_role).bind(role.as_str());
    }
    select.push(" ORDER BY id LIMIT $2")
}

fn exposed<S: Serializer>(hash: &SecretString, serializer: S) -> Result<S::Ok, S::Error> {
    serializer.serialize_str(hash.expose_secret())
}

fn named<S: Serializer>(role: &Role, serializer: S) -> Result<S::Ok, S::Error> {
    serializer.serialize_str(role.as_str())
}
