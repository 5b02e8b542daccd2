//! The record of what happened in an SQL database. `sealing`: the way of rows into it and out of it.

mod pending_events;
mod retention;
pub(in crate::store) mod sealing;

use super::{SqlStore, count_to_store};
use crate::{
    audit::{Entry, FormerUsername, Write},
    opaque_token::OpaqueToken,
    store::{
        AuditFilter, AuditRow, AuditStore, CheckedChange, CheckedRow, Seal, SealReference,
        Snapshot, StoreError, Transfer, UnreadableColumn, UserChange,
    },
    user::User,
};
use async_trait::async_trait;
use futures_util::stream::{StreamExt as _, try_unfold};
use rolegate_proto::Role;
use rolegate_sql_store::{Statement, Then, Timed};
use sealing::MAX_BATCH;
use serde_json::{Value, json};
use sqlx::{Error, FromRow, Row, error::BoxDynError};
use std::{slice, time::Duration};

/// Changes that one statement reads.
const CHANGES: i64 = 500;

/// The columns of a row that is not sealed, and their types in PostgreSQL.
const PENDING: [(&str, &str); 12] = [
    ("event", "text"),
    ("user_id", "bigint"),
    ("username", "text"),
    ("actor_id", "bigint"),
    ("actor", "text"),
    ("actor_key", "bigint"),
    ("actor_session", "bigint"),
    ("client_address", "text"),
    ("request_id", "text"),
    ("details", "text"),
    ("state", "text"),
    ("former_username", "text"),
];

pub(in crate::store) const AUDIT_COLUMNS: &str =
    "revision, id, at, event, user_id, username, actor_id, actor, actor_key,
    actor_session, client_address, request_id, details, state, former_username,
    commitments";

/// Behind the role, in the state of a user who is disabled.
const DISABLED: &str = " disabled";

impl Entry {
    fn to_row(&self) -> Value {
        let (actor_id, actor) = match &self.actor {
            _ if self.by_owner => (self.user_id, self.username.as_deref()),
            Some((id, name)) => (Some(*id), Some(&**name)),
            None => (None, None),
        };
        let state = self
            .state
            .map(|(role, disabled)| format!("{role}{}", if disabled { DISABLED } else { "" }));
        json!({
            "event": self.event, "user_id": self.user_id, "username": self.username, "actor_id": actor_id,
            "actor": actor, "actor_key": self.actor_key, "actor_session": self.actor_session,
            "client_address": self.client_address, "request_id": self.request_id,
            "details": self.details.to_json(), "state": state,
            "former_username": self.details.former_username.as_ref().map(FormerUsername::to_stored),
        })
    }
}

/// Inserts rows that are not sealed yet, into the statement that begins a transaction or follows in one.
pub(in crate::store) fn insert_pending(start: Statement, entries: &[Entry]) -> Statement {
    insert(start, entries, ", details, state").push(" RETURNING id")
}

/// Ends a statement of PostgreSQL that begins with `WITH written AS (` and returns the row of a user: records
/// the entry if there is one, with the name and the state of that row.
pub(super) fn record_written(start: Statement, entry: &Entry) -> Statement {
    let state = ", details,
        state || (SELECT CASE WHEN disabled THEN ' disabled' ELSE '' END FROM written)";
    let recorded = insert(
        start.push("), recorded AS ("),
        slice::from_ref(entry),
        state,
    );
    recorded.push(" AND EXISTS (SELECT 1 FROM written)) SELECT * FROM written")
}

fn insert(start: Statement, entries: &[Entry], state: &'static str) -> Statement {
    let rows: Vec<_> = entries.iter().map(Entry::to_row).collect();
    let start = start.push(
        "INSERT INTO audit_pending (at, event, user_id, username, actor_id, actor, actor_key, actor_session,
            client_address, request_id, former_username, details, state)
        SELECT ",
    );
    let names = r#", event, user_id, coalesce(username, (SELECT username FROM "user" AS u WHERE u.id = user_id)),
        actor_id, coalesce(actor, (SELECT username FROM "user" AS u WHERE u.id = actor_id)), actor_key,
        actor_session, client_address, request_id, former_username"#;
    start
        .push_now()
        .push(names)
        .push(state)
        .push_rows(&PENDING, &rows)
}

/// Ends a `SELECT` of rows of the record with the conditions of a page, the newest first.
fn push_filter(select: Statement, filter: &AuditFilter) -> Statement {
    let before = filter.before.unwrap_or(i64::MAX);
    let mut select = select.push("revision < ").push_bind(before);
    if let Some(user_id) = filter.user_id {
        select = select.push(" AND user_id = ").push_bind(user_id);
    }
    if let Some(actor_id) = filter.actor_id {
        select = select.push(" AND actor_id = ").push_bind(actor_id);
    }
    if !filter.event.is_empty() {
        select = select.push(" AND event = ").push_bind(filter.event.clone());
    }
    select
        .push(" ORDER BY revision DESC LIMIT ")
        .push_bind(filter.limit)
}

