//! Explains how far back the record reaches, and why it does not reach further.

use crate::{
    commands::timestamp::rfc3339,
    store::{DAY_SECONDS, RecordedRemoval, Seal, SealedRecord, StoreError},
};

/// The reason why the record begins at its oldest seal.
pub(super) enum Beginning {
    /// Nothing was removed from the record.
    Complete,
    /// The earlier rows were removed, and the record says so.
    Removed(RecordedRemoval),
    /// Rows are missing, and the record does not say why.
    Unexplained,
}

impl Beginning {
    /// Determines whether rows before the oldest seal are missing, and whether the record plausibly
    /// explains why.
    pub(super) async fn read(record: &mut SealedRecord, oldest: &Seal) -> Result<Self, StoreError> {
        if oldest.is_first() {
            return Ok(Self::Complete);
        }
        let removals = record.removals(oldest.revision).await?;
        let plausible = removals.into_iter().find(is_plausible);
        Ok(plausible.map_or(Self::Unexplained, Self::Removed))
    }

    /// Describes how far back the record reaches, and why it does not reach further. `begins_at` is
    /// the time of the first row.
    pub(super) fn describe(&self, oldest: &Seal, begins_at: Option<i64>) -> String {
        let from = match begins_at {
            Some(at) => format!("the record reaches back to {}", rfc3339(at)),
            None => "the record has no rows".to_owned(),
        };
        match self {
            Self::Complete if begins_at.is_none() => format!("{from}; they are missing"),
            Self::Complete => format!("{from}; nothing was removed from it"),
            Self::Unexplained => format!("{from}; what was before is missing"),
            Self::Removed(removal) => {
                format!("{from}; {}", describe_removal(removal, oldest.revision))
            }
        }
    }
}

fn describe_removal(removal: &RecordedRemoval, revision: i64) -> String {
    let removed_at = rfc3339(removal.at);
    match removal.retention {
        Some(retention) => format!(
            "on {removed_at} a retention of {} days removed the rows up to revision {revision}, which were from \
             before {}",
            retention.days,
            rfc3339(retention.removed_before)
        ),
        None => format!(
            "the rows up to revision {revision} were removed before the upgrade on {removed_at}, when removals \
             began to be recorded"
        ),
    }
}

/// Returns true if the times of the seals do not contradict the recorded removal. A removal from
/// before removals were recorded needs only the seal of its last row.
///
/// For a removal by retention, the last removed row must have been sealed before `removed_before`.
/// A later seal is plausible only if the next row is older than that seal, because the clock was
/// then ahead when the seal was made.
fn is_plausible(removal: &RecordedRemoval) -> bool {
    let Some(sealed_at) = removal.sealed_at else {
        return false;
    };
    let Some(retention) = removal.retention else {
        return true;
    };
    let age = retention.days.saturating_mul(DAY_SECONDS);
    if retention.days < 1 || retention.removed_before.saturating_add(age) > removal.at {
        return false;
    }
    sealed_at < retention.removed_before
        || removal.next_at.is_some_and(|next_at| next_at < sealed_at)
}
