//! Second factors, each of which belongs to one user. `rows` decodes them, and `code_limits` limits wrong codes. If two
//! writes use the same code at the same time, only the first one succeeds.

mod code_limits;
mod rows;

use super::UserStore;
use crate::{
    audit::{RecoveryCodeUse, Requested},
    store::{
        StoreError,
        second_factor::{CodeLimit, CodePurpose, OneTimeCodeUse, StoredSecondFactor},
        tables::SECOND_FACTOR_KEY_IDS,
    },
};
use code_limits::{LimitColumns, push_is_accepting};
use rolegate_sql_store::Timed;
use rows::SELECT_SECOND_FACTOR;
use std::sync::Arc;

impl UserStore {
    /// Returns the second factor of a user, even if it is still being enrolled.
    pub(crate) async fn second_factor(
        &self,
        user_id: i64,
    ) -> Result<Timed<Option<StoredSecondFactor>>, StoreError> {
        let select = self.database.statement(SELECT_SECOND_FACTOR).bind(user_id);
        self.read_one(select).await
    }

    /// Stores that a one-time code was used, replaces the secret by `new_secret`, and returns whether the code is
    /// accepted.
    ///
    /// The code is refused if its step or a later one was used before, or if the secret was replaced meanwhile. It is
    /// also refused after too many wrong one-time codes for this purpose. If the code is refused, nothing is changed.
    pub(crate) async fn use_one_time_code(
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

    /// Uses up a recovery code, and returns whether it is accepted. The code is refused if the user has no such code
    /// left, or after too many wrong recovery codes for this purpose.
    pub(crate) async fn use_recovery_code(
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

    /// Counts a wrong code towards this limit. Returns false, and counts nothing, if the limit was already reached or
    /// the user has no second factor.
    pub(crate) async fn count_wrong_code(
        &self,
        user_id: i64,
        limit: CodeLimit,
    ) -> Result<bool, StoreError> {
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

    /// Returns the ids of the keys that encrypt the secrets of all second factors that are on.
    pub(crate) async fn second_factor_key_ids(&self) -> Result<Vec<String>, StoreError> {
        let select = self.database.statement(SECOND_FACTOR_KEY_IDS);
        self.database.read(select).await
    }
}
