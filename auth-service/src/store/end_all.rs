//! Ends the sessions, access tokens, password links, pending sign-ins and unfinished second-factor enrollments of all users,
//! and API keys on request. An operator does so after a theft, and after a restore, which brings back sessions that had ended.

use super::{
    AuditRow, Seal, Transfer,
    seal::REVISION_GAP,
    sql::{
        audit::{
            pending_rows::insert_pending,
            sealing::{insert_seal, insert_sealed, sealed_behind, take_pending},
        },
        revocation::{REVOKE, revoking},
    },
};
use crate::audit::{EndedCredentials, Write};
use rolegate_sql_store::{LongTransaction, StoreError, sqlite::Replacement, unix_millis};
use sqlx::Error;

/// How many ids of users and of tokens are skipped. A backup does not know the ids that were given out after it was made;
/// there are fewer of those.
const SKIPPED_IDS: i64 = 1_000_000;

/// Users whose tokens one statement revokes.
const USERS_OF_STATEMENT: i64 = 50_000;

/// The rows of second factors that their users began to turn on and have not confirmed.
const UNFINISHED: &str = r#" WHERE user_id IN (SELECT id FROM "user" WHERE NOT second_factor)"#;

/// The highest ids and revision of a database that a backup replaces; 0 where they cannot be read.
#[derive(Clone, Copy, Debug, Default)]
pub struct HighestNumbers {
    pub(super) user_id: i64,
    pub(super) token_id: i64,
    pub(super) revision: i64,
    /// A time in Unix milliseconds that the clock of an SQLite file has not passed.
    pub(super) clock: Option<i64>,
}

/// What becomes of API keys when everything else ends: programs cannot log in again by themselves.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) enum ApiKeys {
    Keep,
    Delete,
}

/// How the end of all credentials went.
pub(crate) struct EndOfAll {
    pub(crate) ended: EndedCredentials,
    /// API keys that have not expired and whose user is not disabled.
    pub(crate) live_api_keys: i64,
}

impl HighestNumbers {
    /// Reads those of the users in the file that is about to be replaced.
    pub async fn in_replaced(place: &Replacement) -> Self {
        let user_id = "SELECT seq FROM sqlite_sequence WHERE name = 'user'";
        let token_id = "SELECT seq FROM sqlite_sequence WHERE name = 'api_key'";
        let revision = "SELECT max(revision) FROM audit_seal";
        Self {
            user_id: place.read_number(user_id).await,
            token_id: place.read_number(token_id).await,
            revision: place.read_number(revision).await,
            clock: place.read_clock().await,
        }
    }
}

impl Transfer {
    /// Ends the credentials of all users in one transaction and records it as `write`. Also skips ids and revisions, beyond
    /// those of a database that was replaced, so that none is given out twice.
    pub(crate) async fn end_all(
        &self,
        api_keys: ApiKeys,
        replaced: HighestNumbers,
        write: &Write,
    ) -> Result<EndOfAll, StoreError> {
        let mut transaction = self.database().begin().await?;
        lock(&mut transaction).await?;
        if let Some(time) = replaced.clock {
            transaction.advance_clock(time).await?;
        }
        let last = last_seal(&mut transaction).await?;
        let ended = count(&mut transaction, api_keys, last.revision).await?;
        end_credentials(&mut transaction, api_keys).await?;
        let live_api_keys = count_live_api_keys(&mut transaction).await?;
        transaction
            .skip_ids("user", replaced.user_id, SKIPPED_IDS)
            .await?;
        transaction
            .skip_ids("api_key", replaced.token_id, SKIPPED_IDS)
            .await?;
        // Two restores of one backup must not give out the same revisions.
        let gap = REVISION_GAP + unix_millis() % REVISION_GAP;
        let revision = last.revision.max(replaced.revision) + gap;
        record(&mut transaction, &last, revision, write, ended).await?;
        transaction.commit().await?;
        Ok(EndOfAll {
            ended,
            live_api_keys,
        })
    }
}

/// Locks the tables until the commit: this waits for writes in progress and keeps new ones waiting. Without it, rows would
/// be locked in another order than other writes lock them, which can deadlock.
async fn lock(transaction: &mut LongTransaction) -> Result<(), StoreError> {
    if !transaction.is_postgres() {
        return Ok(());
    }
    for lock in [
        r#"LOCK TABLE "user", api_key IN EXCLUSIVE MODE"#,
        // The lock that sealing takes, so that no batch is sealed meanwhile.
        "SELECT revision FROM audit_seal ORDER BY revision LIMIT 1 FOR UPDATE",
    ] {
        transaction
            .fetch::<(i64,)>(transaction.statement(lock))
            .await?;
    }
    Ok(())
}

