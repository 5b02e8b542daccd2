//! The seals of the record. They form a chain: each is the digest of the rows of a batch and of the seal before it.

use super::audit_row::{AuditRow, Tampering};
use rolegate_sql_store::row;
use sha2::{Digest as _, Sha256};
use std::{fmt, str::FromStr};

/// How many revisions are skipped when all credentials are ended.
///
/// After a restore, the lost history may have used the revisions that follow the backup. A watcher that has stored one
/// of them then finds it missing from the record, and so learns that the history was lost. The number exceeds the rows
/// that any record gets between two backups.
pub(crate) const REVISION_GAP: i64 = 1_000_000_000;

/// The events whose rows say which rows are missing before the oldest seal. Either retention has removed those rows, or
/// they were removed before removals were recorded.
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
        /// The SHA-256 of the seal before and of the rows since, in hex; empty for the first seal.
        pub(crate) digest: String,
    }
}

/// The oldest and the newest seal of a record.
#[derive(Debug)]
pub(crate) struct SealRange {
    /// The record is complete after this seal.
    pub(crate) oldest: Seal,
    pub(crate) newest: Seal,
}

impl Seal {
    /// Returns whether this is the seal before the first row of a record from which nothing was removed.
    pub(crate) fn is_first(&self) -> bool {
        self.digest.is_empty()
    }

    /// Returns the seal of these rows, which follow this seal. Fails if a row is missing or was tampered with.
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
/// A program that keeps the last seal it saw can recognize another record, even if that record has the same revisions.
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
