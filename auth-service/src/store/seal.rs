//! The seals of the record. They form a chain: each is the digest of the rows of a batch and of the seal before it.

use crate::audit::{AuditRow, Tampering};
use rolegate_sql_store::row;
use sha2::{Digest as _, Sha256};
use std::{fmt, str::FromStr};

/// The minimum number of revisions that are skipped when an operator ends all credentials.
///
/// After a restore, the lost history may have used the revisions that follow the backup. A watcher that has stored one
/// of them then finds it missing from the record, and so learns that the history was lost. The number is greater than
/// the number of rows that any record gets between two backups.
pub(crate) const REVISION_GAP: i64 = 1_000_000_000;

/// The events whose rows declare that all earlier rows up to a revision were removed. Retention writes `audit_pruned`;
/// the migration wrote `audit_begins` if rows had been removed before removals were recorded.
pub(crate) const REMOVAL_EVENTS: [&str; 2] = ["audit_pruned", "audit_begins"];

/// Begins a statement that selects [`Seal`]s.
pub(super) const SELECT_SEALS: &str = "SELECT revision, at, digest FROM audit_seal";

row! {
    /// The seal of a batch of rows.
    #[derive(Clone, Debug, PartialEq, Eq)]
    pub(crate) struct Seal {
        /// The revision of the last row of the batch.
        pub(crate) revision: i64,
        /// The latest time at which a row up to this seal was written, in Unix seconds. It never decreases along the
        /// chain.
        pub(crate) at: i64,
        /// The SHA-256 of the previous seal and of the rows of the batch, in hex; empty for the first seal.
        pub(crate) digest: String,
    }
}

/// The oldest and the newest seal of a record.
#[derive(Debug)]
pub(crate) struct SealRange {
    /// The oldest seal. The record has every row after it.
    pub(crate) oldest: Seal,
    pub(crate) newest: Seal,
}

impl Seal {
    /// Returns whether this is the first seal, which covers no row. Retention removes this seal together with the
    /// oldest rows.
    pub(crate) fn is_first(&self) -> bool {
        self.digest.is_empty()
    }

    /// Returns the seal of these rows, which follow this seal. Fails if a row is missing, or if the digest of a row
    /// cannot be computed because the row was tampered with.
    pub(crate) fn next(&self, rows: &[AuditRow]) -> Result<Self, Tampering> {
        let mut chain = Sha256::new_with_prefix(&self.digest).chain_update(self.at.to_be_bytes());
        let mut revision = self.revision;
        let mut at = self.at;
        for row in rows {
            if row.revision != revision + 1 && !row.follows_gap_after(revision) {
                return Err(Tampering {
                    revision: revision + 1,
                    problem: "the row is missing",
                });
            }
            chain.update(row.digest()?);
            revision = row.revision;
            at = at.max(row.at);
        }
        chain.update(at.to_be_bytes());
        Ok(Self {
            revision,
            at,
            digest: hex::encode(chain.finalize()),
        })
    }
}

/// Names a seal outside of the database, as `revision:digest`, such as in a line `audit_sealed` of the log.
///
/// A program that stores the last seal that it saw can detect that the record was replaced by another one, even by one
/// with the same revisions.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct SealReference {
    pub(crate) revision: i64,
    /// The digest of the seal: 64 hex digits in lower case.
    pub(crate) digest: String,
}

impl fmt::Display for SealReference {
    fn fmt(&self, formatter: &mut fmt::Formatter<'_>) -> fmt::Result {
        write!(formatter, "{}:{}", self.revision, self.digest)
    }
}

impl SealReference {
    /// Returns the reference of a seal; `None` for the first seal, which is the same in every record.
    pub(crate) fn new(seal: &Seal) -> Option<Self> {
        if seal.is_first() {
            return None;
        }
        Some(Self {
            revision: seal.revision,
            digest: seal.digest.clone(),
        })
    }

    /// Returns whether this reference names `seal`.
    pub(crate) fn refers_to(&self, seal: &Seal) -> bool {
        self.revision == seal.revision && self.digest == seal.digest
    }
}

impl FromStr for SealReference {
    type Err = &'static str;

    fn from_str(text: &str) -> Result<Self, Self::Err> {
        let malformed = "must be revision:digest, as in a line audit_sealed of the log";
        let (revision, digest) = text.split_once(':').ok_or(malformed)?;
        let revision = revision.parse().map_err(|_| malformed)?;
        if digest.len() != 64 || !digest.bytes().all(|byte| byte.is_ascii_hexdigit()) {
            return Err(malformed);
        }
        Ok(Self {
            revision,
            digest: digest.to_ascii_lowercase(),
        })
    }
}

#[cfg(test)]
mod tests;
