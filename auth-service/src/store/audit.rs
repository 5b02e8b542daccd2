//! The part of the store about the record of what happened.

use super::{CheckedRow, Seal, SealReference, StoreError, record_pages::UnreadableColumn};
use crate::{audit::Entry, user::User};
use async_trait::async_trait;
use futures_util::stream::BoxStream;
use rolegate_proto::Role;
use rolegate_sql_store::Store;
use serde::Serialize;
use std::time::Duration;

/// How often a service looks for rows to seal. Other services learn of a change within twice this time.
pub(crate) const SEAL_INTERVAL: Duration = Duration::from_millis(250);

/// A day in Unix seconds.
pub(crate) const DAY_SECONDS: i64 = 86_400;

/// A row of the record.
#[derive(Clone, Debug, Default, PartialEq, Eq, Serialize)]
pub(crate) struct AuditRow {
    /// In the order in which rows are sealed, which for the rows of one user is that of the commits. Without gaps except
    /// before a row of the events `restored` and `all_ended`.
    pub(crate) revision: i64,
    /// In the order of the inserts, with gaps.
    pub(crate) id: i64,
    /// Unix seconds.
    pub(crate) at: i64,
    pub(crate) event: String,
    pub(crate) user_id: Option<i64>,
    pub(crate) username: Option<String>,
    pub(crate) actor_id: Option<i64>,
    pub(crate) actor: Option<String>,
    pub(crate) actor_key: Option<i64>,
    pub(crate) actor_session: Option<i64>,
    pub(crate) client_address: Option<String>,
    pub(crate) request_id: Option<String>,
    /// A JSON object.
    pub(crate) details: String,
    pub(crate) state: Option<String>,
    /// As [`FormerUsername::to_stored`](crate::audit::FormerUsername::to_stored).
    pub(crate) former_username: Option<String>,
    pub(crate) commitments: String,
}

/// Selects a page of the record.
#[derive(Clone, Debug, Default)]
pub(crate) struct AuditFilter {
    pub(crate) user_id: Option<i64>,
    pub(crate) actor_id: Option<i64>,
    /// Empty for all.
    pub(crate) event: String,
    /// Only revisions below it.
    pub(crate) before: Option<i64>,
    pub(crate) limit: i64,
}

/// The state of a user after a change.
#[derive(Clone, Debug, PartialEq, Eq)]
pub(crate) struct UserChange {
    /// 0 in a snapshot.
    pub(crate) revision: i64,
    /// The seal of the batch of the revision; `None` in a snapshot.
    pub(crate) seal: Option<SealReference>,
    pub(crate) user_id: i64,
    pub(crate) username: String,
    pub(crate) role: Role,
    pub(crate) disabled: bool,
    pub(crate) deleted: bool,
    /// When the user was made, in Unix seconds, 0 if it was not kept; only of a deletion, and in a snapshot. `None` for
    /// a deletion that an older replica recorded.
    pub(crate) created_at: Option<u64>,
}

/// A change in the record, or why it cannot be read. The changes before it can be taken even so.
#[derive(Debug)]
pub(crate) struct CheckedChange {
    pub(crate) revision: i64,
    pub(crate) content: Result<UserChange, UnreadableColumn>,
}

/// All users at one moment.
pub(crate) struct Snapshot {
    /// Of the last change that they show.
    pub(crate) revision: i64,
    /// The seal of that revision.
    pub(crate) seal: Option<SealReference>,
    /// By ascending id, in pages.
    pub(crate) users: BoxStream<'static, Result<Vec<User>, StoreError>>,
}

/// A record of what happened.
#[async_trait]
pub(crate) trait AuditStore: Store {
    /// Notes what no transaction records: sign-ins and refusals. Does not wait; the next sealing writes it.
    /// While nothing can be written, the oldest are kept, up to a bound.
    fn enqueue_event(&self, entry: Entry);

    /// Writes what was noted, and moves a batch of the rows that are committed behind the last seal.
    /// Whether there may be more; if not, the record has every row that was committed before the call.
    async fn seal(&self) -> Result<bool, StoreError>;

    /// Seals until the record has every row that was committed before the call.
    async fn seal_all(&self) -> Result<(), StoreError> {
        while self.seal().await? {}
        Ok(())
    }

    /// The last change of a user that is sealed, perhaps in a primary that was superseded: a reason to look, no
    /// more. 0 for none.
    async fn newest_change(&self) -> Result<i64, StoreError>;

    /// The oldest seal, behind which the record is complete, and the newest.
    async fn seals(&self) -> Result<[Seal; 2], StoreError>;

    /// The seal of this revision, if a batch ends with it.
    async fn seal_at(&self, revision: i64) -> Result<Option<Seal>, StoreError>;

    /// Whether the record has everything that followed this revision: it has the row, or begins behind it. It does not
    /// know a revision that was never given out, such as those that a restore leaves out.
    async fn has_revision(&self, revision: i64) -> Result<bool, StoreError>;

    /// Sealed rows by descending revision.
    async fn audit(&self, filter: &AuditFilter) -> Result<Vec<CheckedRow>, StoreError>;

    /// The first changes of users behind this revision, by ascending revision.
    async fn changes_after(&self, revision: i64) -> Result<Vec<CheckedChange>, StoreError>;

    /// All users at one moment, which the store keeps until the value is dropped.
    async fn snapshot(&self) -> Result<Snapshot, StoreError>;

    /// How long the oldest row that is not sealed has waited; `None` if none waits.
    async fn oldest_unsealed(&self) -> Result<Option<Duration>, StoreError>;

    /// Removes rows that are older than this many days, at most two days of them an hour, and records what was removed.
    async fn remove_old_rows(&self, days: u32) -> Result<(), StoreError>;

    /// Forgets what no longer counts for the limit of additions.
    async fn forget_additions(&self) -> Result<(), StoreError>;
}
