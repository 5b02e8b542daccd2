//! The whole record at one moment, for the command that verifies it.

use super::{AuditRow, Seal, Transfer, sql::AUDIT_COLUMNS};
use rolegate_sql_store::{LongTransaction, StoreError};

/// Seals whose rows are read at once.
const PAGE: i64 = 20;

/// The record at one moment.
pub(crate) struct SealedRecord(LongTransaction);

impl Transfer {
    pub(crate) async fn record(&self) -> Result<SealedRecord, StoreError> {
        Ok(SealedRecord(self.database().begin_snapshot().await?))
    }
}

impl SealedRecord {
    /// The oldest seal, and the number of rows that no seal covers.
    pub(crate) async fn oldest_seal(&mut self) -> Result<(Seal, i64), StoreError> {
        let seal = "SELECT revision, at, digest FROM audit_seal ORDER BY revision LIMIT 1";
        let seal = self.0.statement(seal);
        let seal = self.0.fetch::<Seal>(seal).await?.pop();
        let uncovered = self.0.statement(
            "SELECT count(*) FROM audit WHERE revision <= (SELECT min(revision) FROM audit_seal)
                OR revision > (SELECT max(revision) FROM audit_seal)",
        );
        let uncovered = self.0.fetch::<(i64,)>(uncovered).await?.pop();
        let missing = || StoreError::Failed(sqlx::Error::RowNotFound.into());
        Ok((
            seal.ok_or_else(missing)?,
            uncovered.map_or(0, |(count,)| count),
        ))
    }

    /// The first seals behind this revision, and the rows up to the last of them; none at the end.
    pub(crate) async fn next(
        &mut self,
        revision: i64,
    ) -> Result<(Vec<Seal>, Vec<AuditRow>), StoreError> {
        let seals = "SELECT revision, at, digest FROM audit_seal WHERE revision > $1
            ORDER BY revision LIMIT $2";
        let seals = self.0.statement(seals).bind(revision).bind(PAGE);
        let seals: Vec<Seal> = self.0.fetch(seals).await?;
        let rows = self.0.statement("SELECT ").push(AUDIT_COLUMNS);
        let rows =
            rows.push(" FROM audit WHERE revision > $1 AND revision <= $2 ORDER BY revision");
        let rows = rows
            .bind(revision)
            .bind(seals.last().map_or(0, |seal| seal.revision));
        Ok((seals, self.0.fetch(rows).await?))
    }
}
