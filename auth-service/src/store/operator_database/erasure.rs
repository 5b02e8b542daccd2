//! Erases the name of a deleted user, and the addresses from which the user acted, from the record. Each batch of rows
//! is a transaction of its own, so that other transactions can write in between.

use super::OperatorDatabase;
use crate::{
    audit::{AuditRow, BulkChange, Requested},
    store::{checked_row::CheckedRow, user_store::audit::pending_rows::insert_pending},
};
use rolegate_sql_store::{Database, LongTransaction, Statement, StoreError};
use tokio::time::{Instant, sleep};

/// The maximum number of rows that one transaction changes. On SQLite, every other writer waits until the transaction
/// ends.
const BATCH_ROWS: i64 = 1000;

/// The condition that selects the rows about the user `$1` in which a name or an address is left to erase.
const ABOUT_USER: &str = "user_id = $1 AND (username IS NOT NULL OR former_username IS NOT NULL
    OR coalesce(actor_id, $1) = $1 AND (actor IS NOT NULL OR client_address IS NOT NULL))";

/// The condition that selects all other rows in which the user `$1` is the actor, and a name or an address is left to
/// erase.
const ABOUT_OTHERS: &str = "actor_id = $1 AND coalesce(user_id <> $1, TRUE)
    AND (actor IS NOT NULL OR client_address IS NOT NULL)";

/// An erasure that is already recorded. It can be interrupted at any time, because another erasure of the same user
/// erases the remaining rows.
pub(crate) struct Erasure {
    database: Database,
    user_id: i64,
    /// The conditions of the rows that are left to erase. The last one is handled first. The conditions are separate,
    /// so that each can use an index of its own.
    conditions: Vec<&'static str>,
    /// The last revision that was read for the last condition in `conditions`.
    position: i64,
    /// The number of rows to erase, counted before the first batch.
    pub(crate) counted: usize,
    /// The number of rows from which the name was erased so far.
    pub(crate) erased: usize,
    /// The reasons why rows kept their names, one for each row. Such a row cannot be read or was tampered with, so the
    /// digest that would replace a name cannot be computed.
    pub(crate) kept: Vec<String>,
}

impl OperatorDatabase {
    /// Returns the ids of the deleted users for whom the record still contains this name.
    pub(crate) async fn deleted_users(&self, username: &str) -> Result<Vec<i64>, StoreError> {
        // The statement reads the whole record, which can take longer than the timeout of a request, and therefore runs
        // in a long transaction. The search includes actors, because an interrupted erasure may have left the name only
        // in rows where the deleted user is the actor.
        let mut snapshot = self.database.begin_snapshot().await?;
        let select = snapshot
            .statement(
                r#"SELECT DISTINCT id FROM (
                    SELECT user_id AS id FROM audit
                        WHERE username = $1 OR substr(former_username, 34) = $1
                    UNION ALL SELECT coalesce(actor_id, user_id) FROM audit WHERE actor = $1
                ) AS named WHERE id NOT IN (SELECT id FROM "user") ORDER BY id"#,
            )
            .bind(username.to_owned());
        snapshot.fetch(select).await
    }

    /// Records that the name of a deleted user and the addresses from which the user acted are being erased. From then
    /// on, a row without the name and the addresses is no sign of tampering. Returns the erasure, which
    /// [`Erasure::run`] carries out.
    pub(crate) async fn begin_erasure(
        &self,
        user_id: i64,
        request: &Requested<BulkChange>,
    ) -> Result<Erasure, StoreError> {
        let conditions = vec![ABOUT_OTHERS, ABOUT_USER];
        let mut counted = 0;
        let mut snapshot = self.database.begin_snapshot().await?;
        for &condition in &conditions {
            counted += count_rows(&mut snapshot, condition, user_id).await?;
        }
        drop(snapshot);
        let entry = request.entry_for_erasure(user_id, counted);
        let record = insert_pending(self.database.statement(""), &[entry]);
        self.database.execute(record).await?;
        Ok(Erasure {
            database: self.database.clone(),
            user_id,
            conditions,
            position: 0,
            counted,
            erased: 0,
            kept: Vec::new(),
        })
    }

    /// Erases this name from the API keys that an admin of this name created for other users. Does nothing if an
    /// existing user has the name. Returns the number of changed keys.
    pub(crate) async fn erase_key_creator(&self, username: &str) -> Result<usize, StoreError> {
        let mut transaction = self.database.begin().await?;
        let update = transaction
            .statement(
                r#"UPDATE api_key SET created_by = NULL WHERE created_by = $1
            AND NOT EXISTS (SELECT 1 FROM "user" WHERE username = $1) RETURNING id"#,
            )
            .bind(username.to_owned());
        let keys = transaction.execute(update).await?;
        transaction.commit().await?;
        Ok(keys)
    }
}

