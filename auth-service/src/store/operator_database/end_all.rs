//! Ends the sessions, access tokens, password links, pending sign-ins and unfinished second-factor enrollments of all
//! users, and their API keys on request.
//!
//! An operator does so after credentials were stolen, or after a restore, because a backup brings back sessions that
//! had ended.

use super::OperatorDatabase;
use crate::{
    audit::{AuditRow, BulkChange, EndedCredentials, Requested},
    store::{
        seal::{REVISION_GAP, SELECT_SEALS, Seal},
        user_store::{
            audit::{
                pending_rows::insert_pending,
                sealed_batch::{SealedBatch, push_returning_taken},
            },
            tokens::ending::{END_ALL_OTHER_TOKENS, END_ALL_SESSIONS},
            tokens::revocation::{REVOKE, push_revocation_times},
            user_rows::IS_ACTIVE,
        },
    },
};
use rolegate_sql_store::{LongTransaction, StoreError, sqlite::Replacement, unix_millis};
use sqlx::Error;

/// The number of user ids that are skipped, and also the number of token ids and of group ids. Ids that were assigned after the backup
/// was made are not in the backup. The number should exceed the number of those ids, so that none of them is assigned
/// again.
const SKIPPED_IDS: i64 = 1_000_000;

/// The maximum number of users whose tokens one statement revokes.
const REVOCATION_BATCH: i64 = 50_000;

/// The condition that selects second factors whose enrollment users have begun but not confirmed.
const UNFINISHED: &str = r#" WHERE user_id IN (SELECT id FROM "user" WHERE NOT second_factor)"#;

/// The highest ids and the highest revision that a database has assigned before a backup replaces it. A number is 0 if
/// it cannot be read.
#[derive(Clone, Copy, Debug, Default)]
pub struct HighWaterMarks {
    pub(in crate::store) user_id: i64,
    pub(in crate::store) token_id: i64,
    pub(in crate::store) revision: i64,
    /// A time in Unix milliseconds that the clock of the SQLite file has not passed; `None` if the clock cannot be
    /// read.
    pub(in crate::store) clock: Option<i64>,
}

/// The treatment of API keys when all other credentials are ended. They can be kept, because programs cannot log in
/// again by themselves.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) enum ApiKeys {
    Keep,
    Delete,
}

/// The result of ending all credentials.
pub(crate) struct EndOfAll {
    pub(crate) ended: EndedCredentials,
    /// The number of API keys that are still valid, because they have not expired and their user is not disabled.
    pub(crate) live_api_keys: i64,
}

impl HighWaterMarks {
    /// Reads the marks from the SQLite file of users that a restore is about to replace.
    pub async fn in_replaced(place: &Replacement) -> Self {
        Self {
            user_id: place
                .read_number("SELECT seq FROM sqlite_sequence WHERE name = 'user'")
                .await,
            token_id: place
                .read_number("SELECT seq FROM sqlite_sequence WHERE name = 'api_key'")
                .await,
            revision: place
                .read_number("SELECT max(revision) FROM audit_seal")
                .await,
            clock: place.read_clock().await,
        }
    }
}

impl OperatorDatabase {
    /// Ends the credentials of all users in one transaction, which also records the change `write`.
    ///
    /// The transaction also skips ids and revisions that this database or the replaced one may have assigned, so that
    /// none is assigned twice.
    pub(crate) async fn end_all(
        &self,
        api_keys: ApiKeys,
        replaced: HighWaterMarks,
        request: &Requested<BulkChange>,
    ) -> Result<EndOfAll, StoreError> {
        let mut transaction = self.database.begin().await?;
        lock_tables(&mut transaction).await?;
        if let Some(time) = replaced.clock {
            transaction.advance_clock(time).await?;
        }
        let last = last_seal(&mut transaction).await?;
        let ended = count_credentials(&mut transaction, api_keys, last.revision).await?;
        end_credentials(&mut transaction, api_keys).await?;
        let live_api_keys = count_live_api_keys(&mut transaction).await?;
        transaction
            .skip_ids("user", replaced.user_id, SKIPPED_IDS)
            .await?;
        transaction
            .skip_ids("api_key", replaced.token_id, SKIPPED_IDS)
            .await?;
        transaction.skip_ids("group", 0, SKIPPED_IDS).await?;
        // The gap depends on the time, because two restores of one backup must not assign the same revisions.
        let gap = REVISION_GAP + unix_millis() % REVISION_GAP;
        let revision = last.revision.max(replaced.revision) + gap;
        record(&mut transaction, &last, revision, request, ended).await?;
        transaction.commit().await?;
        Ok(EndOfAll {
            ended,
            live_api_keys,
        })
    }
}

