//! Users in an SQL database.

use super::{
    audit::pending_rows::record_written,
    encoding::encode_seconds,
    revocation::{GROW, LOWER, REVOKE, revoking},
    sql_store::SqlStore,
    user_rows::{only, returning},
};
use crate::{
    audit::Write,
    store::{
        NewUser, StoreError, UserFilter, UserStore, UserUpdate, WriteError, Writer,
        admin_check::{AdminCount, require_admin},
        list_query::list,
        tables::{COLUMNS, ROLES_IN_USE},
    },
    user::{Credentials, ListedUser, User},
};
use async_trait::async_trait;
use rolegate_proto::Role;
use rolegate_sql_store::{FollowUp, STATEMENT_TIMEOUT, Timed};
use secrecy::{ExposeSecret, SecretString};
use tokio::time::timeout;

/// Before a stored hash: while the second factor is on, a mark by which processes that do not know it refuse the password.
const MARK: &str = "CASE WHEN second_factor THEN 'otp:' ELSE '' END || ";
const SET_PASSWORD: &str =
    r#"UPDATE "user" SET password = CASE WHEN second_factor THEN 'otp:' ELSE '' END || "#;
const SET_ROLE: &str = r#"UPDATE "user" SET role = $2 WHERE id = $1"#;

#[async_trait]
impl UserStore for SqlStore {
    async fn insert(
        &self,
        actor: Option<i64>,
        user: NewUser,
        write: Write,
    ) -> Result<User, WriteError> {
        let link = self.link_of_new(user.link, &user.username);
        let record = self.record_users(write, link.into_iter().collect());
        let sql =
            r#"INSERT INTO "user" (username, password, role, created_at) VALUES ($1, $2, $3, "#;
        let insert = self.database.statement(sql).push_now();
        let insert = returning(insert.push(") ON CONFLICT (username) DO NOTHING"));
        let insert = insert
            .bind(user.username)
            .bind(user.password_hash.expose_secret());
        let insert = insert.bind(user.role.as_str());
        let Some(actor) = actor else {
            let inserted = self.database.write_with(insert, record).await?.pop();
            return inserted.ok_or(WriteError::UsernameTaken);
        };
        let lock = self.select().push(" WHERE id = $1").bind(actor);
        let check =
            move |locked: &[User]| require_admin(locked, Some(actor), actor, AdminCount::Kept);
        let inserted = self
            .database
            .write_if(lock, check, insert, record)
            .await?
            .pop();
        inserted.ok_or(WriteError::UsernameTaken)
    }

    async fn users_by_id(&self, ids: &[i64]) -> Result<Timed<Vec<User>>, StoreError> {
        self.database
            .read_timed(self.select().push(" WHERE id").push_any(ids))
            .await
    }

