//! Implements `UserStore`: users in an SQL database.

use super::{
    audit::pending_rows::record_written,
    encoding::encode_seconds,
    revocation::{GROW, LOWER, REVOKE, push_revocation_times},
    sql_store::SqlStore,
    user_rows::{RETURNING_USER, SELECT_CREDENTIALS, SELECT_USERS, changed_user},
};
use crate::{
    audit::Write,
    store::{
        NewUser, RoleUsage, StoreError, UserFilter, UserStore, UserUpdate, WriteError, Writer,
        admin_check::{AdminCount, require_admin},
        list_query::list,
        tables::ROLES_IN_USE,
    },
    user::{Credentials, ListedUser, User},
};
use async_trait::async_trait;
use rolegate_proto::Role;
use rolegate_sql_store::{FollowUp, STATEMENT_TIMEOUT, Statement, Timed};
use secrecy::{ExposeSecret, SecretString};
use tokio::time::timeout;

const SET_PASSWORD: &str = r#"UPDATE "user" SET password = "#;
/// Precedes a hash in a statement. While the second factor is on, the prefix `otp:` makes the hash invalid for
/// processes that do not know the second factor, so that they refuse the password.
const HASH_PREFIX: &str = "CASE WHEN second_factor THEN 'otp:' ELSE '' END || ";

const SET_ROLE: &str = r#"UPDATE "user" SET role = $2 WHERE id = $1"#;

#[async_trait]
impl UserStore for SqlStore {
    async fn insert(
        &self,
        actor: Option<i64>,
        user: NewUser,
        write: Write,
    ) -> Result<User, WriteError> {
        let link = user
            .link
            .map(|link| self.insert_link_of_new_user(&user.username, link));
        let record = self.record_users(write, link.into_iter().collect());
        let insert = self
            .database
            .statement(
                r#"INSERT INTO "user" (username, password, role, created_at) VALUES ($1, $2, $3, "#,
            )
            .push_now()
            .push(") ON CONFLICT (username) DO NOTHING")
            .push(RETURNING_USER)
            .bind(user.username)
            .bind(user.password_hash.expose_secret())
            .bind(user.role.as_str());
        let mut inserted = match actor {
            None => self.database.write_with(insert, record).await?,
            Some(actor) => {
                let lock = self
                    .database
                    .statement(SELECT_USERS)
                    .push(" WHERE id = $1")
                    .bind(actor);
                let check = move |locked: &[User]| {
                    require_admin(locked, Some(actor), actor, AdminCount::Kept)
                };
                self.database.write_if(lock, check, insert, record).await?
            }
        };
        inserted.pop().ok_or(WriteError::UsernameTaken)
    }

    async fn users_by_id(&self, ids: &[i64]) -> Result<Timed<Vec<User>>, StoreError> {
        let select = self
            .database
            .statement(SELECT_USERS)
            .push(" WHERE id")
            .push_any(ids);
        self.database.read_timed(select).await
    }

    async fn credentials_by_username(
        &self,
        usernames: &[String],
    ) -> Result<Timed<Vec<Credentials>>, StoreError> {
        let select = self
            .database
            .statement(SELECT_CREDENTIALS)
            .push(" WHERE username")
            .push_any(usernames);
        self.database.read_timed(select).await
    }

    async fn highest_password_cost(&self) -> Result<Option<u32>, StoreError> {
        // A bcrypt hash has 60 characters and is the end of the text, because the name of a pepper may precede it. The
        // cost has two digits, as in `$2b$12$`.
        let sql = r#"SELECT coalesce(max(substr(password, length(password) - 55, 2)), '') FROM "user"
            WHERE length(password) >= 60
                AND substr(password, length(password) - 59) LIKE '$2_$__$%'"#;
        let select = self.database.statement(sql);
        let highest: Option<String> = self.database.read(select).await?.pop();
        Ok(highest.and_then(|cost| cost.parse().ok()))
    }

    async fn roles_in_use(&self) -> Result<Vec<RoleUsage>, StoreError> {
        self.database
            .read(self.database.statement(ROLES_IN_USE))
            .await
    }

    async fn set_role(
        &self,
        actor: Option<i64>,
        id: i64,
        role: Role,
        write: Write,
    ) -> Result<User, WriteError> {
        let admin_count = if role == Role::ADMIN {
            AdminCount::Kept
        } else {
            AdminCount::Lowered
        };
        if self.database.is_postgres() {
            // One statement changes the role and records the change, because another round trip while the admins are
            // locked would cost a quarter of the throughput.
            let update = self
                .database
                .statement("WITH written AS (")
                .push(SET_ROLE)
                .bind(id)
                .bind(role.as_str())
                .push(RETURNING_USER);
            let update = record_written(update, &write.entry_for_role(id, role));
            let nothing = FollowUp::none();
            return changed_user(
                self.write_as_admin(actor, id, admin_count, update, nothing)
                    .await?,
            );
        }
        let update = self
            .database
            .statement(SET_ROLE)
            .push(RETURNING_USER)
            .bind(id)
            .bind(role.as_str());
        let record = self.record_users(write, Vec::new());
        changed_user(
            self.write_as_admin(actor, id, admin_count, update, record)
                .await?,
        )
    }

