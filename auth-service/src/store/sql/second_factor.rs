//! Password links and second factors in an SQL database.

use super::{
    additions::{has_room, recent_additions},
    encoding::encode_seconds,
    revocation::{GROW, revoking},
    sql_store::SqlStore,
    user_rows::{only, returning},
};
use crate::{
    audit::Write,
    store::{
        NewPasswordLink, StoreError, UserStore as _, WriteError,
        admin_check::AdminCount,
        second_factor::{
            CodeLimit, CodePurpose, MAX_PENDING_SIGN_INS, OneTimeCodeUse, PASSWORD_LINK_SECONDS,
            PENDING_SIGN_IN_SECONDS, SecondFactorStore, StoredPasswordLink, StoredSecondFactor,
            WRONG_CODES_WINDOW,
        },
        tables::{COLUMNS, SECOND_FACTOR_KEY_IDS},
    },
    user::User,
};
use async_trait::async_trait;
use rolegate_sql_store::{FollowUp, Statement, Timed};
use serde::Serialize;

/// A change of no user, which locks the row and returns it, for what is written then.
const TOUCH: &str = r#"UPDATE "user" SET disabled = disabled WHERE id = $1"#;

/// The condition that nobody turned it on or ended the tokens meanwhile.
const UNCHANGED: &str = " AND NOT second_factor AND tokens_not_before = $2";

/// Begins a sign-in of the user `$1`, until `$4`.
const INSERT_PENDING: &str = r#"INSERT INTO pending_sign_in (digest, user_id, not_before, expires_at)
    SELECT $2, id, tokens_not_before, $4 FROM "user"
    WHERE id = $1 AND tokens_not_before = $3 AND second_factor AND NOT disabled RETURNING user_id"#;
/// Ends the sign-ins of the user for which there is no room beside the one with the digest `$2`.
const END_PENDING: &str = "DELETE FROM pending_sign_in WHERE user_id = $1 AND digest <> $2
    AND (expires_at <= $3 OR digest NOT IN (SELECT digest FROM pending_sign_in
        WHERE user_id = $1 AND digest <> $2 ORDER BY expires_at DESC LIMIT $4))";

#[derive(Serialize)]
struct Digest {
    digest: String,
}

/// The columns of a limit of wrong codes.
struct LimitColumns {
    count: &'static str,
    since: &'static str,
}

impl LimitColumns {
    fn new(limit: CodeLimit) -> Self {
        match limit {
            CodeLimit::OneTime(CodePurpose::SignIn) => Self {
                count: "wrong_codes",
                since: "wrong_since",
            },
            CodeLimit::Recovery(CodePurpose::SignIn) => Self {
                count: "wrong_recovery_codes",
                since: "wrong_recovery_since",
            },
            CodeLimit::OneTime(CodePurpose::Confirmation) => Self {
                count: "wrong_confirmations",
                since: "wrong_confirmations_since",
            },
            CodeLimit::Recovery(CodePurpose::Confirmation) => Self {
                count: "wrong_recovery_confirmations",
                since: "wrong_recovery_confirmations_since",
            },
        }
    }

    /// Continues a statement by the condition that the window of the wrong codes is over, by `clock`. A window too far in
    /// the future is of a clock that was ahead.
    fn push_is_over(&self, statement: Statement) -> Statement {
        statement
            .push("abs(now - ")
            .push(self.since)
            .push(") >= ")
            .push_bind(WRONG_CODES_WINDOW)
    }
}

/// Continues a statement by the condition that codes of this limit are accepted.
fn accepting(statement: Statement, limit: CodeLimit) -> Statement {
    let columns = LimitColumns::new(limit);
    let statement = statement
        .push("(")
        .push(columns.count)
        .push(" < ")
        .push_bind(limit.max())
        .push(" OR ");
    columns.push_is_over(statement).push(")")
}

/// The time of the database, as `now`.
fn from_clock(statement: Statement) -> Statement {
    statement
        .push(" FROM (SELECT ")
        .push_now()
        .push(" AS now) AS clock WHERE ")
}

impl SqlStore {
    /// The link of the user of this name, who is inserted in the same transaction.
    pub(super) fn link_of_new(
        &self,
        link: Option<NewPasswordLink>,
        username: &str,
    ) -> Option<Statement> {
        let NewPasswordLink { digest, expires_at } = link?;
        let sql = r#"INSERT INTO password_link (user_id, digest, expires_at)
            SELECT id, $2, $3 FROM "user" WHERE username = $1"#;
        let insert = self.database.statement(sql).bind(username).bind(digest);
        Some(insert.bind(encode_seconds(expires_at)))
    }

