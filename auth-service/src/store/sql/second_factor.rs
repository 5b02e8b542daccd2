//! Implements `SecondFactorStore`: second factors, password links and pending sign-ins in an SQL database. `rows`
//! decodes them, and `code_limits` limits wrong codes.

mod code_limits;
mod rows;

use super::{
    additions::{push_has_room, recent_additions},
    encoding::encode_seconds,
    pending_sign_ins::{END_PENDING, INSERT_PENDING, push_from_pending_sign_in},
    revocation::{GROW, push_revocation_times},
    sql_store::SqlStore,
    user_rows::{RETURNING_USER, USER_COLUMNS, changed_user},
};
use crate::{
    audit::Write,
    store::{
        NewPasswordLink, StoreError, UserStore as _, WriteError,
        admin_check::AdminCount,
        second_factor::{
            CodeLimit, CodePurpose, MAX_PENDING_SIGN_INS, OneTimeCodeUse, PASSWORD_LINK_SECONDS,
            PENDING_SIGN_IN_SECONDS, SecondFactorStore, StoredPasswordLink, StoredSecondFactor,
        },
        tables::SECOND_FACTOR_KEY_IDS,
    },
    user::User,
};
use async_trait::async_trait;
use code_limits::{LimitColumns, push_is_accepting};
use rolegate_sql_store::{FollowUp, Statement, Timed};
use rows::SELECT_SECOND_FACTOR;
use serde::Serialize;

/// Locks the row of a user without changing a value, so that other statements can follow in the transaction. More
/// conditions and a `RETURNING` are appended.
const TOUCH: &str = r#"UPDATE "user" SET disabled = disabled WHERE id = $1"#;

/// The condition that the user is unchanged since the read: the second factor was not turned on, and the tokens were
/// not revoked.
const UNCHANGED: &str = " AND NOT second_factor AND tokens_not_before = $2";

const BEGIN: &str = "INSERT INTO second_factor (user_id, secret) VALUES ($1, $2)
            ON CONFLICT (user_id) DO UPDATE SET secret = excluded.secret, last_step = 0";

const TURN_OFF: &str = r#"UPDATE "user" SET second_factor = FALSE,
            password = CASE WHEN password LIKE 'otp:%' THEN substr(password, 5) ELSE password END
            WHERE id = $1 AND second_factor"#;

const DELETE_SECOND_FACTOR: &str = "DELETE FROM second_factor WHERE user_id = $1";
const DELETE_RECOVERY_CODES: &str = "DELETE FROM recovery_code WHERE user_id = $1";

/// A recovery code, as a row to insert.
#[derive(Serialize)]
struct NewRecoveryCode {
    digest: String,
}

