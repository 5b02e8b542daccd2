//! The rows of sign-ins and refusals: which of them are written, and how many refusals are not.

use super::{
    Entry,
    row_quota::{RowLimits, RowQuota},
    sign_ins::unrecorded_refusals,
};
use std::sync::atomic::{AtomicU64, Ordering};
use tokio::time::Instant;

const REFUSAL_LIMITS: RowLimits = RowLimits {
    all: 60,
    reserved: 20,
    per_client: 10,
    per_user: 10,
};
/// Many users may sign in from the network of one office at the same time.
const SIGN_IN_LIMITS: RowLimits = RowLimits {
    all: 3000,
    reserved: 1000,
    per_client: 500,
    per_user: 60,
};

/// Decides about the rows of a replica. A flood of one kind does not hide the others.
pub(crate) struct SignInRows {
    sign_ins: RowQuota,
    user_refusals: RowQuota,
    /// Refusals of unknown usernames and keys.
    anonymous_refusals: RowQuota,
    /// The number of refusals without a row since that number was last recorded.
    unrecorded: AtomicU64,
}

/// A refusal that got no row and was counted.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
#[must_use = "the number has to be recorded a minute after the first"]
pub(crate) enum UnrecordedRefusal {
    /// The first since the number was last recorded.
    First,
    Further,
}

impl SignInRows {
    pub(crate) fn new() -> Self {
        Self {
            sign_ins: RowQuota::new(SIGN_IN_LIMITS),
            user_refusals: RowQuota::new(REFUSAL_LIMITS),
            anonymous_refusals: RowQuota::new(REFUSAL_LIMITS),
            unrecorded: AtomicU64::new(0),
        }
    }

    /// Whether this sign-in gets a row.
    pub(crate) fn admit_sign_in(&self, entry: &Entry) -> bool {
        self.sign_ins.admit(entry, Instant::now())
    }

    /// Whether this refusal gets a row; otherwise it is counted.
    pub(crate) fn admit_refusal(&self, entry: &Entry) -> Result<(), UnrecordedRefusal> {
        let quota = if entry.user_id.is_some() {
            &self.user_refusals
        } else {
            &self.anonymous_refusals
        };
        if quota.admit(entry, Instant::now()) {
            Ok(())
        } else {
            Err(self.count_refusal())
        }
    }

    /// Counts a refusal that gets no row.
    pub(crate) fn count_refusal(&self) -> UnrecordedRefusal {
        if self.unrecorded.fetch_add(1, Ordering::Relaxed) == 0 {
            UnrecordedRefusal::First
        } else {
            UnrecordedRefusal::Further
        }
    }

    /// The row with the number of refusals that got none since the last such row; `None` if there are none.
    pub(crate) fn take_unrecorded(&self) -> Option<Entry> {
        match self.unrecorded.swap(0, Ordering::Relaxed) {
            0 => None,
            count => Some(unrecorded_refusals(count)),
        }
    }
}

#[cfg(test)]
mod tests;