    pub(super) fn end_link(&self, user_id: i64) -> Statement {
        self.database
            .statement("DELETE FROM password_link WHERE user_id = $1")
            .bind(user_id)
    }
}

/// Continues a `SELECT` by the user of the pending sign-in with this digest, if that is good.
pub(super) fn from_pending(select: Statement, digest: &str) -> Statement {
    select
        .push(
            r#" FROM "user" JOIN pending_sign_in ON user_id = id AND not_before = tokens_not_before
            WHERE second_factor AND NOT disabled AND expires_at > "#,
        )
        .push_now()
        .push(" AND digest = ")
        .push_bind(digest)
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
        let then = FollowUp::new(move |_: &[(i64,)]| Ok(vec![end.clone()]));
        let inserted = self.write_locked(user.id, insert, then).await?;
        inserted.first().map(drop).ok_or(WriteError::UserNotFound)
    }

    async fn pending_sign_in(&self, digest: &str) -> Result<Timed<Option<User>>, StoreError> {
        let select = self.database.statement("SELECT ").push(COLUMNS);
        let select = from_pending(select, digest);
        let Timed { at, mut value } = self.database.read_timed::<User>(select).await?;
        let user = value.pop();
        Ok(Timed { at, value: user })
    }

    async fn insert_password_link(
        &self,
        actor: Option<i64>,
        user_id: i64,
        digest: String,
        write: Write,
    ) -> Result<u64, WriteError> {
        let Timed { at, .. } = self.users_by_id(&[user_id]).await?;
        let expires_at = at.saturating_add(PASSWORD_LINK_SECONDS);
        let insert = "INSERT INTO password_link (user_id, digest, expires_at) VALUES ($1, $2, $3)
            ON CONFLICT (user_id) DO UPDATE
            SET digest = excluded.digest, expires_at = excluded.expires_at";
        let insert = self.database.statement(insert).bind(user_id).bind(digest);
        let then = vec![insert.bind(encode_seconds(expires_at))];
        let (touch, then) = (
            self.database.statement(TOUCH),
            self.record_users(write, then),
        );
        let touch = returning(touch.bind(user_id));
        only(
            self.write_as_admin(actor, user_id, AdminCount::Kept, touch, then)
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
            .push(COLUMNS)
            .push(r#", expires_at FROM "user" JOIN password_link ON user_id = id WHERE digest = "#)
            .push_bind(digest);
        let Timed { at, mut value } = self
            .database
            .read_timed::<StoredPasswordLink>(select)
            .await?;
        let link = value.pop();
        Ok(Timed { at, value: link })
    }

    async fn second_factor(
        &self,
        user_id: i64,
    ) -> Result<Timed<Option<StoredSecondFactor>>, StoreError> {
        let select = "SELECT secret, last_step, wrong_codes, wrong_since,
            wrong_recovery_codes, wrong_recovery_since,
            wrong_confirmations, wrong_confirmations_since,
            wrong_recovery_confirmations, wrong_recovery_confirmations_since,
            (SELECT count(*) FROM recovery_code WHERE user_id = $1)
            FROM second_factor WHERE user_id = $1";
        let select = self.database.statement(select).bind(user_id);
        let Timed { at, mut value } = self
            .database
            .read_timed::<StoredSecondFactor>(select)
            .await?;
        let factor = value.pop();
        Ok(Timed { at, value: factor })
    }

    async fn begin_second_factor(
        &self,
        user: &User,
        secret: String,
        recovery_codes: Vec<String>,
        write: Write,
    ) -> Result<User, WriteError> {
        let insert = "INSERT INTO second_factor (user_id, secret) VALUES ($1, $2)
            ON CONFLICT (user_id) DO UPDATE SET secret = excluded.secret, last_step = 0";
        let insert = self.database.statement(insert).bind(user.id).bind(secret);
        let forget = self
            .database
            .statement("DELETE FROM recovery_code WHERE user_id = $1")
            .bind(user.id);
        let codes = "INSERT INTO recovery_code (user_id, digest) SELECT $1, digest";
        let codes = self.database.statement(codes).bind(user.id);
        let rows: Vec<_> = recovery_codes
            .into_iter()
            .map(|digest| Digest { digest })
            .collect();
        let then = vec![
            insert,
            forget,
            codes.push_rows(&[("digest", "text")], &rows),
            self.count_addition(user.id),
        ];
        let touch = self
            .database
            .statement(TOUCH)
            .push(UNCHANGED)
            .bind(user.id)
            .bind(encode_seconds(user.tokens_not_before))
            .push(" AND ");
        let touch = returning(has_room(touch, user.id, 1));
        let then = self.record_users(write, then);
        if let Some(user) = self.write_locked(user.id, touch, then).await?.pop() {
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
        let set = r#"UPDATE "user" SET second_factor = TRUE, password = 'otp:' || password, "#;
        let update = self.database.statement(set).push(GROW).bind(user.id);
        let update = update
            .bind(encode_seconds(user.tokens_not_before))
            .bind(session);
        let update = revoking(update).push(" WHERE id = $1").push(UNCHANGED);
        let update = update.push(
            " AND ($3 IS NULL OR EXISTS (SELECT 1 FROM api_key WHERE api_key.id = $3))
            AND EXISTS (SELECT 1 FROM second_factor AS f WHERE user_id = $1 AND secret = ",
        );
        let update = returning(update.push_bind(secret).push(")"));
        let mark = "UPDATE second_factor SET last_step = $2 WHERE user_id = $1";
        let mark = self.database.statement(mark).bind(user.id).bind(step);
        let mut then = vec![mark, self.count_addition(user.id)];
        then.extend(self.end_sessions(user.id, session));
        // A secret that is replaced meanwhile is another.
        only(
            self.write_locked(user.id, update, self.record_users(write, then))
                .await?,
        )
    }

    async fn turn_off_second_factor(
        &self,
        actor: Option<i64>,
        user_id: i64,
        write: Write,
    ) -> Result<User, WriteError> {
        let update = r#"UPDATE "user" SET second_factor = FALSE,
            password = CASE WHEN password LIKE 'otp:%' THEN substr(password, 5) ELSE password END
            WHERE id = $1 AND second_factor"#;
        let update = returning(self.database.statement(update).bind(user_id));
        let forget = [
            "DELETE FROM second_factor WHERE user_id = $1",
            "DELETE FROM recovery_code WHERE user_id = $1",
        ];
        let forget = forget
            .map(|delete| self.database.statement(delete).bind(user_id))
            .into();
        let then = self.record_users(write, forget);
        let off = self
            .write_as_admin(actor, user_id, AdminCount::Kept, update, then)
            .await?
            .pop();
        off.ok_or(WriteError::SecondFactorOff)
    }

    async fn use_one_time_code(
        &self,
        user_id: i64,
        purpose: CodePurpose,
        code: OneTimeCodeUse,
    ) -> Result<bool, StoreError> {
        let update = "UPDATE second_factor SET last_step = $2, secret = $4";
        let update = self
            .database
            .statement(update)
            .bind(user_id)
            .bind(code.step)
            .bind(code.secret)
            .bind(code.new_secret);
        let update =
            from_clock(update).push("user_id = $1 AND secret = $3 AND last_step < $2 AND ");
        let update = accepting(update, CodeLimit::OneTime(purpose)).push(" RETURNING user_id");
        let used = self.database.write::<(i64,)>(update).await?;
        Ok(!used.is_empty())
    }

    async fn use_recovery_code(
        &self,
        user: &User,
        purpose: CodePurpose,
        digest: String,
        write: Write,
    ) -> Result<bool, StoreError> {
        let delete = "DELETE FROM recovery_code WHERE user_id = $1 AND digest = $2 AND EXISTS (
            SELECT 1";
        let delete = self.database.statement(delete).bind(user.id).bind(digest);
        let delete = delete.push(" FROM second_factor, (SELECT ").push_now();
        let delete = delete.push(" AS now) AS clock WHERE second_factor.user_id = $1 AND ");
        let delete = accepting(delete, CodeLimit::Recovery(purpose)).push(") RETURNING user_id");
        let then = vec![self.count_addition(user.id)];
        let user = user.clone();
        let record = self.record(move |_: &(i64,)| vec![write.entry_for_user(&user)], then);
        Ok(!self.database.write_with(delete, record).await?.is_empty())
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
        let update = from_clock(set).push("user_id = $1 AND ");
        let update = accepting(update, limit).push(" RETURNING user_id");
        Ok(!self.database.write::<(i64,)>(update).await?.is_empty())
    }

    async fn second_factor_key_ids(&self) -> Result<Vec<String>, StoreError> {
        let select = self.database.statement(SECOND_FACTOR_KEY_IDS);
        let ids = self.database.read::<(String,)>(select).await?;
        Ok(ids.into_iter().map(|(id,)| id).collect())
    }
}
