//! The plan of a change: its statements, and the rows that its transaction locks.

use crate::store::{
    WriteError,
    user_store::{locked_writes::Guard, user_rows::RETURNING_USER},
};
use rolegate_sql_store::Statement;

/// The transaction of a change.
pub(super) struct Plan {
    pub(super) guard: Guard,
    /// The statement that changes the user and returns the row. It returns no row if its conditions do not hold.
    pub(super) update: Statement,
    /// Whether the update itself records the change. No statements follow it then.
    pub(super) update_records_change: bool,
    /// The statements that follow the update.
    pub(super) then: Vec<Statement>,
    /// The error if the update returns no row.
    pub(super) nothing_changed: WriteError,
}

impl Plan {
    pub(super) fn new(guard: Guard, update: Statement) -> Self {
        Self {
            guard,
            update: update.push(RETURNING_USER),
            update_records_change: false,
            then: Vec::new(),
            nothing_changed: WriteError::UserNotFound,
        }
    }

    pub(super) fn then(mut self, statements: impl IntoIterator<Item = Statement>) -> Self {
        self.then.extend(statements);
        self
    }
}