/// On PostgreSQL, locks the tables until the commit, so that writes in progress finish first and new ones wait. On
/// SQLite, the transaction already excludes other writes.
///
/// Without these locks, the transaction would lock rows in another order than other writes do, which can deadlock.
async fn lock_tables(transaction: &mut LongTransaction) -> Result<(), StoreError> {
    if !transaction.is_postgres() {
        return Ok(());
    }
    for lock in [
        r#"LOCK TABLE "user", api_key IN EXCLUSIVE MODE"#,
        // Sealing takes this lock as well, so no batch is sealed before the commit.
        "SELECT revision FROM audit_seal ORDER BY revision LIMIT 1 FOR UPDATE",
    ] {
        transaction.execute(transaction.statement(lock)).await?;
    }
    Ok(())
}

async fn last_seal(transaction: &mut LongTransaction) -> Result<Seal, StoreError> {
    let select = transaction
        .statement(SELECT_SEALS)
        .push(" ORDER BY revision DESC LIMIT 1");
    transaction.fetch_one(select).await
}

/// Returns the numbers of credentials that [`end_credentials`] is about to delete, for the record.
async fn count_credentials(
    transaction: &mut LongTransaction,
    api_keys: ApiKeys,
    after_revision: i64,
) -> Result<EndedCredentials, StoreError> {
    let select = transaction
        .statement(
            "SELECT CAST($2 AS bigint) AS after_revision,
        (SELECT count(*) FROM api_key WHERE session_user_id IS NOT NULL) AS sessions,
        (SELECT count(*) FROM password_link) AS links,
        (SELECT count(*) FROM second_factor",
        )
        .push(UNFINISHED)
        .push(") AS second_factors, (SELECT count(*) FROM api_key WHERE user_id IS NOT NULL AND $1) AS api_keys")
        .bind(api_keys == ApiKeys::Delete)
        .bind(after_revision);
    transaction.fetch_one(select).await
}

async fn end_credentials(
    transaction: &mut LongTransaction,
    api_keys: ApiKeys,
) -> Result<(), StoreError> {
    let end_sessions = transaction
        .statement(END_ALL_SESSIONS)
        .bind(api_keys == ApiKeys::Delete);
    transaction.execute(end_sessions).await?;
    for end in END_ALL_OTHER_TOKENS {
        transaction.execute(transaction.statement(end)).await?;
    }
    for delete in ["DELETE FROM recovery_code", "DELETE FROM second_factor"] {
        let delete = transaction.statement(delete).push(UNFINISHED);
        transaction.execute(delete).await?;
    }
    revoke_tokens(transaction).await
}

/// Revokes the tokens of all users in batches, because one statement for all of them could take too long.
async fn revoke_tokens(transaction: &mut LongTransaction) -> Result<(), StoreError> {
    let mut after = 0;
    while let Some(last) = last_of_page(transaction, after).await? {
        let revoke = transaction
            .statement(r#"UPDATE "user" SET "#)
            .bind(after)
            .bind(last)
            .push(REVOKE);
        let revoke = push_revocation_times(revoke).push(" WHERE id > $1 AND id <= $2");
        transaction.execute(revoke).await?;
        after = last;
    }
    Ok(())
}

/// Returns the last user id of the batch that follows the id `after`; `None` if no user is left.
async fn last_of_page(
    transaction: &mut LongTransaction,
    after: i64,
) -> Result<Option<i64>, StoreError> {
    let select = transaction
        .statement(
            r#"SELECT max(id) FROM (SELECT id FROM "user" WHERE id > $1 ORDER BY id LIMIT $2) AS page"#,
        )
        .bind(after)
        .bind(REVOCATION_BATCH);
    transaction.fetch_one(select).await
}

async fn count_live_api_keys(transaction: &mut LongTransaction) -> Result<i64, StoreError> {
    let count = transaction.statement(
        r#"SELECT count(*) FROM api_key WHERE (expires_at IS NULL OR expires_at > $NOW)
        AND user_id IN (SELECT id FROM "user" WHERE "#,
    );
    let count = count.push(IS_ACTIVE).push(")");
    transaction.fetch_one(count).await
}

/// Inserts the row that records the end of all credentials, and seals it at once as a batch of its own. Unsealed rows
/// of the backup are sealed after it, because they may have had other revisions in the history that was lost.
async fn record(
    transaction: &mut LongTransaction,
    last: &Seal,
    revision: i64,
    request: &Requested<BulkChange>,
    ended: EndedCredentials,
) -> Result<(), StoreError> {
    let insert = insert_pending(transaction.statement(""), &[request.entry_for_end(ended)]);
    let ids: Vec<i64> = transaction.fetch(insert).await?;
    let take = transaction
        .statement("DELETE FROM audit_pending WHERE id")
        .push_any(&ids);
    let taken: Vec<AuditRow> = transaction.fetch(push_returning_taken(take)).await?;
    let batch = SealedBatch::behind(last, &taken, revision).ok_or_else(|| {
        StoreError::Failed(Error::Protocol("the record cannot be sealed".into()).into())
    })?;
    for insert in batch.insert(&transaction.statement("INSERT INTO ")) {
        transaction.execute(insert).await?;
    }
    Ok(())
}