impl SqlStore {
    /// These statements, and the row of the change of each user whom the write returns.
    pub(super) fn record_users(&self, write: Write, then: Vec<Statement>) -> Then<User> {
        self.record(move |user| write.all_of_user(user), then)
    }

    /// The same of tokens.
    pub(super) fn record_tokens(&self, write: Write, then: Vec<Statement>) -> Then<OpaqueToken> {
        self.record(move |token| vec![write.of_token(token, None)], then)
    }

    pub(super) fn record<R: 'static>(
        &self,
        entries: impl Fn(&R) -> Vec<Entry> + Send + Sync + 'static,
        then: Vec<Statement>,
    ) -> Then<R> {
        let insert = self.database.statement("");
        Then::of_rows(move |rows: &[R]| {
            let entries: Vec<Entry> = rows.iter().flat_map(&entries).collect();
            let mut statements = then.clone();
            statements.push(insert_pending(insert.clone(), &entries));
            Ok(statements)
        })
    }
}

#[async_trait]
impl AuditStore for SqlStore {
    fn note_event(&self, entry: Entry) {
        self.sealer.add_event(entry);
    }

    async fn seal(&self) -> Result<bool, StoreError> {
        self.sealer.seal().await
    }

    async fn newest_change(&self) -> Result<i64, StoreError> {
        let newest = "SELECT coalesce(max(revision), 0) FROM audit WHERE state IS NOT NULL";
        let newest = self.database.statement(newest);
        Ok(self
            .database
            .peek::<(i64,)>(newest)
            .await?
            .pop()
            .map_or(0, |(revision,)| revision))
    }

    async fn seals(&self) -> Result<[Seal; 2], StoreError> {
        let select = self.database.statement(
            "SELECT revision, at, digest FROM audit_seal WHERE revision IN (
                (SELECT min(revision) FROM audit_seal), (SELECT max(revision) FROM audit_seal))
            ORDER BY revision",
        );
        let seals: Vec<Seal> = self.database.read(select).await?;
        match (seals.first(), seals.last()) {
            (Some(oldest), Some(newest)) => Ok([oldest.clone(), newest.clone()]),
            _ => Err(StoreError::Failed(Error::RowNotFound.into())),
        }
    }

    async fn seal_at(&self, revision: i64) -> Result<Option<Seal>, StoreError> {
        let seal = "SELECT revision, at, digest FROM audit_seal WHERE revision = $1";
        let seal = self.database.statement(seal).bind(revision);
        Ok(self.database.read(seal).await?.pop())
    }

    async fn has_revision(&self, revision: i64) -> Result<bool, StoreError> {
        let found = "SELECT revision FROM audit WHERE revision = $1
            UNION ALL SELECT revision FROM audit_seal WHERE revision = $1";
        let found = self.database.statement(found).bind(revision);
        Ok(!self.database.read::<(i64,)>(found).await?.is_empty())
    }

    async fn audit(&self, filter: &AuditFilter) -> Result<Vec<CheckedRow>, StoreError> {
        let select = self
            .database
            .statement("SELECT ")
            .push(AUDIT_COLUMNS)
            .push(" FROM audit WHERE ");
        self.database.read(push_filter(select, filter)).await
    }

    async fn changes_after(&self, revision: i64) -> Result<Vec<CheckedChange>, StoreError> {
        let select = "SELECT revision, event, user_id, username, state, details,
                (SELECT revision || ':' || digest FROM audit_seal
                    WHERE audit_seal.revision >= audit.revision ORDER BY revision LIMIT 1)
            FROM audit WHERE state IS NOT NULL AND revision > $1 ORDER BY revision LIMIT $2";
        let select = self.database.statement(select).bind(revision).bind(CHANGES);
        self.database.read(select).await
    }

    async fn snapshot(&self) -> Result<Snapshot, StoreError> {
        let (revision, export) = loop {
            self.seal_all().await?;
            let mut export = Transfer::of(self.database.clone()).export().await?;
            let (last, pending) = export.unsealed().await?;
            let is_sealed = match pending.len() {
                0 => true,
                // Behind the last seal come exactly the changes that the users show, or another replica was faster.
                1..=MAX_BATCH => self.sealer.seal_exactly(last, &pending).await? > 0,
                _ => false,
            };
            if is_sealed {
                break (last + count_to_store(pending.len()), export);
            }
        };
        let seal = self.seal_at(revision).await?;
        let pages = try_unfold(export, |mut export| async move {
            let page = export.next_page().await?;
            let users: Vec<User> = page.into_iter().map(|it| it.user).collect();
            Ok((!users.is_empty()).then_some((users, export)))
        });
        Ok(Snapshot {
            revision,
            seal: seal.as_ref().and_then(SealReference::of),
            users: pages.boxed(),
        })
    }

    async fn oldest_unsealed(&self) -> Result<Option<Duration>, StoreError> {
        let oldest = self
            .database
            .statement("SELECT at FROM audit_pending ORDER BY id LIMIT 1");
        let Timed { at: now, value } = self.database.read_timed::<(i64,)>(oldest).await?;
        let oldest = value
            .first()
            .map(|(at,)| u64::try_from(*at).unwrap_or_default());
        Ok(oldest.map(|at| Duration::from_secs(now.saturating_sub(at))))
    }

    async fn remove_old_rows(&self, days: u32) -> Result<(), StoreError> {
        self.remove_rows_older_than(days).await
    }

    async fn forget_additions(&self) -> Result<(), StoreError> {
        self.forget_old_additions().await
    }
}

