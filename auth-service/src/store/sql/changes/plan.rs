//! The plan of a change: its statements, and the rows that its transaction locks.

use crate::store::{WriteError, locked_rows::AdminCount, sql::user_rows::RETURNING_USER};
use rolegate_sql_store::Statement;

/// The transaction of a change.
pub(super) struct Plan {
    pub(super) guard: Guard,
    /// The statement that changes the user and returns the row. It returns no row if its conditions do not hold.
    pub(super) update: Statement,
    /// The statements that follow the update.
    pub(super) then: Vec<Statement>,
    /// The error if the update returns no row.
    pub(super) nothing_changed: WriteError,
}

/// The rows that a transaction locks before the update, so that conditions see what other transactions have committed.
pub(super) enum Guard {
    /// The update itself has all conditions.
    Nothing,
    /// The row of the user with this id is locked.
    User(i64),
    /// The row of the admin who creates a user is locked and checked.
    Creator(i64),
    /// The rows of the user with this id, of the admin and of all active admins are locked and checked.
    Admins(i64, AdminCount),
}

impl Plan {
    pub(super) fn new(guard: Guard, update: Statement) -> Self {
        Self {
            guard,
            update: update.push(RETURNING_USER),
            then: Vec::new(),
            nothing_changed: WriteError::UserNotFound,
        }
    }

    pub(super) fn then(mut self, statements: impl IntoIterator<Item = Statement>) -> Self {
        self.then.extend(statements);
        self
    }
}
