//! Implements `SecondFactorStore`: second factors, password links and pending sign-ins in an SQL database. `rows`
//! decodes them, and `code_limits` limits wrong codes.

mod code_limits;
mod rows;

use super::{
    encoding::encode_seconds, locked_writes::Guard, sql_store::SqlStore,
    tokens::pending_sign_ins::push_from_pending_sign_in, user_rows::USER_COLUMNS,
};
use crate::{
    audit::{RecoveryCodeUse, Requested},
    store::{
        StoreError, WriteError,
        second_factor::{
            CodeLimit, CodePurpose, MAX_PENDING_SIGN_INS, OneTimeCodeUse, PENDING_SIGN_IN_SECONDS,
            SecondFactorStore, StoredPasswordLink, StoredSecondFactor,
        },
        tables::SECOND_FACTOR_KEY_IDS,
    },
    user::User,
};
use async_trait::async_trait;
use code_limits::{LimitColumns, push_is_accepting};
use rolegate_sql_store::{FollowUp, Timed};
use rows::SELECT_SECOND_FACTOR;
use std::sync::Arc;

#[async_trait]
impl SecondFactorStore for SqlStore {
    async fn insert_pending_sign_in(
        &self,
        user: &Timed<User>,
        digest: String,
    ) -> Result<(), WriteError> {
        let Timed { at, value: user } = user;
        let insert = self
            .database
            .statement(
                r#"INSERT INTO pending_sign_in (digest, user_id, not_before, expires_at)
                SELECT $2, id, tokens_not_before, $4 FROM "user"
                WHERE id = $1 AND tokens_not_before = $3 AND second_factor AND NOT disabled RETURNING user_id"#,
            )
            .bind(user.id)
            .bind(&*digest)
            .bind(encode_seconds(user.tokens_not_before))
            .bind(encode_seconds(at + PENDING_SIGN_IN_SECONDS));
        // This statement deletes the expired pending sign-ins. Of the others, it keeps the new one and the newest ones
        // beside it.
        let end = self
            .database
            .statement(
                "DELETE FROM pending_sign_in WHERE user_id = $1 AND digest <> $2
                AND (expires_at <= $3 OR digest NOT IN (SELECT digest FROM pending_sign_in
                    WHERE user_id = $1 AND digest <> $2 ORDER BY expires_at DESC LIMIT $4))",
            )
            .bind(user.id)
            .bind(digest)
            .bind(encode_seconds(*at))
            .bind(MAX_PENDING_SIGN_INS - 1);
        let end = FollowUp::<i64>::fixed(vec![end]);
        let guard = Guard::User(user.id);
        let inserted = self.write_guarded(guard, None, insert, end).await?;
        if inserted.is_empty() {
            return Err(WriteError::UserNotFound);
        }
        Ok(())
    }

    async fn pending_sign_in(&self, digest: &str) -> Result<Timed<Option<User>>, StoreError> {
        let select = self.database.statement("SELECT ").push(USER_COLUMNS);
        self.read_one(push_from_pending_sign_in(select, digest))
            .await
    }

    async fn password_link(
        &self,
        digest: &str,
    ) -> Result<Timed<Option<StoredPasswordLink>>, StoreError> {
        let select = self
            .database
            .statement("SELECT ")
            .push(USER_COLUMNS)
            .push(r#", expires_at FROM "user" JOIN password_link ON user_id = id WHERE digest = "#)
            .push_bind(digest);
        self.read_one(select).await
    }

    async fn second_factor(
        &self,
        user_id: i64,
    ) -> Result<Timed<Option<StoredSecondFactor>>, StoreError> {
        let select = self.database.statement(SELECT_SECOND_FACTOR).bind(user_id);
        self.read_one(select).await
    }

    async fn use_one_time_code(
        &self,
        user_id: i64,
        purpose: CodePurpose,
        code: OneTimeCodeUse,
    ) -> Result<bool, StoreError> {
        let unused = self
            .database
            .statement(
                "UPDATE second_factor SET last_step = $2, secret = $4
                FROM (SELECT $NOW AS now) AS clock
                WHERE user_id = $1 AND secret = $3 AND last_step < $2 AND ",
            )
            .bind(user_id)
            .bind(code.step)
            .bind(code.secret)
            .bind(code.new_secret);
        let update = push_is_accepting(unused, CodeLimit::OneTime(purpose));
        let update = update.push(" RETURNING user_id");
        Ok(self.database.execute(update).await? > 0)
    }

    async fn use_recovery_code(
        &self,
        purpose: CodePurpose,
        digest: String,
        request: Arc<Requested<RecoveryCodeUse>>,
    ) -> Result<bool, StoreError> {
        let user_id = request.change.user.id;
        let found = self
            .database
            .statement(
                "DELETE FROM recovery_code WHERE user_id = $1 AND digest = $2 AND EXISTS (
                SELECT 1 FROM second_factor, (SELECT $NOW AS now) AS clock
                WHERE second_factor.user_id = $1 AND ",
            )
            .bind(user_id)
            .bind(digest);
        let delete =
            push_is_accepting(found, CodeLimit::Recovery(purpose)).push(") RETURNING user_id");
        let then = vec![self.count_addition(user_id)];
        let record = self.record(move |_: &i64| vec![request.entry_for_use()], then);
        let deleted = self.database.write_with(delete, record).await?;
        Ok(!deleted.is_empty())
    }

    async fn count_wrong_code(&self, user_id: i64, limit: CodeLimit) -> Result<bool, StoreError> {
        let columns = LimitColumns::new(limit);
        let set_count = self
            .database
            .statement("UPDATE second_factor SET ")
            .bind(user_id)
            .push(columns.count)
            .push(" = CASE WHEN ");
        let set_since = columns
            .push_is_over(set_count)
            .push(" THEN 1 ELSE ")
            .push(columns.count)
            .push(" + 1 END, ")
            .push(columns.since)
            .push(" = CASE WHEN ");
        let set = columns
            .push_is_over(set_since)
            .push(" THEN now ELSE ")
            .push(columns.since)
            .push(" END FROM (SELECT $NOW AS now) AS clock WHERE user_id = $1 AND ");
        let update = push_is_accepting(set, limit);
        let update = update.push(" RETURNING user_id");
        Ok(self.database.execute(update).await? > 0)
    }

    async fn second_factor_key_ids(&self) -> Result<Vec<String>, StoreError> {
        let select = self.database.statement(SECOND_FACTOR_KEY_IDS);
        self.database.read(select).await
    }
}
