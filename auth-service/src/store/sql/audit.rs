//! The record of what happened in an SQL database.

use super::SqlStore;
use crate::{
    audit::{Entry, Write},
    store::{AuditFilter, AuditRow, AuditStore, Seal, Snapshot, StoreError, Transfer, UserChange},
    user::User,
};
use async_trait::async_trait;
use futures_util::stream::{StreamExt as _, try_unfold};
use parking_lot::Mutex;
use rolegate_proto::Role;
use rolegate_sql_store::{Statement, Then};
use serde_json::{Value, json};
use sqlx::{Error, FromRow, Row};
use std::mem;

/// Rows that one transaction seals.
const BATCH: usize = 1000;
/// Events that are noted while nothing can be written.
const MAX_NOTED: usize = 10_000;
/// Changes that one statement reads.
const CHANGES: i64 = 500;
/// Seals whose rows one statement removes.
const PRUNED: i64 = 20;

/// The columns of a row that is not sealed, and their types in PostgreSQL.
const PENDING: [(&str, &str); 11] = [
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
];

/// The columns of a sealed row that the record adds.
const SEALED: [(&str, &str); 4] =
    [("revision", "bigint"), ("id", "bigint"), ("at", "bigint"), ("commitments", "text")];

pub(in crate::store) const AUDIT_COLUMNS: &str =
    "revision, id, at, event, user_id, username, actor_id, actor, actor_key,
    actor_session, client_address, request_id, details, state, commitments";

/// What was noted and is not written yet.
pub(super) type Noted = Mutex<Vec<Entry>>;

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
        })
    }
}

/// Behind the role, in the state of a user who is disabled.
const DISABLED: &str = " disabled";

/// Inserts rows that are not sealed yet, into the statement that begins a transaction or follows in one.
pub(in crate::store) fn insert_pending(start: Statement, entries: &[Entry]) -> Statement {
    let rows: Vec<_> = entries.iter().map(Entry::to_row).collect();
    let start = start.push(
        "INSERT INTO audit_pending (at, event, user_id, username, actor_id, actor, actor_key, actor_session,
            client_address, request_id, details, state)
        SELECT ",
    );
    let names = r#", event, user_id, coalesce(username, (SELECT username FROM "user" AS u WHERE u.id = user_id)),
        actor_id, coalesce(actor, (SELECT username FROM "user" AS u WHERE u.id = actor_id)), actor_key,
        actor_session, client_address, request_id, details, state"#;
    start.push_now().push(names).push_rows(&PENDING, &rows).push(" RETURNING id")
}

impl SqlStore {
    /// The row of a change of each of these users, in its transaction.
    pub(super) fn record_users(&self, write: Write) -> Then<User> {
        self.record(move |user: &User| write.of_user(user), Vec::new())
    }

    /// The row of each row of the write, and then these statements.
    pub(super) fn record<R: 'static>(
        &self,
        entry: impl Fn(&R) -> Entry + Send + 'static,
        mut then: Vec<Statement>,
    ) -> Then<R> {
        let insert = self.0.statement("");
        Then::of_rows(move |rows: &[R]| {
            let entries: Vec<Entry> = rows.iter().map(entry).collect();
            then.push(insert_pending(insert, &entries));
            Ok(then)
        })
    }

    /// Writes what was noted. What cannot be written stays.
    pub(super) async fn write_noted(&self) -> Result<(), StoreError> {
        let noted = mem::take(&mut *self.2.lock());
        if noted.is_empty() {
            return Ok(());
        }
        let insert = insert_pending(self.0.statement(""), &noted);
        let written = self.0.write::<(i64,)>(insert).await.map(drop);
        if written.as_ref().is_err_and(|error| !error.is_outcome_unknown()) {
            let mut newer = self.2.lock();
            let newer_ones = mem::replace(&mut *newer, noted);
            newer.extend(newer_ones);
            newer.truncate(MAX_NOTED);
        }
        written
    }
}

#[async_trait]
impl AuditStore for SqlStore {
    fn note_event(&self, entry: Entry) {
        let mut noted = self.2.lock();
        if noted.len() < MAX_NOTED {
            noted.push(entry);
        }
    }

    async fn seal(&self) -> Result<bool, StoreError> {
        self.write_noted().await?;
        let pending = self.0.statement("SELECT id FROM audit_pending LIMIT 1");
        if self.0.read::<(i64,)>(pending).await?.is_empty() {
            return Ok(false);
        }
        // One replica at a time; the key of a revision would stop a second one too.
        let lock = self.0.statement("SELECT revision FROM audit_seal ORDER BY revision LIMIT 1");
        let check = |_: &[(i64,)]| Ok::<_, StoreError>(());
        let last = "(SELECT revision || ' ' || at || ' ' || digest FROM audit_seal ORDER BY revision DESC LIMIT 1)";
        let take = self.0.statement("DELETE FROM audit_pending WHERE id IN (SELECT id FROM audit_pending ORDER BY id LIMIT ");
        let take = take
            .push_bind(BATCH as i64)
            .push(
                ") RETURNING CAST(0 AS bigint), id, at, event, user_id, username, actor_id, actor,
            actor_key, actor_session, client_address, request_id, details, state, ",
            )
            .push(last);
        let [rows, seal] = [(); 2].map(|()| self.0.statement("INSERT INTO "));
        let then = Then::of_rows(move |taken: &[AuditRow]| match sealed(taken) {
            Some((sealed, next)) => {
                Ok(vec![insert_sealed(rows, &sealed), insert_seal(seal, &next)])
            }
            None => Err(Error::Protocol("the record cannot be sealed".to_owned())),
        });
        let taken = self.0.write_if(lock, check, take, then).await?;
        Ok(taken.len() == BATCH)
    }

