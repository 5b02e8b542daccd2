//! The whole record, for the commands of an operator.

use super::{
    AuditRow, Seal, Transfer,
    sql::{AUDIT_COLUMNS, insert_pending},
};
use crate::audit::Write;
use rolegate_sql_store::{LongTransaction, Statement, StoreError};

/// Seals whose rows are read at once.
const PAGE: i64 = 20;

/// The record at one moment.
pub(crate) struct SealedRecord(LongTransaction);

impl Transfer {
    pub(crate) async fn record(&self) -> Result<SealedRecord, StoreError> {
        Ok(SealedRecord(self.database().begin_snapshot().await?))
    }

    /// The ids of deleted users of this name in the record.
    pub(crate) async fn deleted_users(&self, username: &str) -> Result<Vec<i64>, StoreError> {
        let select = self.database().statement(
            r#"SELECT DISTINCT user_id FROM audit WHERE username = $1
                AND user_id NOT IN (SELECT id FROM "user") ORDER BY user_id"#,
        );
        let ids = self
            .database()
            .read::<(i64,)>(select.bind(username.to_owned()))
            .await?;
        Ok(ids.into_iter().map(|(id,)| id).collect())
    }

    /// Erases the names of a deleted user, and the addresses from which they acted, and records that. The
    /// number of rows; an error if one of them was tampered with.
    pub(crate) async fn erase(
        &self,
        user_id: i64,
        write: &Write,
    ) -> Result<usize, Box<dyn std::error::Error + Send + Sync>> {
        let mut transaction = self.database().begin().await?;
        let (mut erased, mut last) = (0, 0);
        loop {
            let page = transaction
                .statement("SELECT ")
                .push(AUDIT_COLUMNS)
                .push(" FROM audit");
            let page = page.push(" WHERE (user_id = $1 OR actor_id = $1) AND revision > $2");
            let page = page
                .push(" ORDER BY revision LIMIT 1000")
                .bind(user_id)
                .bind(last);
            let mut rows: Vec<AuditRow> = transaction.fetch(page).await?;
            let Some(row) = rows.last() else { break };
            last = row.revision;
            for row in &mut rows {
                row.erase(user_id)?;
            }
            erased += rows.len();
            transaction
                .fetch::<(i64,)>(update(transaction.statement(""), &rows))
                .await?;
        }
        let entry = insert_pending(
            transaction.statement(""),
            &[write.of_erasure(user_id, erased)],
        );
        transaction.fetch::<(i64,)>(entry).await?;
        transaction.commit().await?;
        Ok(erased)
    }
}

fn update(start: Statement, rows: &[AuditRow]) -> Statement {
    let columns = [
        ("revision", "bigint"),
        ("username", "text"),
        ("actor", "text"),
        ("client_address", "text"),
        ("commitments", "text"),
    ];
    let set = "UPDATE audit SET username = r.username, actor = r.actor, client_address = r.client_address,
        commitments = r.commitments";
    let update = start.push(set).push_rows(&columns, rows);
    update.push(" AND audit.revision = r.revision RETURNING audit.revision")
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
