//! Imports users with their ids, password hashes and times, as another database has stored them.

use super::OperatorDatabase;
use crate::{
    audit::{BulkChange, Entry, Requested, parse_details},
    change::GroupChange,
    group::{Group, Membership},
    principal::Principal,
    store::user_store::{
        audit::pending_rows::insert_pending, encoding::encode_seconds, user_rows::USER_COLUMNS,
    },
    user::{User, UserRecord},
};
use rolegate_sql_store::{Columns as _, LongTransaction, StoreError, row};
use serde::Serialize;
use std::collections::{HashMap, HashSet};

/// A transaction that inserts users. If it is dropped without a commit, no user is inserted.
pub(crate) struct Import {
    transaction: LongTransaction,
}

row! {
    /// A row of the record that reports the deletion of a user.
    struct DeletionRow {
        user_id: i64,
        details: String,
    }
}

row! {
    /// A membership of an imported user, as a row to insert.
    #[derive(Serialize)]
    struct MembershipRow {
        user_id: i64,
        group_name: String,
        until: Option<i64>,
    }
}

impl MembershipRow {
    fn new(user_id: i64, membership: &Membership) -> Self {
        Self {
            user_id,
            group_name: membership.group.to_string(),
            until: membership.until.map(encode_seconds),
        }
    }
}

/// Returns the entry of a group that the import has created. Its name came from the import, so it is well-formed.
fn entry_for_created_group(group: &Group) -> Option<Entry> {
    let name = group.name.parse().ok()?;
    let request = Requested::new(Principal::Operator, GroupChange::Create { name });
    Some(request.entry_for_group(group))
}

impl OperatorDatabase {
    pub(crate) async fn import(&self) -> Result<Import, StoreError> {
        Ok(Import {
            transaction: self.database.begin().await?,
        })
    }
}

impl Import {
    /// Inserts users and records each import, except for users whose username or id is taken. Returns the names of the
    /// inserted users.
    pub(crate) async fn insert(
        &mut self,
        mut users: Vec<UserRecord>,
    ) -> Result<HashSet<String>, StoreError> {
        if let Some(highest) = users.iter().filter_map(|user| user.id).max() {
            self.advance_ids(highest).await?;
        }
        self.date_after_deletions(&mut users).await?;
        // Users without an id come last. Otherwise SQLite could assign them an id that a later row has.
        users.sort_by_key(|user| user.id.is_none());
        let mut inserted = self.insert_rows(&users).await?;
        let mut memberships: HashMap<String, Vec<Membership>> = users
            .into_iter()
            .map(|user| (user.username, user.memberships))
            .collect();
        for user in &mut inserted {
            user.memberships = memberships.remove(&user.username).unwrap_or_default();
        }
        self.insert_memberships(&inserted).await?;
        self.record(&inserted).await?;
        Ok(inserted.into_iter().map(|user| user.username).collect())
    }

