//! Writes of users whose conditions hold for what others have committed, because rows are locked first.

use super::sql_store::SqlStore;
use crate::{
    store::{
        WriteError,
        admin_check::{AdminCount, require_admin},
    },
    user::User,
};
use rolegate_sql_store::{FollowUp, Statement, TableRow};

impl SqlStore {
    /// Locks the rows of both and of every admin, always in the same order, so that admins who act on
    /// each other cannot deadlock, and admins who leave at the same time see each other leave.
    fn lock(&self, actor: Option<i64>, id: i64) -> Statement {
        let lock = self.select().push(" WHERE id IN ($1, $2)");
        let lock = lock.push(" OR (role = 'admin' AND NOT disabled) ORDER BY id");
        lock.bind(actor.unwrap_or(id)).bind(id)
    }

    /// The rows of a write after the row of this user, so that its conditions see what others have committed.
    pub(super) async fn write_locked<R: TableRow>(
        &self,
        id: i64,
        write: Statement,
        then: FollowUp<R>,
    ) -> Result<Vec<R>, WriteError> {
        let lock = self.select().push(" WHERE id = $1").bind(id);
        self.database
            .write_if(lock, |_: &[User]| Ok::<_, WriteError>(()), write, then)
            .await
    }

    /// The rows of a write of the user `id`, if `actor` may write, and then what is recorded of it.
    pub(super) async fn write_as_admin<R: TableRow>(
        &self,
        actor: Option<i64>,
        id: i64,
        admin_count: AdminCount,
        write: Statement,
        then: FollowUp<R>,
    ) -> Result<Vec<R>, WriteError> {
        let check = move |locked: &[User]| require_admin(locked, actor, id, admin_count);
        self.database
            .write_if(self.lock(actor, id), check, write, then)
            .await
    }
}
