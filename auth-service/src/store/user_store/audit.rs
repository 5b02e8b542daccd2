//! The record of changes, sign-ins and refusals. Rows wait in the database until they are sealed, and readers see only
//! sealed rows.
//!
//! A change writes its row in its own transaction, into `audit_pending` (`pending_rows`). Events that no transaction
//! records, such as sign-ins, wait in memory until the next sealing writes them (`pending_events`). `sealing` moves
//! committed rows into the record, in batches that a seal covers (`sealed_batch`). `retention` removes old rows from
//! the record.

mod pending_events;
pub(in crate::store) mod pending_rows;
mod retention;
pub(in crate::store) mod sealed_batch;
pub(in crate::store) mod sealing;

use super::{UserStore, encoding::encode_count};
use crate::{
    audit::{AuditRow, Entry, EventGroup, EventSelection, Requested},
    change::TokenChange,
    store::{
        checked_row::CheckedRow,
        operator_database::{Export, OperatorDatabase},
        seal::{SELECT_SEALS, Seal, SealRange, SealReference},
        user_change::CheckedChange,
    },
    tokens::OpaqueToken,
    user::{User, memberships},
};
use futures_util::stream::{BoxStream, StreamExt as _, try_unfold};
use pending_rows::insert_pending;
use rolegate_sql_store::{FollowUp, Statement, StoreError, TableRow, Timed};
use sealing::MAX_BATCH;
use std::{sync::Arc, time::Duration};

/// The interval at which each replica of auth-service looks for rows to seal. Other services learn of a change within
/// twice this time.
pub(crate) const SEAL_INTERVAL: Duration = Duration::from_millis(250);

/// The length of a day in seconds.
pub(crate) const DAY_SECONDS: i64 = 86_400;

/// Selects a page of the record.
#[derive(Clone, Debug, Default)]
pub(crate) struct AuditFilter {
    /// The user whom the rows are about; `None` selects all users.
    pub(crate) user_id: Option<i64>,
    /// The user who acted; `None` selects all actors.
    pub(crate) actor_id: Option<i64>,
    /// The name of the event; an empty name selects all events.
    pub(crate) event: String,
    /// The name that the user had when the row was written; an empty name selects all users.
    pub(crate) username: String,
    /// The name that the user who acted had then; an empty name selects all actors.
    pub(crate) actor: String,
    /// The group of events; `None` selects all events.
    pub(crate) events: Option<EventGroup>,
    /// The first second from which rows are selected, in Unix seconds.
    pub(crate) since: Option<i64>,
    /// The second before which rows are selected, in Unix seconds.
    pub(crate) before: Option<i64>,
    /// The page has only revisions below this one; `None` begins with the newest row.
    pub(crate) before_revision: Option<i64>,
    pub(crate) limit: i64,
}

/// All users as of one moment.
pub(crate) struct Snapshot {
    /// The revision up to which `users` includes every change.
    pub(crate) revision: i64,
    /// The seal of `revision`; `None` if it is the first seal, which is the same in every record.
    pub(crate) seal: Option<SealReference>,
    /// The users by ascending id, in pages.
    pub(crate) users: BoxStream<'static, Result<Vec<User>, StoreError>>,
}

/// The maximum number of changes of users that [`UserStore::changes_after`] returns.
const MAX_CHANGES: i64 = 500;

/// Appends the filter's conditions, the order and the limit to a `SELECT` that ends with `WHERE `. The newest row comes
/// first.
///
/// There is no index on names and times, which every row would pay for. A record of a million rows is read in one or two
/// tenths of a second.
fn push_filter(select: Statement, filter: &AuditFilter) -> Statement {
    let before_revision = filter.before_revision.unwrap_or(i64::MAX);
    let mut select = select.push("revision < ").push_bind(before_revision);
    if let Some(user_id) = filter.user_id {
        select = select.push(" AND user_id = ").push_bind(user_id);
    }
    if let Some(actor_id) = filter.actor_id {
        select = select.push(" AND actor_id = ").push_bind(actor_id);
    }
    if !filter.event.is_empty() {
        select = select.push(" AND event = ").push_bind(filter.event.clone());
    }
    if !filter.username.is_empty() {
        select = select
            .push(" AND username = ")
            .push_bind(filter.username.clone());
    }
    if !filter.actor.is_empty() {
        select = select.push(" AND actor = ").push_bind(filter.actor.clone());
    }
    if let Some(group) = filter.events {
        select = match group.selection() {
            EventSelection::Only(names) => select.push(" AND event").push_any(&names),
            EventSelection::AllExcept(names) => {
                select.push(" AND NOT (event").push_any(&names).push(")")
            }
        };
    }
    if let Some(since) = filter.since {
        select = select.push(" AND at >= ").push_bind(since);
    }
    if let Some(before) = filter.before {
        select = select.push(" AND at < ").push_bind(before);
    }
    select
        .push(" ORDER BY revision DESC LIMIT ")
        .push_bind(filter.limit)
}