/// Continues a statement with a `FROM` that provides the time of the database as `now`, and with `WHERE`.
fn push_from_clock(statement: Statement) -> Statement {
    statement
        .push(" FROM (SELECT ")
        .push_now()
        .push(" AS now) AS clock WHERE ")
}

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
            .statement(INSERT_PENDING)
            .bind(user.id)
            .bind(&*digest)
            .bind(encode_seconds(user.tokens_not_before))
            .bind(encode_seconds(at + PENDING_SIGN_IN_SECONDS));
        let end = self
            .database
            .statement(END_PENDING)
            .bind(user.id)
            .bind(digest)
            .bind(encode_seconds(*at))
            .bind(MAX_PENDING_SIGN_INS - 1);
        let follow_up = FollowUp::new(move |_: &[i64]| Ok(vec![end.clone()]));
        let inserted = self.write_locked(user.id, insert, follow_up).await?;
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

    async fn insert_password_link(
        &self,
        actor: Option<i64>,
        user_id: i64,
        digest: String,
        write: Write,
    ) -> Result<u64, WriteError> {
        let now = self.users_by_id(&[user_id]).await?.at;
        let expires_at = now.saturating_add(PASSWORD_LINK_SECONDS);
        let link = NewPasswordLink { digest, expires_at };
        let touch = self
            .database
            .statement(TOUCH)
            .push(RETURNING_USER)
            .bind(user_id);
        let follow_up = self.record_users(write, vec![self.replace_link(user_id, link)]);
        changed_user(
            self.write_as_admin(actor, user_id, AdminCount::Kept, touch, follow_up)
                .await?,
        )?;
        Ok(expires_at)
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

    async fn begin_second_factor(
        &self,
        user: &User,
        secret: String,
        recovery_codes: Vec<String>,
        write: Write,
    ) -> Result<User, WriteError> {
        let codes: Vec<NewRecoveryCode> = recovery_codes
            .into_iter()
            .map(|digest| NewRecoveryCode { digest })
            .collect();
        let insert_secret = self.database.statement(BEGIN).bind(user.id).bind(secret);
        let delete_codes = self.database.statement(DELETE_RECOVERY_CODES).bind(user.id);
        let insert_codes = self
            .database
            .statement("INSERT INTO recovery_code (user_id, digest) SELECT $1, digest")
            .bind(user.id)
            .push_rows(&[("digest", "text")], &codes);
        let then = vec![
            insert_secret,
            delete_codes,
            insert_codes,
            self.count_addition(user.id),
        ];
        let touch = self
            .database
            .statement(TOUCH)
            .push(UNCHANGED)
            .bind(user.id)
            .bind(encode_seconds(user.tokens_not_before))
            .push(" AND ");
        let touch = push_has_room(touch, user.id, 1).push(RETURNING_USER);
        let follow_up = self.record_users(write, then);
        if let Some(user) = self.write_locked(user.id, touch, follow_up).await?.pop() {
            return Ok(user);
        }
        recent_additions(&self.database, user.id).await?.check(1)?;
        Err(WriteError::UserNotFound)
    }

    async fn turn_on_second_factor(
        &self,
        user: &User,
        session: Option<i64>,
        secret: String,
        step: i64,
        write: Write,
    ) -> Result<User, WriteError> {
        let set = self
            .database
            .statement(r#"UPDATE "user" SET second_factor = TRUE, password = 'otp:' || password, "#)
            .push(GROW)
            .bind(user.id)
            .bind(encode_seconds(user.tokens_not_before))
            .bind(session);
        // The condition on the secret refuses the update if another enrollment has replaced the secret since the code
        // was checked.
        let update = push_revocation_times(set)
            .push(" WHERE id = $1")
            .push(UNCHANGED)
            .push(
                " AND ($3 IS NULL OR EXISTS (SELECT 1 FROM api_key WHERE api_key.id = $3))
            AND EXISTS (SELECT 1 FROM second_factor AS f WHERE user_id = $1 AND secret = ",
            )
            .push_bind(secret)
            .push(")")
            .push(RETURNING_USER);
        let use_step = self
            .database
            .statement("UPDATE second_factor SET last_step = $2 WHERE user_id = $1")
            .bind(user.id)
            .bind(step);
        let mut then = vec![use_step, self.count_addition(user.id)];
        then.extend(self.end_sessions(user.id, session));
        let follow_up = self.record_users(write, then);
        changed_user(self.write_locked(user.id, update, follow_up).await?)
    }

    async fn turn_off_second_factor(
        &self,
        actor: Option<i64>,
        user_id: i64,
        write: Write,
    ) -> Result<User, WriteError> {
        let update = self
            .database
            .statement(TURN_OFF)
            .push(RETURNING_USER)
            .bind(user_id);
        let delete = |sql| self.database.statement(sql).bind(user_id);
        let then = vec![delete(DELETE_SECOND_FACTOR), delete(DELETE_RECOVERY_CODES)];
        let follow_up = self.record_users(write, then);
        self.write_as_admin(actor, user_id, AdminCount::Kept, update, follow_up)
            .await?
            .pop()
            .ok_or(WriteError::SecondFactorOff)
    }

    async fn use_one_time_code(
        &self,
        user_id: i64,
        purpose: CodePurpose,
        code: OneTimeCodeUse,
    ) -> Result<bool, StoreError> {
        let set = self
            .database
            .statement("UPDATE second_factor SET last_step = $2, secret = $4")
            .bind(user_id)
            .bind(code.step)
            .bind(code.secret)
            .bind(code.new_secret);
        let unused =
            push_from_clock(set).push("user_id = $1 AND secret = $3 AND last_step < $2 AND ");
        let update = push_is_accepting(unused, CodeLimit::OneTime(purpose));
        let update = update.push(" RETURNING user_id");
        Ok(self.database.execute(update).await? > 0)
    }

    async fn use_recovery_code(
        &self,
        user: &User,
        purpose: CodePurpose,
        digest: String,
        write: Write,
    ) -> Result<bool, StoreError> {
        let found = self
            .database
            .statement(
                "DELETE FROM recovery_code WHERE user_id = $1 AND digest = $2 AND EXISTS (
            SELECT 1",
            )
            .push(" FROM second_factor, (SELECT ")
            .push_now()
            .push(" AS now) AS clock WHERE second_factor.user_id = $1 AND ")
            .bind(user.id)
            .bind(digest);
        let delete =
            push_is_accepting(found, CodeLimit::Recovery(purpose)).push(") RETURNING user_id");
        let then = vec![self.count_addition(user.id)];
        let user = user.clone();
        let record = self.record(move |_: &i64| vec![write.entry_for_user(&user)], then);
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
            .push(" END");
        let update = push_is_accepting(push_from_clock(set).push("user_id = $1 AND "), limit);
        let update = update.push(" RETURNING user_id");
        Ok(self.database.execute(update).await? > 0)
    }

    async fn second_factor_key_ids(&self) -> Result<Vec<String>, StoreError> {
        let select = self.database.statement(SECOND_FACTOR_KEY_IDS);
        self.database.read(select).await
    }
}