    async fn update(
        &self,
        actor: Option<i64>,
        id: i64,
        UserUpdate { rename, disabled }: UserUpdate,
        write: Write,
    ) -> Result<User, WriteError> {
        let disables = disabled == Some(true);
        let mut change = self
            .database
            .statement(r#"UPDATE "user" SET disabled = coalesce($2, disabled)"#)
            .bind(id)
            .bind(disabled);
        if let Some(rename) = &rename {
            change = change.push(", username = ").push_bind(&*rename.to);
        }
        if disables || rename.is_some() {
            change = push_revocation_times(change.push(", ").push(REVOKE));
        }
        change = change.push(" WHERE id = $1");
        if let Some(rename) = &rename {
            change = change
                .push(" AND username = ")
                .push_bind(&*rename.from)
                .push(" AND tokens_not_before = ")
                .push_bind(encode_seconds(rename.tokens_not_before));
        }
        let change = change.push(RETURNING_USER);
        let mut then = Vec::new();
        let mut admin_count = AdminCount::Kept;
        if disables {
            admin_count = AdminCount::Lowered;
            then = self.end_sessions(id, None);
            then.push(self.end_link(id));
        }
        if let Some(rename) = &rename {
            then.push(self.continue_sessions(id, rename.tokens_not_before));
            then.push(self.rename_key_creator(id, rename));
        }
        let follow_up = self.record_users(write, then);
        match self
            .write_as_admin(actor, id, admin_count, change, follow_up)
            .await
        {
            Err(WriteError::Store(error)) if error.is_unique_violation() => {
                Err(WriteError::UsernameTaken)
            }
            updated => changed_user(updated?),
        }
    }

    async fn revoke_tokens(
        &self,
        id: i64,
        writer: Writer,
        write: Write,
    ) -> Result<User, WriteError> {
        let change = match writer {
            Writer::Admin(_) => REVOKE,
            // The credential of these writers was issued at the stored value or later, so only a greater value revokes
            // it.
            Writer::Owner { .. }
            | Writer::Login { .. }
            | Writer::PendingSignIn { .. }
            | Writer::Link(_) => GROW,
            Writer::Operator => LOWER,
        };
        let update = self
            .database
            .statement(r#"UPDATE "user" SET "#)
            .push(change)
            .bind(id)
            .bind(writer.expected_tokens_not_before().map(encode_seconds));
        let update = push_revocation_times(update)
            .push(" WHERE id = $1 AND ($2 IS NULL OR tokens_not_before = $2)")
            .push(RETURNING_USER);
        let follow_up = self.record_users(write, self.end_sessions(id, writer.session_id()));
        let admin_id = writer.admin_id();
        changed_user(if admin_id.is_some() {
            self.write_as_admin(admin_id, id, AdminCount::Kept, update, follow_up)
                .await?
        } else {
            self.database.write_with(update, follow_up).await?
        })
    }

    async fn delete(&self, actor: Option<i64>, id: i64, write: Write) -> Result<User, WriteError> {
        let delete = self
            .database
            .statement(r#"DELETE FROM "user" WHERE id = $1"#)
            .push(RETURNING_USER)
            .bind(id);
        let record = self.record_users(write, Vec::new());
        changed_user(
            self.write_as_admin(actor, id, AdminCount::Lowered, delete, record)
                .await?,
        )
    }

    async fn set_password(
        &self,
        id: i64,
        hash: SecretString,
        writer: Writer,
        write: Write,
    ) -> Result<User, WriteError> {
        let update = self
            .database
            .statement(SET_PASSWORD)
            .push(HASH_PREFIX)
            .push("$2, ")
            // `tokens_not_before` always grows, because it also identifies the version of the password.
            .push(GROW)
            .bind(id)
            .bind(hash.expose_secret());
        let update = push_revocation_times(update).push(" WHERE id = $1");
        let update = push_password_condition(update, &writer).push(RETURNING_USER);
        let mut then = self.end_sessions(id, writer.session_id());
        then.push(self.end_link(id));
        let follow_up = self.record_users(write, then);
        // Because of the lock, the second of two simultaneous uses of a link finds that the link is already used.
        changed_user(if writer.link_digest().is_some() {
            self.write_locked(id, update, follow_up).await?
        } else {
            self.database.write_with(update, follow_up).await?
        })
    }

    async fn replace_password(
        &self,
        id: i64,
        old: &SecretString,
        new: SecretString,
    ) -> Result<bool, StoreError> {
        let update = self
            .database
            .statement(SET_PASSWORD)
            .push(HASH_PREFIX)
            .push("$3 WHERE id = $1 AND password = ")
            .push(HASH_PREFIX)
            .push("$2 RETURNING id")
            .bind(id)
            .bind(old.expose_secret())
            .bind(new.expose_secret());
        Ok(self.database.execute(update).await? > 0)
    }

    async fn list(&self, filter: &UserFilter) -> Result<Vec<ListedUser>, StoreError> {
        let listed = timeout(STATEMENT_TIMEOUT, list(&self.database, filter.clone())).await;
        listed.unwrap_or(Err(StoreError::TimedOut))
    }
}

/// Continues the update of a password with the condition of its writer.
fn push_password_condition(mut update: Statement, writer: &Writer) -> Statement {
    if let Some(tokens_not_before) = writer.expected_tokens_not_before() {
        update = update
            .push(" AND tokens_not_before = ")
            .push_bind(encode_seconds(tokens_not_before));
    }
    if let Some(admin_id) = writer.admin_id() {
        update = update
            .push(r#" AND EXISTS (SELECT 1 FROM "user" WHERE role = 'admin' AND NOT disabled AND id = "#)
            .push_bind(admin_id)
            .push(")");
    }
    if let Some(session_id) = writer.session_id() {
        update = update
            .push(" AND EXISTS (SELECT 1 FROM api_key WHERE api_key.id = ")
            .push_bind(session_id)
            .push(")");
    }
    if let Some(digest) = writer.link_digest() {
        update = update
            .push(r#" AND NOT disabled AND EXISTS (SELECT 1 FROM password_link WHERE user_id = "user".id AND digest = "#)
            .push_bind(digest)
            .push(" AND expires_at > ")
            .push_now()
            .push(")");
    }
    update
}