    async fn seals(&self) -> Result<[Seal; 2], StoreError> {
        let select = self.0.statement(
            "SELECT revision, at, digest FROM audit_seal WHERE revision IN (
                (SELECT min(revision) FROM audit_seal), (SELECT max(revision) FROM audit_seal))
            ORDER BY revision",
        );
        let seals: Vec<Seal> = self.0.read(select).await?;
        match (seals.first(), seals.last()) {
            (Some(oldest), Some(newest)) => Ok([oldest.clone(), newest.clone()]),
            _ => Err(StoreError::Failed(Error::RowNotFound.into())),
        }
    }

    async fn audit(&self, filter: &AuditFilter) -> Result<Vec<AuditRow>, StoreError> {
        let select = self.0.statement("SELECT ").push(AUDIT_COLUMNS).push(" FROM audit WHERE ");
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
        self.0.read(select.push(" ORDER BY revision DESC LIMIT ").push_bind(filter.limit)).await
    }

    async fn changes_after(&self, revision: i64) -> Result<Vec<UserChange>, StoreError> {
        let select = self.0.statement("SELECT ").push(AUDIT_COLUMNS);
        let select = select.push(" FROM audit WHERE state IS NOT NULL AND revision > ");
        let select = select.push_bind(revision).push(" ORDER BY revision LIMIT ");
        let rows: Vec<AuditRow> = self.0.read(select.push_bind(CHANGES)).await?;
        rows.into_iter().map(change).collect()
    }

    async fn snapshot(&self) -> Result<Snapshot, StoreError> {
        let mut export = Transfer::of(self.0.clone()).export().await?;
        let (revision, unsealed) = export.unsealed().await?;
        let pages = try_unfold(export, |mut export| async move {
            let page = export.next_page().await?;
            let users: Vec<User> = page.into_iter().map(|it| it.user).collect();
            Ok((!users.is_empty()).then_some((users, export)))
        });
        Ok(Snapshot { revision, unsealed, users: pages.boxed() })
    }

    async fn prune(&self, before: i64) -> Result<bool, StoreError> {
        let last = self.0.statement(
            "SELECT coalesce(max(revision), -1), count(*) FROM (
                SELECT revision FROM audit_seal WHERE at < $1 ORDER BY revision LIMIT $2) AS old",
        );
        let last = last.bind(before).bind(PRUNED);
        let Some((last, count)) = self.0.read::<(i64, i64)>(last).await?.pop() else {
            return Ok(false);
        };
        let rows = self.0.statement("DELETE FROM audit WHERE revision <= $1 RETURNING revision");
        let seals = self.0.statement("DELETE FROM audit_seal WHERE revision < $1");
        let seals = Then::of_rows(move |_: &[(i64,)]| Ok(vec![seals.bind(last)]));
        self.0.write_all(rows.bind(last), seals).await?;
        Ok(count == PRUNED)
    }
}

/// The rows with their revisions and salts, and their seal. `None` without randomness, or without the seal
/// before them.
fn sealed(taken: &[AuditRow]) -> Option<(Vec<AuditRow>, Seal)> {
    let mut last = taken.first()?.commitments.splitn(3, ' ');
    let (revision, at) = (last.next()?.parse().ok()?, last.next()?.parse().ok()?);
    let last = Seal { revision, at, digest: last.next()?.to_owned() };
    let mut rows = taken.to_vec();
    rows.sort_unstable_by_key(|row| row.id);
    for (row, revision) in rows.iter_mut().zip(last.revision + 1..) {
        row.revision = revision;
        row.salt().ok()?;
    }
    let next = last.next(&rows).ok()?;
    Some((rows, next))
}

fn insert_sealed(start: Statement, rows: &[AuditRow]) -> Statement {
    let columns: Vec<_> = SEALED.into_iter().chain(PENDING).collect();
    let start = start.push("audit (").push(AUDIT_COLUMNS).push(") SELECT ").push(AUDIT_COLUMNS);
    start.push_rows(&columns, rows)
}

fn insert_seal(start: Statement, seal: &Seal) -> Statement {
    let start = start.push("audit_seal (revision, at, digest) VALUES ($1, $2, $3)");
    start.bind(seal.revision).bind(seal.at).bind(seal.digest.clone())
}

/// A change of a user, whose name may have been erased since.
fn change(row: AuditRow) -> Result<UserChange, StoreError> {
    let malformed = || StoreError::Failed(Error::ColumnNotFound("state".to_owned()).into());
    let state = row.state.unwrap_or_default();
    let (role, disabled) =
        state.strip_suffix(DISABLED).map_or((&*state, false), |role| (role, true));
    Ok(UserChange {
        revision: row.revision,
        id: row.id,
        user_id: row.user_id.ok_or_else(malformed)?,
        username: row.username.unwrap_or_default(),
        role: role.parse::<Role>().map_err(|_| malformed())?,
        disabled,
        deleted: row.event == "user_deleted",
    })
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
        let (.., client_address, request_id, details, state, commitments) = Columns::from_row(row)?;
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
            commitments,
        })
    }
}

impl<'r, R: Row> FromRow<'r, R> for Seal
where
    (i64, i64, String): FromRow<'r, R>,
{
    fn from_row(row: &'r R) -> sqlx::Result<Self> {
        let (revision, at, digest) = FromRow::from_row(row)?;
        Ok(Self { revision, at, digest })
    }
}