    async fn insert_rows(&mut self, users: &[UserRecord]) -> Result<Vec<User>, StoreError> {
        let id = if self.transaction.is_postgres() {
            r#"coalesce(id, nextval(pg_get_serial_sequence('"user"', 'id')::regclass))"#
        } else {
            "id"
        };
        let values = UserRecord::column_names().map(|name| if name == "id" { id } else { name });
        let insert = self
            .transaction
            .statement(r#"INSERT INTO "user" ("#)
            .push_columns::<UserRecord>()
            .push(") SELECT ")
            .push_list(values)
            .push_rows(users)
            .push(" ON CONFLICT DO NOTHING RETURNING ")
            .push(USER_COLUMNS);
        self.transaction.fetch(insert).await
    }

    /// Inserts the memberships of imported users, and creates the groups that do not exist yet.
    async fn insert_memberships(&mut self, inserted: &[User]) -> Result<(), StoreError> {
        let rows: Vec<MembershipRow> = inserted
            .iter()
            .flat_map(|user| {
                user.memberships
                    .iter()
                    .map(|it| MembershipRow::new(user.id, it))
            })
            .collect();
        if rows.is_empty() {
            return Ok(());
        }
        let create = self
            .transaction
            .statement(r#"INSERT INTO "group" (name) SELECT DISTINCT group_name"#)
            .push_rows(&rows)
            .push(" ORDER BY group_name ON CONFLICT (name) DO NOTHING RETURNING id, name, CAST(0 AS bigint) AS members");
        let created: Vec<Group> = self.transaction.fetch(create).await?;
        let insert = self
            .transaction
            .statement("INSERT INTO membership (")
            .push_columns::<MembershipRow>()
            .push(") SELECT ")
            .push_columns::<MembershipRow>()
            .push_rows(&rows);
        self.transaction.execute(insert).await?;
        let entries: Vec<Entry> = created.iter().filter_map(entry_for_created_group).collect();
        let record = insert_pending(self.transaction.statement(""), &entries);
        self.transaction.execute(record).await?;
        Ok(())
    }

    async fn record(&mut self, inserted: &[User]) -> Result<(), StoreError> {
        let request = Requested::new(Principal::Operator, BulkChange::Import);
        let entries: Vec<Entry> = inserted
            .iter()
            .map(|user| request.entry_for_import(user))
            .collect();
        let record = insert_pending(self.transaction.statement(""), &entries);
        self.transaction.execute(record).await?;
        Ok(())
    }

    /// If a user with the same id was deleted, gives the new user a later time of creation, even if both were created
    /// within one second. Other services tell the two users apart by this time.
    async fn date_after_deletions(&mut self, users: &mut [UserRecord]) -> Result<(), StoreError> {
        let ids: Vec<i64> = users.iter().filter_map(|user| user.id).collect();
        let deletions = self.latest_deleted(&ids).await?;
        if deletions.is_empty() {
            return Ok(());
        }
        let now = self.transaction.statement("SELECT $NOW");
        let now: i64 = self.transaction.fetch_one(now).await?;
        for user in users {
            if let Some(deleted) = user.id.and_then(|id| deletions.get(&id)) {
                user.created_at = Some(now.max(deleted + 1));
            }
        }
        Ok(())
    }

    /// Returns the time of creation, in Unix seconds, of the latest deleted user with each of these ids. Ids without a
    /// deleted user are left out.
    async fn latest_deleted(&mut self, ids: &[i64]) -> Result<HashMap<i64, i64>, StoreError> {
        let select = self
            .transaction
            .statement("SELECT user_id, details FROM audit WHERE event = 'user_deleted' AND user_id")
            .push_any(ids)
            .push(" UNION ALL SELECT user_id, details FROM audit_pending WHERE event = 'user_deleted' AND user_id")
            .push_any(ids);
        let mut latest = HashMap::new();
        for row in self.transaction.fetch::<DeletionRow>(select).await? {
            let details = parse_details(&row.details);
            let created_at = details["user_created_at"].as_i64().unwrap_or_default();
            let latest: &mut i64 = latest.entry(row.user_id).or_default();
            *latest = created_at.max(*latest);
        }
        Ok(latest)
    }

    /// Keeps the database from assigning ids up to `highest`, even to users who register during the import.
    ///
    /// Only PostgreSQL needs this step, because its sequence is not part of the transaction. If `highest` is a thousand
    /// or more ids ahead, the statement sets the sequence, because hardly as many ids are assigned while it runs.
    /// Otherwise it takes one id after the other, so that the sequence never moves back.
    async fn advance_ids(&mut self, highest: i64) -> Result<(), StoreError> {
        if !self.transaction.is_postgres() {
            return Ok(());
        }
        let advance = self
            .transaction
            .statement(
                r#"SELECT CASE WHEN $1 - s.last >= 1000 THEN setval(s.sequence, $1)
                ELSE (SELECT max(id) FROM (SELECT nextval(s.sequence) AS id
                    FROM generate_series(1, $1 - s.last)) AS steps) END
            FROM (SELECT sequence, coalesce(pg_sequence_last_value(sequence), 0) AS last
                FROM (SELECT pg_get_serial_sequence('"user"', 'id')::regclass AS sequence) AS named) AS s
            WHERE s.last < $1"#,
            )
            .bind(highest);
        self.transaction.execute(advance).await.map(drop)
    }

    pub(crate) async fn commit(self) -> Result<(), StoreError> {
        self.transaction.commit().await
    }
}