impl UserStore {
    /// Returns a follow-up of a write, which runs these statements and records the change of each token that the write
    /// returns.
    pub(super) fn record_tokens(
        &self,
        request: &Arc<Requested<TokenChange>>,
        statements: Vec<Statement>,
    ) -> FollowUp<OpaqueToken> {
        let request = Arc::clone(request);
        self.record(
            move |token| vec![request.entry_for_token(token, None)],
            statements,
        )
    }

    /// Returns a follow-up of a write, which runs these statements and records the entries of each row that the write
    /// returns.
    pub(super) fn record<R: TableRow>(
        &self,
        entries: impl Fn(&R) -> Vec<Entry> + Send + Sync + 'static,
        statements: Vec<Statement>,
    ) -> FollowUp<R> {
        let insert = self.database.statement("");
        FollowUp::new(move |rows: &[R]| {
            let entries: Vec<Entry> = rows.iter().flat_map(&entries).collect();
            let mut statements = statements.clone();
            statements.push(insert_pending(insert.clone(), &entries));
            Ok(statements)
        })
    }

    /// Enqueues an event that no transaction records, which is a sign-in or a refusal.
    ///
    /// Returns at once, and keeps the event in memory until [`Self::seal`] writes it. If too many events wait, a new
    /// event is dropped. Dropped refusals are counted, and the record gets their number.
    pub(crate) fn enqueue_event(&self, entry: Entry) {
        self.sealer.enqueue_event(entry);
    }

    /// Writes a batch of the queued events, and seals a batch of committed rows after the last seal.
    ///
    /// Returns whether there may be more events to write or rows to seal. If it returns false, the record has every row
    /// that was committed before the call.
    pub(crate) async fn seal(&self) -> Result<bool, StoreError> {
        self.sealer.seal().await
    }

    /// Seals until the record has every row that was committed before the call.
    pub(crate) async fn seal_all(&self) -> Result<(), StoreError> {
        while self.seal().await? {}
        Ok(())
    }

    /// Returns the revision of the last sealed change of a user, or 0 if there is none. A caller may use the revision
    /// only as a hint to read the changes, because the database server that returned it may no longer be the primary.
    pub(crate) async fn newest_change(&self) -> Result<i64, StoreError> {
        let select = self
            .database
            .statement("SELECT coalesce(max(revision), 0) FROM audit WHERE state IS NOT NULL");
        let newest = self.database.read_hint(select).await?.pop();
        Ok(newest.unwrap_or_default())
    }

