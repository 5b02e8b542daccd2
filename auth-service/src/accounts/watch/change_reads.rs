//! Reads changes from the record, and checks that it is still the one that the stream began with.

use crate::{
    accounts::{error::AccountError, service::Accounts},
    store::{CheckedChange, Seal, SealReference},
};
use rolegate_proto::Reason;

/// Changes that were read together.
pub(super) struct ChangeBatch {
    /// The newest seal before the changes were read.
    pub(super) newest: Seal,
    pub(super) changes: Vec<CheckedChange>,
}

impl Accounts {
    pub(super) async fn has_seal(&self, seal: &SealReference) -> Result<bool, AccountError> {
        let found = self.store.seal_at(seal.revision).await?;
        Ok(found.is_some_and(|found| seal.refers_to(&found)))
    }

    /// Reads the changes behind a revision, if the record still has all of them and the seal that was seen last.
    pub(super) async fn read_changes(
        &self,
        revision: i64,
        last_seen: Option<&SealReference>,
    ) -> Result<ChangeBatch, AccountError> {
        let Ok(_permit) = self.watches.record_reads.acquire().await else {
            return Err(Reason::Internal.into());
        };
        let store = &self.store;
        // Known before the read of the changes, which finds every one up to it.
        let newest = store.seals().await?.newest;
        let changes = store.changes_after(revision).await?;
        // After both reads, so that all are of one record, and no change was removed before they were read.
        let oldest = store.seals().await?.oldest;
        if oldest.revision > revision {
            return Err(Reason::SnapshotRequired.into());
        }
        if let Some(last_seen) = last_seen
            && !self.has_seal(last_seen).await?
        {
            return Err(Reason::SnapshotRequired.into());
        }
        Ok(ChangeBatch { newest, changes })
    }
}
