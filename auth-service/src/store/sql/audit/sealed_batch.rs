//! A batch of rows that a transaction takes from those that wait, and puts behind the last seal.

use super::pending_rows::PENDING;
use crate::store::{
    audit_row::{AUDIT_COLUMNS, AuditRow},
    seal::Seal,
};
use rolegate_sql_store::Statement;

/// The columns of a sealed row that the record adds, and their types in PostgreSQL.
const SEALED: [(&str, &str); 4] = [
    ("revision", "bigint"),
    ("id", "bigint"),
    ("at", "bigint"),
    ("commitments", "text"),
];

/// Rows with their revisions and salts, and their seal.
pub(in crate::store) struct SealedBatch {
    rows: Vec<AuditRow>,
    seal: Seal,
}

impl SealedBatch {
    /// The batch of rows that [`push_returning_taken`] has returned. `None` without rows, without randomness, or without the
    /// seal before them.
    pub(super) fn of_taken(taken: &[AuditRow]) -> Option<Self> {
        let last = parse_last_seal(&taken.first()?.commitments)?;
        let first_revision = last.revision + 1;
        Self::behind(&last, taken, first_revision)
    }

    /// The batch behind a given seal, where the first row gets this revision.
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

    /// The statements that insert the batch. `start` is `INSERT INTO`.
    pub(in crate::store) fn insert(&self, start: &Statement) -> Vec<Statement> {
        let columns: Vec<_> = SEALED.into_iter().chain(PENDING).collect();
        let rows = start
            .clone()
            .push("audit (")
            .push(AUDIT_COLUMNS)
            .push(") SELECT ")
            .push(AUDIT_COLUMNS)
            .push_rows(&columns, &self.rows);
        let seal = start
            .clone()
            .push("audit_seal (revision, at, digest) VALUES ($1, $2, $3)")
            .bind(self.seal.revision)
            .bind(self.seal.at)
            .bind(self.seal.digest.clone());
        vec![rows, seal]
    }
}

/// Takes rows that are not sealed yet, by their ids.
pub(in crate::store) fn take_pending(start: Statement, ids: &[i64]) -> Statement {
    push_returning_taken(
        start
            .push("DELETE FROM audit_pending WHERE id")
            .push_any(ids),
    )
}

/// Returns the rows that a statement takes, with the last seal in place of commitments.
pub(super) fn push_returning_taken(take: Statement) -> Statement {
    take.push(
        " RETURNING CAST(0 AS bigint) AS revision, id, at, event, user_id, username, actor_id, actor, actor_key,
    actor_session, client_address, request_id, details, state, former_username,
    (SELECT revision || ' ' || at || ' ' || digest FROM audit_seal ORDER BY revision DESC LIMIT 1) AS commitments",
    )
}

fn parse_last_seal(text: &str) -> Option<Seal> {
    let mut parts = text.splitn(3, ' ');
    Some(Seal {
        revision: parts.next()?.parse().ok()?,
        at: parts.next()?.parse().ok()?,
        digest: parts.next()?.to_owned(),
    })
}
