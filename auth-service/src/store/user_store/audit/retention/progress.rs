//! The progress of retention: how far the cutoff has moved, and where it moves next.

use crate::store::user_store::audit::DAY_SECONDS;
use rolegate_sql_store::row;

pub(super) const HOUR_SECONDS: i64 = 3600;
/// The maximum distance by which the cutoff moves in an hour, in seconds.
pub(super) const MAX_MOVE: i64 = 2 * DAY_SECONDS;

row! {
    /// The row of the table `audit_retention`. Its column `base_revision` is no longer used.
    #[derive(Clone, Copy, Debug, PartialEq, Eq)]
    pub(super) struct Progress {
        /// The cutoff: rows from before this time may be removed, in Unix seconds.
        pub(super) removed_before: i64,
        /// The time at which the cutoff was last moved, in Unix seconds.
        pub(super) moved_at: i64,
    }
}

row! {
    /// A row of the record with a credible time.
    #[derive(Clone, Copy, Debug)]
    pub(super) struct AgedRow {
        pub(super) revision: i64,
        /// The time at which the row was written, in Unix seconds.
        pub(super) at: i64,
    }
}

impl Progress {
    /// Returns whether the cutoff has moved within the last hour.
    pub(super) fn has_moved_lately(self, now: i64) -> bool {
        (self.moved_at..self.moved_at.saturating_add(HOUR_SECONDS)).contains(&now)
    }

    /// Returns the progress with which a new hour begins at `now`, because a clock that was ahead moved the cutoff
    /// last. If the cutoff was later than the target, it becomes the target.
    pub(super) fn restart(self, target: i64, now: i64) -> Self {
        Self {
            removed_before: self.removed_before.min(target),
            moved_at: now,
        }
    }

    /// Returns the progress after the cutoff has moved towards the target; `None` if no row is old enough.
    ///
    /// The cutoff never moves back to the oldest row. That row may come from a clock that was behind and stay with the
    /// rows around it, and would then hold back all later rows.
    pub(super) fn next(self, oldest_at: i64, target: i64, now: i64) -> Option<Self> {
        if oldest_at >= target {
            return None;
        }
        let from = self.removed_before.max(oldest_at);
        Some(Self {
            removed_before: target.min(from.saturating_add(MAX_MOVE)),
            moved_at: now,
        })
    }
}

/// Returns the number of rows to remove from the beginning of `rows`. This number leaves the fewest rows on the wrong
/// side of the cutoff.
pub(super) fn count_removable(rows: &[AgedRow], cutoff: i64) -> usize {
    let mut balance = 0_i64;
    let mut lowest = 0;
    let mut removable = 0;
    for (index, row) in rows.iter().enumerate() {
        balance += if row.at < cutoff { -1 } else { 1 };
        if balance < lowest {
            lowest = balance;
            removable = index + 1;
        }
    }
    removable
}
