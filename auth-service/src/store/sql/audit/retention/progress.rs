//! How far retention has removed the record, and how far it removes it next.

use crate::store::audit_store::DAY_SECONDS;
use rolegate_sql_store::row;

pub(super) const HOUR_SECONDS: i64 = 3600;
/// How far the cutoff moves in an hour.
pub(super) const MAX_MOVE: i64 = 2 * DAY_SECONDS;

row! {
    /// The row of the table `audit_retention`. Its column `base_revision` is not used any more.
    #[derive(Clone, Copy, Debug, PartialEq, Eq)]
    pub(super) struct Progress {
        /// The cutoff: rows from before this time may be removed, in Unix seconds.
        pub(super) removed_before: i64,
        /// When the cutoff was moved, in Unix seconds.
        pub(super) moved_at: i64,
    }
}

row! {
    /// A row of the record whose time can be believed.
    #[derive(Clone, Copy, Debug)]
    pub(super) struct AgedRow {
        pub(super) revision: i64,
        /// Unix seconds.
        pub(super) at: i64,
    }
}

impl Progress {
    /// Whether the cutoff has moved within the last hour.
    pub(super) fn has_moved_lately(self, now: i64) -> bool {
        (self.moved_at..self.moved_at.saturating_add(HOUR_SECONDS)).contains(&now)
    }

    /// Begins an hour without a move, after a clock that was ahead.
    pub(super) fn restart(self, target: i64, now: i64) -> Self {
        Self {
            removed_before: self.removed_before.min(target),
            moved_at: now,
        }
    }

    /// Moves the cutoff towards the target; `None` if nothing is old enough. It never goes back: a row that a clock was
    /// behind for, and that stays with the rows around it, would hold back all later ones.
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

/// Counts the first rows that are removed: the number that leaves the fewest rows on the wrong side of the cutoff.
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
