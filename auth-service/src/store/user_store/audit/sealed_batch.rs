//! A batch of rows that one transaction takes from the unsealed rows and appends to the sealed record.

use crate::{audit::AuditRow, store::seal::Seal};
use rolegate_sql_store::{Columns as _, Statement};

/// A batch of rows with their revisions and salts, and the seal that covers them.
pub(in crate::store) struct SealedBatch {
    rows: Vec<AuditRow>,
    seal: Seal,
}

impl SealedBatch {
    /// Makes the batch of the rows that a statement has taken with [`push_returning_taken`]. Returns `None` if no rows
    /// were taken, if the record has no seal, or if [`Self::behind`] cannot make the batch.
    pub(super) fn of_taken(taken: &[AuditRow]) -> Option<Self> {
        let last = parse_last_seal(&taken.first()?.commitments)?;
        let first_revision = last.revision + 1;
        Self::behind(&last, taken, first_revision)
    }

    /// Makes the batch that follows the seal `last`. The first row gets the revision `first_revision`. Returns `None`
    /// if the system provides no random bytes, or if the rows cannot be sealed.
    pub(in crate::store) fn behind(
        last: &Seal,
        taken: &[AuditRow],
        first_revision: i64,
    ) -> Option<Self> {
        let mut rows = taken.to_vec();
        rows.sort_unstable_by_key(|row| row.id);
        for (row, revision) in rows.iter_mut().zip(first_revision..) {
            row.revision = revision;
            row.generate_salts().ok()?;
        }
        let seal = last.next(&rows).ok()?;
        Some(Self { rows, seal })
    }

    /// Returns the statements that insert the rows and the seal. `start` is a statement that consists of `INSERT INTO`.
    pub(in crate::store) fn insert(&self, start: &Statement) -> Vec<Statement> {
        let rows = start
            .clone()
            .push("audit (")
            .push_columns::<AuditRow>()
            .push(") SELECT ")
            .push_columns::<AuditRow>()
            .push_rows(&self.rows);
        let seal = start
            .clone()
            .push("audit_seal (revision, at, digest) VALUES ($1, $2, $3)")
            .bind(self.seal.revision)
            .bind(self.seal.at)
            .bind(self.seal.digest.clone());
        vec![rows, seal]
    }
}

/// Ends a statement that deletes unsealed rows, so that it returns them. The column `commitments` then contains the
/// last seal.
pub(in crate::store) fn push_returning_taken(take: Statement) -> Statement {
    let values = AuditRow::column_names().map(|name| match name {
        "revision" => "CAST(0 AS bigint) AS revision",
        "commitments" => {
            "(SELECT revision || ' ' || at || ' ' || digest FROM audit_seal ORDER BY revision DESC LIMIT 1) \
             AS commitments"
        }
        name => name,
    });
    take.push(" RETURNING ").push_list(values)
}

fn parse_last_seal(text: &str) -> Option<Seal> {
    let mut parts = text.splitn(3, ' ');
    Some(Seal {
        revision: parts.next()?.parse().ok()?,
        at: parts.next()?.parse().ok()?,
        digest: parts.next()?.to_owned(),
    })
}