    async fn credentials_by_username(
        &self,
        usernames: &[String],
    ) -> Result<Timed<Vec<Credentials>>, StoreError> {
        let select = self.database.statement("SELECT ").push(COLUMNS);
        let select = select
            .push(r#", password FROM "user" WHERE username"#)
            .push_any(usernames);
        self.database.read_timed(select).await
    }

    async fn highest_password_cost(&self) -> Result<Option<u32>, StoreError> {
        // The cost has two digits, as in `$2b$12$`.
        // A hash of bcrypt ends the text and has 60 characters; the name of a pepper may precede it.
        let sql = r#"SELECT coalesce(max(substr(password, length(password) - 55, 2)), '') FROM "user"
            WHERE length(password) >= 60
                AND substr(password, length(password) - 59) LIKE '$2_$__$%'"#;
        let highest = self
            .database
            .read::<(String,)>(self.database.statement(sql))
            .await?
            .pop();
        Ok(highest.and_then(|(cost,)| cost.parse().ok()))
    }

    async fn roles_in_use(&self) -> Result<Vec<(String, i64, i64)>, StoreError> {
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
        let start = self.database.statement("");
        let admin_count = if role == Role::ADMIN {
            AdminCount::Kept
        } else {
            AdminCount::Lowered
        };
        if self.database.is_postgres() {
            // In one statement: a round trip more while the admins are locked costs a quarter of the changes.
            let update = start
                .push("WITH written AS (")
                .push(SET_ROLE)
                .bind(id)
                .bind(role.as_str());
            let update = record_written(returning(update), &write.entry_for_role(id, role));
            let nothing = FollowUp::none();
            return only(
                self.write_as_admin(actor, id, admin_count, update, nothing)
                    .await?,
            );
        }
        let update = returning(start.push(SET_ROLE)).bind(id).bind(role.as_str());
        let record = self.record_users(write, Vec::new());
        only(
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
        let seen = rename
            .as_ref()
            .map(|rename| encode_seconds(rename.tokens_not_before));
        let (from, to) = rename.map(|rename| (rename.from, rename.to)).unzip();
        let mut change = self
            .database
            .statement(
                r#"UPDATE "user" SET disabled = coalesce($2, disabled), username = coalesce($4, username)"#,
            )
            .bind(id)
            .bind(disabled)
            .bind(from.clone())
            .bind(to.clone())
            .bind(seen);
        if disables || seen.is_some() {
            change = revoking(change.push(", ").push(REVOKE));
        }
        let change = change.push(
            " WHERE id = $1 AND ($3 IS NULL OR username = $3) AND ($5 IS NULL OR tokens_not_before = $5)",
        );
        let mut then = Vec::new();
        if disables {
            then = self.end_sessions(id, None);
            then.push(self.end_link(id));
        }
        if let Some(seen) = seen {
            then.push(self.continue_sessions(id, seen));
            then.push(self.rename_key_creator(id, from, to));
        }
        let then = self.record_users(write, then);
        let updated = self
            .write_as_admin(
                actor,
                id,
                if disables {
                    AdminCount::Lowered
                } else {
                    AdminCount::Kept
                },
                returning(change),
                then,
            )
            .await;
        only(updated.map_err(|error| match error {
            WriteError::Store(error) if error.is_unique_violation() => WriteError::UsernameTaken,
            error => error,
        })?)
    }

    async fn revoke_tokens(
        &self,
        id: i64,
        writer: Writer,
        write: Write,
    ) -> Result<User, WriteError> {
        let change = match writer {
            Writer::Admin(_) => REVOKE,
            // Their token was issued at the stored value or later.
            Writer::Owner { .. }
            | Writer::Login { .. }
            | Writer::PendingSignIn { .. }
            | Writer::Link(_) => GROW,
            Writer::Operator => LOWER,
        };
        let update = self.database.statement(r#"UPDATE "user" SET "#).bind(id);
        let update = revoking(
            update
                .bind(writer.expected_tokens_not_before().map(encode_seconds))
                .push(change),
        );
        let update = update.push(" WHERE id = $1 AND ($2 IS NULL OR tokens_not_before = $2)");
        let (update, then) = (
            returning(update),
            self.end_sessions(id, writer.session_id()),
        );
        let then = self.record_users(write, then);
        only(match writer.admin_id() {
            Some(_) => {
                self.write_as_admin(writer.admin_id(), id, AdminCount::Kept, update, then)
                    .await?
            }
            None => self.database.write_with(update, then).await?,
        })
    }

    async fn delete(&self, actor: Option<i64>, id: i64, write: Write) -> Result<User, WriteError> {
        let delete = self
            .database
            .statement(r#"DELETE FROM "user" WHERE id = $1"#);
        let (delete, record) = (
            returning(delete).bind(id),
            self.record_users(write, Vec::new()),
        );
        only(
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
        let condition = r#" WHERE id = $1 AND ($3 IS NULL OR tokens_not_before = $3) AND (
                $4 IS NULL OR EXISTS (
                    SELECT 1 FROM "user" WHERE id = $4 AND role = 'admin' AND NOT disabled
                )
            ) AND ($5 IS NULL OR EXISTS (SELECT 1 FROM api_key WHERE api_key.id = $5))
            AND ($6 IS NULL OR NOT disabled AND EXISTS (
                SELECT 1 FROM password_link WHERE user_id = "user".id AND digest = $6 AND expires_at > "#;
        // It always grows, because it is the version of the password too.
        let update = self
            .database
            .statement(SET_PASSWORD)
            .push("$2, ")
            .push(GROW);
        let update = update.bind(id).bind(hash.expose_secret());
        let update = update
            .bind(writer.expected_tokens_not_before().map(encode_seconds))
            .bind(writer.admin_id());
        let update = update.bind(writer.session_id()).bind(writer.link_digest());
        let update = returning(revoking(update).push(condition).push_now().push("))"));
        let mut then = self.end_sessions(id, writer.session_id());
        then.push(self.end_link(id));
        let then = self.record_users(write, then);
        // Of two uses of a link at once, the second finds it used.
        only(match writer.link_digest() {
            Some(_) => self.write_locked(id, update, then).await?,
            None => self.database.write_with(update, then).await?,
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
            .push("$3 WHERE id = $1 AND password = ");
        let update = update.push(MARK).push("$2 RETURNING id").bind(id);
        let update = update.bind(old.expose_secret()).bind(new.expose_secret());
        Ok(!self.database.write::<(i64,)>(update).await?.is_empty())
    }

    async fn list(&self, filter: &UserFilter) -> Result<Vec<ListedUser>, StoreError> {
        let listed = timeout(STATEMENT_TIMEOUT, list(&self.database, filter.clone())).await;
        listed.unwrap_or(Err(StoreError::TimedOut))
    }
}
