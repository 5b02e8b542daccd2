//! Writes about users, which first lock rows so that their conditions see what other transactions have committed.

use super::{sql_store::SqlStore, user_rows::SELECT_USERS};
use crate::{
    store::{
        WriteError,
        locked_rows::{AdminCount, require_admin},
    },
    user::User,
};
use rolegate_sql_store::{FollowUp, Statement, TableRow};

/// Selects the rows of the user, of the actor and of every active admin, to lock them. All writes lock these rows in
/// the same order, so admins who act on each other cannot deadlock. If two admins give up the role at the same time,
/// the second write sees that the first admin is gone.
const WITH_ADMINS: &str = " WHERE id IN ($1, $2) OR (role = 'admin' AND NOT disabled) ORDER BY id";

impl SqlStore {
    /// Locks the row of this user and then runs `write`, so that its conditions see what other transactions have
    /// committed. Returns the rows that `write` returns.
    pub(super) async fn write_locked<R: TableRow>(
        &self,
        user_id: i64,
        write: Statement,
        follow_up: FollowUp<R>,
    ) -> Result<Vec<R>, WriteError> {
        let lock = self
            .database
            .statement(SELECT_USERS)
            .push(" WHERE id = $1")
            .bind(user_id);
        Ok(self.database.write_locked(lock, write, follow_up).await?)
    }

    /// Locks the rows of the user, of the actor and of all active admins, and runs `write` if [`require_admin`] allows
    /// it. Returns the rows that `write` returns.
    pub(super) async fn write_as_admin<R: TableRow>(
        &self,
        actor: Option<i64>,
        user_id: i64,
        admin_count: AdminCount,
        write: Statement,
        follow_up: FollowUp<R>,
    ) -> Result<Vec<R>, WriteError> {
        let lock = self
            .database
            .statement(SELECT_USERS)
            .push(WITH_ADMINS)
            .bind(actor.unwrap_or(user_id))
            .bind(user_id);
        let check = move |locked: &[User]| require_admin(locked, actor, user_id, admin_count);
        self.database.write_if(lock, check, write, follow_up).await
    }
}
