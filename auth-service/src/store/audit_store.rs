//! The part of the store about the record of what happened.

use super::{
    checked_row::CheckedRow,
    seal::{Seal, SealRange, SealReference},
    user_change::CheckedChange,
};
use crate::{audit::Entry, user::User};
use async_trait::async_trait;
use futures_util::stream::BoxStream;
use rolegate_sql_store::{Store, StoreError};
use std::time::Duration;

/// How often a service looks for rows to seal. Other services learn of a change within twice this time.
pub(crate) const SEAL_INTERVAL: Duration = Duration::from_millis(250);

/// A day in Unix seconds.
pub(crate) const DAY_SECONDS: i64 = 86_400;

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

/// All users at one moment.
pub(crate) struct Snapshot {
    /// The revision of the last change that they show.
    pub(crate) revision: i64,
    /// The seal of that revision.
    pub(crate) seal: Option<SealReference>,
    /// By ascending id, in pages.
    pub(crate) users: BoxStream<'static, Result<Vec<User>, StoreError>>,
}

/// A record of what happened.
#[async_trait]
pub(crate) trait AuditStore: Store {
    /// Enqueues an event that no transaction records: a sign-in or a refusal. Does not wait; the next sealing writes it.
    /// While nothing can be written, the oldest are kept, up to a bound.
    fn enqueue_event(&self, entry: Entry);

    /// Writes the queued events, and moves a batch of the rows that are committed behind the last seal.
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

    /// The oldest and the newest seal.
    async fn seals(&self) -> Result<SealRange, StoreError>;

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