type Text = Option<String>;
type Number = Option<i64>;

/// A row of [`AUDIT_COLUMNS`].
type Columns = (
    i64,
    i64,
    i64,
    String,
    Number,
    Text,
    Number,
    Text,
    Number,
    Number,
    Text,
    Text,
    String,
    Text,
    Text,
    String,
);

impl<'r, R: Row> FromRow<'r, R> for AuditRow
where
    Columns: FromRow<'r, R>,
{
    fn from_row(row: &'r R) -> sqlx::Result<Self> {
        let (
            revision,
            id,
            at,
            event,
            user_id,
            username,
            actor_id,
            actor,
            actor_key,
            actor_session,
            ..,
        ) = Columns::from_row(row)?;
        let (.., client_address, request_id, details, state, former_username, commitments) =
            Columns::from_row(row)?;
        Ok(Self {
            revision,
            id,
            at,
            event,
            user_id,
            username,
            actor_id,
            actor,
            actor_key,
            actor_session,
            client_address,
            request_id,
            details,
            state,
            former_username,
            commitments,
        })
    }
}

/// The columns of a change, as they are decoded by position.
const CHANGE_COLUMNS: &str = "revision, event, user_id, username, state, details, seal";

/// A row of [`CHANGE_COLUMNS`].
type ChangeColumns = (i64, String, Number, Text, Text, String, Text);

impl<'r, R: Row> FromRow<'r, R> for CheckedChange
where
    UserChange: FromRow<'r, R>,
    (i64,): FromRow<'r, R>,
{
    fn from_row(row: &'r R) -> sqlx::Result<Self> {
        let (revision,) = FromRow::from_row(row)?;
        let content = UserChange::from_row(row);
        Ok(Self {
            revision,
            content: content.map_err(|error| UnreadableColumn::new(error, CHANGE_COLUMNS)),
        })
    }
}

impl<'r, R: Row> FromRow<'r, R> for UserChange
where
    ChangeColumns: FromRow<'r, R>,
{
    fn from_row(row: &'r R) -> sqlx::Result<Self> {
        let (revision, event, user_id, username, state, details, seal) =
            ChangeColumns::from_row(row)?;
        let state = state.unwrap_or_default();
        let (role, disabled) = state
            .strip_suffix(DISABLED)
            .map_or((&*state, false), |role| (role, true));
        let details: Value =
            serde_json::from_str(&details).map_err(|error| malformed("details", error))?;
        Ok(Self {
            revision,
            seal: seal.and_then(|seal| seal.parse().ok()),
            user_id: user_id.ok_or_else(|| malformed("user_id", "it is null"))?,
            // The name may have been erased since.
            username: username.unwrap_or_default(),
            role: role
                .parse::<Role>()
                .map_err(|_| malformed("state", "it has no role"))?,
            disabled,
            deleted: event == "user_deleted",
            created_at: details["user_created_at"].as_u64(),
        })
    }
}

fn malformed(column: &str, problem: impl Into<BoxDynError>) -> Error {
    Error::ColumnDecode {
        index: column.to_owned(),
        source: problem.into(),
    }
}

impl<'r, R: Row> FromRow<'r, R> for Seal
where
    (i64, i64, String): FromRow<'r, R>,
{
    fn from_row(row: &'r R) -> sqlx::Result<Self> {
        let (revision, at, digest) = FromRow::from_row(row)?;
        Ok(Self {
            revision,
            at,
            digest,
        })
    }
}