async fn count_rows(
    snapshot: &mut LongTransaction,
    condition: &'static str,
    user_id: i64,
) -> Result<usize, StoreError> {
    let count = snapshot
        .statement("SELECT count(*) FROM audit WHERE ")
        .push(condition)
        .bind(user_id);
    let count: i64 = snapshot.fetch_one(count).await?;
    Ok(usize::try_from(count).unwrap_or_default())
}

impl Erasure {
    /// Erases the name from all rows that are left, batch by batch.
    pub(crate) async fn run(&mut self) -> Result<(), StoreError> {
        loop {
            let began = Instant::now();
            if !self.erase_batch().await? {
                return Ok(());
            }
            // The pause gives other writers as much time as the batch has taken. SQLite does not notify a writer when
            // the file is free, so a waiting writer must have time to try again.
            sleep(began.elapsed()).await;
        }
    }

    /// Erases the name from the next batch of rows, and counts the rows. Returns true if there may be more rows.
    pub(crate) async fn erase_batch(&mut self) -> Result<bool, StoreError> {
        let Some(&condition) = self.conditions.last() else {
            return Ok(false);
        };
        let mut transaction = self.database.begin().await?;
        let found = self.lock_rows(&mut transaction, condition).await?;
        let Some(last) = found.last() else {
            self.conditions.pop();
            self.position = 0;
            return Ok(true);
        };
        let position = last.revision;
        let mut erased = Vec::new();
        for row in found {
            match erase(row, self.user_id) {
                Ok(row) => erased.push(row),
                Err(reason) => self.kept.push(reason),
            }
        }
        let update = update_rows(transaction.statement(""), &erased);
        transaction.execute(update).await?;
        transaction.commit().await?;
        self.position = position;
        self.erased += erased.len();
        Ok(true)
    }

    async fn lock_rows(
        &self,
        transaction: &mut LongTransaction,
        condition: &'static str,
    ) -> Result<Vec<CheckedRow>, StoreError> {
        // The rows are locked, because the erasure of another user may change the same row: one erases the user of the
        // row, and the other its actor.
        let lock = if transaction.is_postgres() {
            " FOR UPDATE"
        } else {
            ""
        };
        let select = transaction
            .statement("SELECT ")
            .push_columns::<AuditRow>()
            .push(" FROM audit WHERE ")
            .push(condition)
            .push(" AND revision > $2 ORDER BY revision LIMIT $3")
            .push(lock)
            .bind(self.user_id)
            .bind(self.position)
            .bind(BATCH_ROWS);
        transaction.fetch(select).await
    }
}

/// Erases the name from a row. Fails with the reason why the row keeps its name.
fn erase(found: CheckedRow, user_id: i64) -> Result<AuditRow, String> {
    let revision = found.revision;
    let mut row = found
        .content
        .map_err(|problem| format!("revision {revision}: {problem}"))?;
    row.erase(user_id)
        .map_err(|tampering| tampering.to_string())?;
    Ok(row)
}

fn update_rows(start: Statement, rows: &[AuditRow]) -> Statement {
    start
        .push(
            "UPDATE audit SET username = r.username, actor = r.actor, client_address = r.client_address,
        former_username = r.former_username, commitments = r.commitments",
        )
        .push_rows(rows)
        .push(" AND audit.revision = r.revision RETURNING audit.revision")
}
