//! Writes about users, which first lock rows so that their conditions see what other transactions have committed.

use super::{UserStore, user_rows::SELECT_USERS};
use crate::{
    store::{
        WriteError,
        locked_rows::{AdminCount, require_admin},
    },
    user::User,
};
use rolegate_sql_store::{FollowUp, Statement, TableRow};

const BY_ID: &str = " WHERE id = $1";

/// Selects the rows of the user, of the actor and of every active admin, to lock them. All writes lock these rows in
/// the same order, so admins who act on each other cannot deadlock. If two admins give up the role at the same time,
/// the second write sees that the first admin is gone.
const WITH_ADMINS: &str = " WHERE id IN ($1, $2) OR (role = 'admin' AND NOT disabled) ORDER BY id";

/// The rows that a transaction locks before a write, so that conditions see what other transactions have committed.
pub(super) enum Guard {
    /// The write itself has all conditions.
    Nothing,
    /// The row of the user with this id is locked.
    User(i64),
    /// The row of the admin who creates a user is locked and checked.
    Creator(i64),
    /// The rows of the user with this id, of the admin and of all active admins are locked and checked.
    Admins(i64, AdminCount),
}

impl UserStore {
    /// Locks the rows of the guard, and runs `write` if [`require_admin`] allows it. `actor` is the admin who makes the
    /// change; `None` if the user or an operator makes it. Returns the rows that `write` returns.
    pub(super) async fn write_guarded<R: TableRow>(
        &self,
        guard: Guard,
        actor: Option<i64>,
        write: Statement,
        follow_up: FollowUp<R>,
    ) -> Result<Vec<R>, WriteError> {
        let lock = self.database.statement(SELECT_USERS);
        match guard {
            Guard::Nothing => Ok(self.database.write_with(write, follow_up).await?),
            Guard::User(user_id) => {
                let lock = lock.push(BY_ID).bind(user_id);
                Ok(self.database.write_locked(lock, write, follow_up).await?)
            }
            Guard::Creator(admin_id) => {
                let lock = lock.push(BY_ID).bind(admin_id);
                let check =
                    move |locked: &[User]| require_admin(locked, actor, admin_id, AdminCount::Kept);
                self.database.write_if(lock, check, write, follow_up).await
            }
            Guard::Admins(user_id, admin_count) => {
                let lock = lock
                    .push(WITH_ADMINS)
                    .bind(actor.unwrap_or(user_id))
                    .bind(user_id);
                let check =
                    move |locked: &[User]| require_admin(locked, actor, user_id, admin_count);
                self.database.write_if(lock, check, write, follow_up).await
            }
        }
    }
}
