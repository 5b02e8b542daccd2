//! The trait for the record of changes, sign-ins and refusals. It enqueues events, and seals, reads and removes rows.
//! The other traits write the rows about changes, each in the transaction of the change.

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
    /// The page has only revisions below this one; `None` begins with the newest row.
    pub(crate) before: Option<i64>,
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

/// The contract of the record of changes, sign-ins and refusals. Rows wait in the database until they are sealed, and
/// readers see only sealed rows.
#[async_trait]
pub(crate) trait AuditStore: Store {
    /// Enqueues an event that no transaction records, which is a sign-in or a refusal.
    ///
    /// Returns at once, and keeps the event in memory until [`Self::seal`] writes it. If too many events wait, a new
    /// event is dropped. Dropped refusals are counted, and the record gets their number.
    fn enqueue_event(&self, entry: Entry);

    /// Writes a batch of the queued events, and seals a batch of committed rows after the last seal.
    ///
    /// Returns whether there may be more events to write or rows to seal. If it returns false, the record has every row
    /// that was committed before the call.
    async fn seal(&self) -> Result<bool, StoreError>;

    /// Seals until the record has every row that was committed before the call.
    async fn seal_all(&self) -> Result<(), StoreError> {
        while self.seal().await? {}
        Ok(())
    }

    /// Returns the revision of the last sealed change of a user, or 0 if there is none. A caller may use the revision
    /// only as a hint to read the changes, because the database server that returned it may no longer be the primary.
    async fn newest_change(&self) -> Result<i64, StoreError>;

    /// Returns the oldest and the newest seal. Fails if the record has no seal.
    async fn seals(&self) -> Result<SealRange, StoreError>;

    /// Returns the seal of this revision; `None` if no batch ends with this revision.
    async fn seal_at(&self, revision: i64) -> Result<Option<Seal>, StoreError>;

    /// Returns whether the record has every row after this revision, because it contains the row with this revision or
    /// begins right after it. Returns false for a revision that was never assigned, such as one that a restore skipped.
    async fn has_revision(&self, revision: i64) -> Result<bool, StoreError>;

    /// Returns the sealed rows that `filter` selects, by descending revision.
    async fn audit(&self, filter: &AuditFilter) -> Result<Vec<CheckedRow>, StoreError>;

    /// Returns the next changes of users after this revision, by ascending revision. Their number is limited, so there
    /// may be more.
    async fn changes_after(&self, revision: i64) -> Result<Vec<CheckedChange>, StoreError>;

    /// Seals all committed rows, and returns all users as of one moment. The snapshot holds a transaction open until it
    /// is dropped, so that the users of that moment stay readable.
    async fn snapshot(&self) -> Result<Snapshot, StoreError>;

    /// Returns the time for which the oldest unsealed row has waited; `None` if no row waits.
    async fn oldest_unsealed(&self) -> Result<Option<Duration>, StoreError>;

    /// Removes rows that are older than this many days, and records what was removed. The rows removed within an hour
    /// span at most two days.
    async fn remove_old_rows(&self, days: u32) -> Result<(), StoreError>;

    /// Deletes old additions, which neither count towards the limit of additions nor explain a refusal.
    async fn forget_additions(&self) -> Result<(), StoreError>;
}