async fn last_seal(transaction: &mut LongTransaction) -> Result<Seal, StoreError> {
    let select = "SELECT revision, at, digest FROM audit_seal ORDER BY revision DESC LIMIT 1";
    let mut seals: Vec<Seal> = transaction.fetch(transaction.statement(select)).await?;
    seals
        .pop()
        .ok_or_else(|| StoreError::Failed(Error::RowNotFound.into()))
}

/// What [`end_credentials`] is about to end.
async fn count(
    transaction: &mut LongTransaction,
    api_keys: ApiKeys,
    after_revision: i64,
) -> Result<EndedCredentials, StoreError> {
    let counts = "SELECT (SELECT count(*) FROM api_key WHERE session_user_id IS NOT NULL),
        (SELECT count(*) FROM password_link),
        (SELECT count(*) FROM second_factor";
    let counts = transaction
        .statement(counts)
        .push(UNFINISHED)
        .push("), (SELECT count(*) FROM api_key WHERE user_id IS NOT NULL AND $1)")
        .bind(api_keys == ApiKeys::Delete);
    let counts = transaction
        .fetch::<(i64, i64, i64, i64)>(counts)
        .await?
        .pop();
    let (sessions, links, second_factors, api_keys) = counts.unwrap_or_default();
    Ok(EndedCredentials {
        after_revision,
        sessions,
        links,
        second_factors,
        api_keys,
    })
}

async fn end_credentials(
    transaction: &mut LongTransaction,
    api_keys: ApiKeys,
) -> Result<(), StoreError> {
    let statements = [
        transaction
            .statement("DELETE FROM api_key WHERE session_user_id IS NOT NULL OR $1")
            .bind(api_keys == ApiKeys::Delete),
        transaction.statement("DELETE FROM password_link"),
        transaction.statement("DELETE FROM pending_sign_in"),
        transaction
            .statement("DELETE FROM recovery_code")
            .push(UNFINISHED),
        transaction
            .statement("DELETE FROM second_factor")
            .push(UNFINISHED),
    ];
    for statement in statements {
        transaction.fetch::<(i64,)>(statement).await?;
    }
    revoke_tokens(transaction).await
}

/// In statements of as many users as one can change in time.
async fn revoke_tokens(transaction: &mut LongTransaction) -> Result<(), StoreError> {
    let mut after = 0;
    loop {
        let page = r#"SELECT max(id) FROM (SELECT id FROM "user" WHERE id > $1 ORDER BY id LIMIT $2) AS page"#;
        let page = transaction
            .statement(page)
            .bind(after)
            .bind(USERS_OF_STATEMENT);
        let Some((Some(last),)) = transaction.fetch::<(Option<i64>,)>(page).await?.pop() else {
            return Ok(());
        };
        let revoke = transaction
            .statement(r#"UPDATE "user" SET "#)
            .bind(after)
            .bind(last)
            .push(REVOKE);
        let revoke = revoking(revoke).push(" WHERE id > $1 AND id <= $2");
        transaction.fetch::<(i64,)>(revoke).await?;
        after = last;
    }
}

async fn count_live_api_keys(transaction: &mut LongTransaction) -> Result<i64, StoreError> {
    let count = r#"SELECT count(*) FROM api_key WHERE user_id IN (SELECT id FROM "user" WHERE NOT disabled)
        AND (expires_at IS NULL OR expires_at > "#;
    let count = transaction.statement(count).push_now().push(")");
    let count = transaction.fetch::<(i64,)>(count).await?.pop();
    Ok(count.map_or(0, |(count,)| count))
}

/// Writes the row of the end, and seals it at once and alone. Rows of the backup that still wait for a revision are sealed
/// behind it, because they may have had other revisions in the history that was lost.
async fn record(
    transaction: &mut LongTransaction,
    last: &Seal,
    revision: i64,
    write: &Write,
    ended: EndedCredentials,
) -> Result<(), StoreError> {
    let insert = insert_pending(transaction.statement(""), &[write.entry_for_end(ended)]);
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