    /// Returns the oldest and the newest seal. Fails if the record has no seal.
    pub(crate) async fn seals(&self) -> Result<SealRange, StoreError> {
        let select = self.database.statement(SELECT_SEALS).push(
            " WHERE revision IN (
                (SELECT min(revision) FROM audit_seal), (SELECT max(revision) FROM audit_seal))
            ORDER BY revision",
        );
        let seals: Vec<Seal> = self.database.read(select).await?;
        match (seals.first(), seals.last()) {
            (Some(oldest), Some(newest)) => Ok(SealRange {
                oldest: oldest.clone(),
                newest: newest.clone(),
            }),
            _ => Err(StoreError::row_not_found()),
        }
    }

    /// Returns the seal of this revision; `None` if no batch ends with this revision.
    pub(crate) async fn seal_at(&self, revision: i64) -> Result<Option<Seal>, StoreError> {
        let select = self
            .database
            .statement(SELECT_SEALS)
            .push(" WHERE revision = $1")
            .bind(revision);
        self.database.read_optional(select).await
    }

    /// Returns whether the record has every row after this revision, because it contains the row with this revision or
    /// begins right after it. Returns false for a revision that was never assigned, such as one that a restore skipped.
    pub(crate) async fn has_revision(&self, revision: i64) -> Result<bool, StoreError> {
        let select = self
            .database
            .statement(
                "SELECT revision FROM audit WHERE revision = $1
                UNION ALL SELECT revision FROM audit_seal WHERE revision = $1",
            )
            .bind(revision);
        Ok(!self.database.read::<i64>(select).await?.is_empty())
    }

    /// Returns the sealed rows that `filter` selects, by descending revision.
    pub(crate) async fn audit(&self, filter: &AuditFilter) -> Result<Vec<CheckedRow>, StoreError> {
        let select = self
            .database
            .statement("SELECT ")
            .push_columns::<AuditRow>()
            .push(" FROM audit WHERE ");
        self.database.read(push_filter(select, filter)).await
    }

    /// Returns the next changes of users after this revision, by ascending revision, with the groups and the end that
    /// each user has now. Their number is limited, so there may be more.
    pub(crate) async fn changes_after(
        &self,
        revision: i64,
    ) -> Result<Vec<CheckedChange>, StoreError> {
        let select = self
            .database
            .statement(
                concat!(
                    "SELECT revision, event, user_id, audit.username AS username, state, details,
                        (SELECT revision || ':' || digest FROM audit_seal
                            WHERE audit_seal.revision >= audit.revision ORDER BY revision LIMIT 1) AS seal, ",
                    memberships!(),
                    r#", "user".until AS until
                    FROM audit LEFT JOIN "user" ON "user".id = audit.user_id AND event <> 'user_deleted'
                    WHERE state IS NOT NULL AND revision > $1 ORDER BY revision LIMIT $2"#
                ),
            )
            .bind(revision)
            .bind(MAX_CHANGES);
        self.database.read(select).await
    }

    /// Seals all committed rows, and returns all users as of one moment. The snapshot holds a transaction open until it
    /// is dropped, so that the users of that moment stay readable.
    pub(crate) async fn snapshot(&self) -> Result<Snapshot, StoreError> {
        loop {
            self.seal_all().await?;
            let operator_database = OperatorDatabase {
                database: self.database.clone(),
            };
            let mut export = operator_database.export().await?;
            let state = export.seal_state().await?;
            let last = state.last_revision;
            let count = state.unsealed_ids.len();
            let is_sealed = match count {
                0 => true,
                // The exported users include the changes of all sealed rows and of these unsealed rows, so no other row
                // may be sealed with them. If another replica has sealed rows in the meantime, nothing is sealed here,
                // and the loop exports the users again.
                1..=MAX_BATCH => self.sealer.seal_exactly(last, &state.unsealed_ids).await? > 0,
                _ => false,
            };
            if is_sealed {
                return self.snapshot_at(last + encode_count(count), export).await;
            }
        }
    }

    /// Returns the time for which the oldest unsealed row has waited; `None` if no row waits.
    pub(crate) async fn oldest_unsealed(&self) -> Result<Option<Duration>, StoreError> {
        let select = self
            .database
            .statement("SELECT at FROM audit_pending ORDER BY id LIMIT 1");
        let Timed { at: now, value } = self.read_one::<i64>(select).await?;
        Ok(value.map(|at| {
            let written_at = u64::try_from(at).unwrap_or_default();
            Duration::from_secs(now.saturating_sub(written_at))
        }))
    }

    /// Makes a snapshot of an export whose users include every change up to this revision.
    async fn snapshot_at(&self, revision: i64, export: Export) -> Result<Snapshot, StoreError> {
        let seal = self.seal_at(revision).await?;
        let pages = try_unfold(export, |mut export| async move {
            let page = export.next_page().await?;
            if page.is_empty() {
                return Ok(None);
            }
            let users: Vec<User> = page
                .into_iter()
                .map(|found| found.credentials.user)
                .collect();
            Ok(Some((users, export)))
        });
        Ok(Snapshot {
            revision,
            seal: seal.as_ref().and_then(SealReference::new),
            users: pages.boxed(),
        })
    }
}
