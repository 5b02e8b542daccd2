//! Ends every credential but passwords and API keys at once, for the commands of an operator: after a restore, when
//! the database has sessions again that had ended, or after a theft.

use super::{
    AuditRow, Seal, Transfer,
    seal::GAP,
    sql::{
        REVOKE, insert_pending, revoking,
        sealing::{insert_seal, insert_sealed, sealed_behind, take_pending},
    },
};
use crate::audit::{Ended, Write};
use rolegate_sql_store::{LongTransaction, StoreError, sqlite::Replacement};
use sqlx::Error;

/// The next ids of users and of tokens are greater by so many than the last ones: a backup does not have those that were
/// given out since it was made, and fewer users have registered since.
const LEFT_OUT_IDS: i64 = 1_000_000;

/// How far numbers went in a database that was replaced by a backup; zeros where nothing is known of it.
#[derive(Clone, Copy, Debug, Default)]
pub struct GivenOut {
    pub(super) user_id: i64,
    pub(super) token_id: i64,
    pub(super) revision: i64,
}

/// How the end of all credentials went.
pub(crate) struct EndOfAll {
    pub(crate) ended: Ended,
    /// Those that are still good.
    pub(crate) live_api_keys: i64,
}

impl GivenOut {
    /// Those of the users in the file that is about to be replaced, as far as it can be read.
    pub async fn in_replaced(place: &Replacement) -> Self {
        let user_id = "SELECT seq FROM sqlite_sequence WHERE name = 'user'";
        let token_id = "SELECT seq FROM sqlite_sequence WHERE name = 'api_key'";
        let revision = "SELECT max(revision) FROM audit_seal";
        Self {
            user_id: place.number_before(user_id).await,
            token_id: place.number_before(token_id).await,
            revision: place.number_before(revision).await,
        }
    }
}

impl Transfer {
    /// Ends all sessions, password links and second factors that were begun, revokes every access token, and deletes
    /// the API keys too if `deletes_api_keys`. Leaves out ids and revisions, above those of a database that was
    /// replaced, so that none that was given out since a backup is given out again. One transaction does all of it,
    /// and records it as `write`.
    pub(crate) async fn end_all(
        &self,
        deletes_api_keys: bool,
        replaced: GivenOut,
        write: &Write,
    ) -> Result<EndOfAll, StoreError> {
        let mut transaction = self.database().begin().await?;
        lock(&mut transaction).await?;
        let last = last_seal(&mut transaction).await?;
        let ended = count(&mut transaction, deletes_api_keys, last.revision).await?;
        end_credentials(&mut transaction, deletes_api_keys).await?;
        let live_api_keys = count_live_api_keys(&mut transaction).await?;
        transaction
            .leave_out_ids("user", replaced.user_id, LEFT_OUT_IDS)
            .await?;
        transaction
            .leave_out_ids("api_key", replaced.token_id, LEFT_OUT_IDS)
            .await?;
        let revision = last.revision.max(replaced.revision) + GAP;
        record(&mut transaction, &last, revision, write, ended).await?;
        transaction.commit().await?;
        Ok(EndOfAll {
            ended,
            live_api_keys,
        })
    }
}

/// Waits for every write in progress and keeps others waiting. Rows would be locked in another order than by those
/// writes, which could end in a deadlock.
async fn lock(transaction: &mut LongTransaction) -> Result<(), StoreError> {
    if !transaction.is_postgres() {
        return Ok(());
    }
    for lock in [
        r#"LOCK TABLE "user", api_key IN EXCLUSIVE MODE"#,
        // As the sealing does.
        "SELECT revision FROM audit_seal ORDER BY revision LIMIT 1 FOR UPDATE",
    ] {
        transaction
            .fetch::<(i64,)>(transaction.statement(lock))
            .await?;
    }
    Ok(())
}

async fn last_seal(transaction: &mut LongTransaction) -> Result<Seal, StoreError> {
    let last = "SELECT revision, at, digest FROM audit_seal ORDER BY revision DESC LIMIT 1";
    let last = transaction.fetch(transaction.statement(last)).await?.pop();
    last.ok_or_else(|| StoreError::Failed(Error::RowNotFound.into()))
}

/// What [`end_credentials`] is about to end.
async fn count(
    transaction: &mut LongTransaction,
    deletes_api_keys: bool,
    after_revision: i64,
) -> Result<Ended, StoreError> {
    let counts = r#"SELECT (SELECT count(*) FROM api_key WHERE session_user_id IS NOT NULL),
        (SELECT count(*) FROM password_link),
        (SELECT count(*) FROM second_factor
            WHERE user_id IN (SELECT id FROM "user" WHERE NOT second_factor)),
        (SELECT count(*) FROM api_key WHERE user_id IS NOT NULL AND $1)"#;
    let counts = transaction.statement(counts).bind(deletes_api_keys);
    let counts = transaction
        .fetch::<(i64, i64, i64, i64)>(counts)
        .await?
        .pop();
    let (sessions, links, second_factors, api_keys) = counts.unwrap_or_default();
    Ok(Ended {
        after_revision,
        sessions,
        links,
        second_factors,
        api_keys,
    })
}

async fn end_credentials(
    transaction: &mut LongTransaction,
    deletes_api_keys: bool,
) -> Result<(), StoreError> {
    let begun = r#" WHERE user_id IN (SELECT id FROM "user" WHERE NOT second_factor)"#;
    let statements = [
        transaction
            .statement("DELETE FROM api_key WHERE session_user_id IS NOT NULL OR $1")
            .bind(deletes_api_keys),
        transaction.statement("DELETE FROM password_link"),
        transaction
            .statement("DELETE FROM recovery_code")
            .push(begun),
        transaction
            .statement("DELETE FROM second_factor")
            .push(begun),
        revoking(transaction.statement(r#"UPDATE "user" SET "#).push(REVOKE)),
    ];
    for statement in statements {
        transaction.fetch::<(i64,)>(statement).await?;
    }
    Ok(())
}

async fn count_live_api_keys(transaction: &mut LongTransaction) -> Result<i64, StoreError> {
    let count = r#"SELECT count(*) FROM api_key WHERE user_id IN (SELECT id FROM "user" WHERE NOT disabled)
        AND (expires_at IS NULL OR expires_at > "#;
    let count = transaction.statement(count).push_now().push(")");
    let count = transaction.fetch::<(i64,)>(count).await?.pop();
    Ok(count.map_or(0, |(count,)| count))
}

/// Seals the row of the end at once and alone, before rows that wait for a revision: those of a backup may have had
/// other revisions in the history that was lost.
async fn record(
    transaction: &mut LongTransaction,
    last: &Seal,
    revision: i64,
    write: &Write,
    ended: Ended,
) -> Result<(), StoreError> {
    let insert = insert_pending(transaction.statement(""), &[write.of_end(ended)]);
    let inserted = transaction.fetch::<(i64,)>(insert).await?;
    let ids: Vec<i64> = inserted.into_iter().map(|(id,)| id).collect();
    let take = take_pending(transaction.statement(""), &ids);
    let taken: Vec<AuditRow> = transaction.fetch(take).await?;
    let unsealed =
        || StoreError::Failed(Error::Protocol("the record cannot be sealed".into()).into());
    let (rows, seal) = sealed_behind(last, &taken, revision).ok_or_else(unsealed)?;
    for insert in [
        insert_sealed(transaction.statement("INSERT INTO "), &rows),
        insert_seal(transaction.statement("INSERT INTO "), &seal),
    ] {
        transaction.fetch::<(i64,)>(insert).await?;
    }
    Ok(())
}
